"""Queries, each with its parts asked in their pools, within a deadline."""
