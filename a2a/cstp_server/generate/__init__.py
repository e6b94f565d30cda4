"""Writes the files that are generated from the code."""
