"""Where runtimes reach their model."""
