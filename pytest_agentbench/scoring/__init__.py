"""Pure functions from verdicts to scores: no I/O, no pytest."""
