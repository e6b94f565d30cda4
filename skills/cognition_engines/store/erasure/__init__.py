"""Erasure: dependent records, the ledger of forgotten records, expiry, and database compaction."""
