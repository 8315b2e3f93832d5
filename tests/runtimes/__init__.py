"""Tests of adapters with the runtimes themselves: ``make test-runtimes``."""
