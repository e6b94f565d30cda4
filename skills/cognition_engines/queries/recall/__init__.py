"""What was said, written, decided and read, and what is related to it: plain functions over snapshots and records."""
