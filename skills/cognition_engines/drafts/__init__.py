"""A record before it is stored: plain values, checks, reasons of refusals, ids, digests and chunks."""
