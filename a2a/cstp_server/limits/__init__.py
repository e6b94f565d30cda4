"""Limits: how much an agent may ask for, and how much the server holds at a time."""
