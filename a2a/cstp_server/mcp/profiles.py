"""Tools offered to an MCP client: a profile, or a list of names. Light: the server checks settings with it."""

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic.alias_generators import to_snake

from cognition_engines.errors import ConfigurationError
from cstp.contract import Method
from cstp.methods.registry import METHODS
from cstp_server.settings import Settings

_ASK: Final = ("search", "fetch", "query_decisions", "get_decision_context", "get_session_context")
_RECORD: Final = (*_ASK, "record_decision", "review_decision", "remember")


def tool_name(method: Method[Any, Any]) -> str:
    """Return the tool name of a method with a tool text."""
    return (method.tool and method.tool.name) or to_snake(method.name.partition(".")[2])


NAMES: Final = tuple(tool_name(method) for method in METHODS if method.tool is not None)
PROFILES: Final[Mapping[str, Collection[str]]] = {"ask": _ASK, "record": _RECORD, "all": NAMES}
FORM: Final = f"must be {', '.join([*PROFILES][:-1])} or {[*PROFILES][-1]}, or names of tools"


class UnknownTools(ValueError):
    """A choice neither a profile nor a list of tool names; the message names it, and the remedy."""


def chosen_tools(choice: str | Sequence[str]) -> frozenset[str]:
    """Return the chosen tool names. A text is a profile, or names separated by commas. Raise UnknownTools."""
    given = [name.strip() for name in choice.split(",")] if isinstance(choice, str) else list(choice)
    if len(given) == 1 and (profile := PROFILES.get(given[0])) is not None:
        return frozenset(profile)
    wrong = [name for name in given if name not in NAMES]
    if wrong or not given:
        raise UnknownTools(f"{FORM}{_hint(wrong)}")
    return frozenset(given)


def check_tools(settings: Settings) -> frozenset[str]:
    """Return the tool names chosen by `mcp.tools`. Raise ConfigurationError for a wrong choice."""
    try:
        return chosen_tools(settings.mcp.tools)
    except UnknownTools as error:
        raise ConfigurationError(f"mcp.tools: {error}") from None


def _hint(wrong: Sequence[str]) -> str:
    near = get_close_matches(wrong[0][:64], (*PROFILES, *NAMES), 1) if wrong else []
    return f"; did you mean {near[0]}?" if near else ""
