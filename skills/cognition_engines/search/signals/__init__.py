"""Signals beyond meaning and words that rank a record higher, one per module."""
