"""Readers that turn files into `Draft` records: architecture decision records in Markdown, and YAML, JSON, JSONL."""
