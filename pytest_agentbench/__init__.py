"""Agent benchmarks as ordinary pytest."""
