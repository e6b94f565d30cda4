"""A record before storage: plain values, checks, refusal reasons, ids, digests and chunks."""
