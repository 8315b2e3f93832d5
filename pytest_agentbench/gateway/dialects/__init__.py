"""The wire formats in which runtimes ask for a model, one a module."""
