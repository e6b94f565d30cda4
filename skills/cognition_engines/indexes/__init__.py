"""Indexes derived from the records: fast to search, safe to throw away."""
