#!/bin/bash
# A shard for each task of the array:   job=$(sbatch --parsable slurm.sh)
# and when all have ended, one run:     sbatch --dependency=afterany:$job slurm-merge.sh "$job"
#SBATCH --job-name=agentbench
#SBATCH --array=1-4
#SBATCH --cpus-per-task=8
#SBATCH --requeue
set -eu
runs=${RUNS:-runs}/$SLURM_ARRAY_JOB_ID
# A task that was requeued has the same folder, and goes on with it.
exec pytest "${SCENARIOS:-scenarios}" --runtime="${RUNTIME:-openclaw}" --trials="${TRIALS:-3}" \
  --gate=none -n "${WORKERS:-$SLURM_CPUS_PER_TASK}" \
  --shard="$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" \
  --run-dir="$runs/shard-$SLURM_ARRAY_TASK_ID"
