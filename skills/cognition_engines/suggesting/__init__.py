"""Patterns proposed for decisions that have none."""
