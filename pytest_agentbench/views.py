"""Views of a run: which trials its headline counts. One is declared before the run."""

from __future__ import annotations

#: From the strictest on; docs/records.md says what each counts.
VIEWS = ("clean", "clean_after_rerun", "incomplete")
DEFAULT_VIEW = "clean_after_rerun"
