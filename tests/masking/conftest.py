"""A server of a test's own."""

from tests.serving import serve

__all__ = ["serve"]
