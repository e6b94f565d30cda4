"""Writes of agents: the requests, the rules, and the writer that executes them."""
