"""Judges of rubrics: what they are shown, how they are asked, and what is taken from their answers."""
