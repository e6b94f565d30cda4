"""Columns in memory: filter masks, exact ranking and lists."""
