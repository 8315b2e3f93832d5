"""Agent benchmarks as ordinary pytest."""

__version__ = "0.1.0"
