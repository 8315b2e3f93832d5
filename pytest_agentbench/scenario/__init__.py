"""Scenario files: what they hold, how they load, how they are linted and locked."""
