"""Queries: each part is asked in its pool, within a deadline."""
