"""The Cognition State Transfer Protocol: its values, its errors, its methods and the client.

Needs pydantic and httpx, nothing else.
"""

from cstp.contract import Method, Wire
from cstp.errors import CstpError

__version__ = "0.1.0"
__all__ = ["CstpError", "Method", "Wire", "__version__"]
