"""Recall of turns, artifacts, decisions and chunks, and related ones: plain functions over snapshots and records."""
