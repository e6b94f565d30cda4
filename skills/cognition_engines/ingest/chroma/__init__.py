"""Existing Chroma collections as records."""
