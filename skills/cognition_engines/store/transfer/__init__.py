"""Copies of a store: backup, restore, another database."""
