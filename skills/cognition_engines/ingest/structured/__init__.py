"""Records in YAML, JSON and JSONL."""
