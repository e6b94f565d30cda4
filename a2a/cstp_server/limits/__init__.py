"""Limits: rates of each agent, and the concurrent work of the server."""
