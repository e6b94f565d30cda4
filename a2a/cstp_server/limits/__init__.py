"""Limits: each agent's rates, and the server's concurrent work."""
