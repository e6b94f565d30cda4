"""Exports of other systems: their detection, and the conversion of their values to plain ones."""
