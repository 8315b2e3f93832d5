"""What is declared of a run before it: which trials its headline counts, who knew the tasks."""

from __future__ import annotations

#: From the strictest on; docs/records.md says what each counts.
VIEWS = ("clean", "clean_after_rerun", "incomplete")
DEFAULT_VIEW = "clean_after_rerun"

#: How far those who made the runtime, the prompts or the profile knew the scenarios, as whoever
#: compares rows needs it declared (ClawProBench, Table 15).
EXPOSURES = ("zero-shot", "prompt-tuned-on-dev", "benchmark-exposed", "diagnostic-only")
