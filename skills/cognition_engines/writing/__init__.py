"""Agents' writes: the requests, the rules, and the writer that executes them."""
