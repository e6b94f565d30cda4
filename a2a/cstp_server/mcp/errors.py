"""Tool errors: bodies in the form of each tool's own specification, without JSON-RPC codes."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pydantic.alias_generators import to_camel, to_snake

from cstp import errors
from cstp_server.mcp.schemas import bounds, in_snake_case

Body: TypeAlias = Mapping[str, errors.JsonValue]
Shape: TypeAlias = Callable[[errors.CstpError, Mapping[str, Any]], Body]

NO_SELECTOR: Final = "Must provide query, id, conversation_id, or context filter"
_LIMITS: Final = re.compile(r"must (?:be|have) at (?:least|most) \S+( characters?| items?)?(?:\(s\))?")
_SENTENCES: Final = ("expected", "found")  # details in words; others are data
_WORD: Final = re.compile(r"[A-Za-z]+")
_LARGEST_TOLD: Final = 10**6


def error_body(error: errors.CstpError, schema: Mapping[str, Any]) -> Body:
    """Return `{"error": {"code", "message", "details"}}` (F000), also for tools without a specified shape."""
    data = error.data if isinstance(error.data, Mapping) else {}
    details: Mapping[str, errors.JsonValue] = {
        to_snake(name): _rename_arguments(value, schema) if name in _SENTENCES else value
        for name, value in data.items()
    }
    message = error.message
    if isinstance(error, errors.InvalidParams):
        found = _in_snake_case(error.violations)
        details = {"violations": [{"field": one.field, "message": one.message} for one in found]}
        message = "; ".join(_sentences(error.violations, schema))
    if isinstance(error, errors.Forbidden) or (isinstance(error, errors.QueryFailed) and error.reason):
        message = f"{message}: {_explain(error)}"
    return {"error": {"code": error.tool_code, "message": message, "details": details}}


def of_episodes(error: errors.CstpError, schema: Mapping[str, Any]) -> Body:
    """Return `{"error", "details", "tool"}` (F003)."""
    match error:
        case errors.InvalidParams():
            summary, details = "Parameter validation failed", "; ".join(_sentences(error.violations, schema))
        case errors.QueryFailed(component="records"):
            summary, details = "Database operation failed", _explain(error)
        case errors.QueryFailed() | errors.InternalError():
            summary, details = "Tool execution failed", _explain(error)
        case _:
            summary, details = error.message, _explain(error)
    return {"error": summary, "details": details, "tool": "list_episodes"}


def of_recall(error: errors.CstpError, schema: Mapping[str, Any]) -> Body:
    """Return `{"error"}`, a sentence (F004); for an unknown id, with the members of an empty answer."""
    match error:
        case errors.InvalidParams():
            summary = "; ".join(_capital(sentence, schema) for sentence in _sentences(error.violations, schema))
            return {"error": NO_SELECTOR if "one of id, conversation_id" in summary else summary}
        case errors.NotFound():
            return {"results": [], "related": [], "entities": [], "total_count": 0, "error": f"Not found: {error.id}"}
        case _:
            return {"error": f"{error.message}: {_explain(error)}"}


def _explain(error: errors.CstpError) -> str:
    """Return a sentence on the caller's remedy for an error."""
    match error:
        case errors.RateLimited():
            return f"{error.limit} in {error.window} s are used up; retry after {error.retry_after} s"
        case errors.Overloaded():
            return f"retry after {error.retry_after} s"
        case errors.Forbidden():
            return f"the token lacks the scope {error.scope}; ask its operator for a token with --scope {error.scope}"
        case errors.AuthenticationRequired():
            return "the token is unknown, expired or revoked"
        case errors.QueryFailed(component="answer"):
            return f"the answer would be too large; ask for less (request {error.request_id})"
        case errors.QueryFailed() if error.reason:
            return f"{error.reason} (request {error.request_id})"
        case errors.QueryFailed():
            return f"{error.component} does not answer (request {error.request_id})"
        case errors.InternalError():
            return f"a bug of the server (request {error.request_id})"
        case _:
            return error.meaning


def _in_snake_case(violations: Sequence[errors.Violation]) -> list[errors.Violation]:
    return [errors.Violation(in_snake_case(one.field), _reword(one.message)) for one in violations]


def _reword(message: str) -> str:
    """Return the faults in MCP's words: a tool has arguments, a method has parameters."""
    message = message.replace("a parameter of this method", "an argument of this tool")
    return in_snake_case(message.replace("parameters of this method", "arguments of this tool"))


def _rename_arguments(text: errors.JsonValue, schema: Mapping[str, Any]) -> errors.JsonValue:
    """Return a detail with the tool's argument names."""
    if not isinstance(text, str):
        return text
    spelled = {to_camel(name): name for name in schema.get("properties", {})}
    return _WORD.sub(lambda word: spelled.get(word[0], word[0]), text)


def _sentences(violations: Sequence[errors.Violation], schema: Mapping[str, Any]) -> list[str]:
    """Return sentences such as `limit must be between 1 and 100`: a fault in several fields, once."""
    members, fields = _collect_names(schema), dict[tuple[str, str], list[str]]()
    for one in _in_snake_case(violations):
        message = _both_bounds(one, schema)
        # it names the two members itself, or concerns a single member, or items of a single list
        about = "" if message.partition(" ")[0] in members else one.field.partition("[")[0]
        fields.setdefault((about, message), []).append(one.field)
    return [f"{', '.join(named)} {message}" if about else message for (about, message), named in fields.items()]


def _collect_names(schema: Mapping[str, Any]) -> set[str]:
    """Return the names of all members, nested members included."""
    properties = schema.get("properties", {})
    return set(properties).union(*map(_collect_names, properties.values()))


def _both_bounds(violation: errors.Violation, schema: Mapping[str, Any]) -> str:
    limited = _LIMITS.fullmatch(violation.message)
    allowed = bounds(schema, violation.field) if limited else {}
    for low, high, unit in (("minimum", "maximum", ""), ("minLength", "maxLength", " characters")):
        least, most = allowed.get(low), allowed.get(high)
        if isinstance(least, int | float) and isinstance(most, int | float) and most < _LARGEST_TOLD:
            return f"must be between {least:g} and {most:g}{unit}"
    return violation.message


def _capital(sentence: str, schema: Mapping[str, Any]) -> str:
    """Return the sentence with a capital if it begins with a one-word parameter, such as `Query`."""
    name = sentence.partition(" ")[0]
    word = name.isalpha() and name in schema.get("properties", {})
    return sentence[:1].upper() + sentence[1:] if word else sentence
