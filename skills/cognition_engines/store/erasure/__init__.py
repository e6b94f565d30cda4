"""Erasure: dependent records, the ledger of forgotten records, expiry, and compaction of the database."""
