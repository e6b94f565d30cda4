from tests.serving import serve

__all__ = ["serve"]
