"""Every method of the protocol, in one tuple."""

from typing import Any

from cstp.contract import Method
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.system import WHOAMI

METHODS: tuple[Method[Any, Any], ...] = (QUERY_DECISIONS, WHOAMI)
