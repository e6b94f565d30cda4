"""Generators of files from the code."""
