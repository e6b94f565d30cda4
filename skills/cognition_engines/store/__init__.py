"""The store of truth: decisions, their vectors and the order of changes."""
