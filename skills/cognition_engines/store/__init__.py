"""The store of truth: decisions, their vectors and the order in which they changed."""
