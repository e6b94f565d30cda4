"""A server for a single test."""

from tests.serving import serve

__all__ = ["serve"]
