"""Recorded conversations, and what checks a server against them."""
