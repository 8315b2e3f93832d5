"""Adapters of agent runtimes: one a file."""
