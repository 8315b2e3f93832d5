"""Results of the published harnesses, read into runs of ours."""
