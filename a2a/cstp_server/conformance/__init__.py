"""Recorded conversations, and checks of servers against them."""
