"""The audit: who read or wrote which records, as rows in a hash chain."""
