"""Recorded conversations, and the check of a server against them."""
