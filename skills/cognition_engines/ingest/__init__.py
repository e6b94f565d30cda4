"""Readers of files and collections, and what brings the store in line with them."""
