"""Fixtures of the tests of writing."""

from tests.serving import serve

__all__ = ["serve"]
