#!/bin/bash
# Usage: slurm-merge.sh JOB, the number of the array's job.
#SBATCH --job-name=agentbench-merge
set -eu
runs=${RUNS:-runs}/$1
agentbench merge "$runs/whole" "$runs"/shard-*
agentbench report "$runs/whole"
