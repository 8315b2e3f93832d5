"""From a dead workspace and a trace to a grade."""
