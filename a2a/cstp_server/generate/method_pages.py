"""`docs/methods/*.md`: a page for each method, from the contract."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from textwrap import fill
from typing import Any, Final

from pydantic.alias_generators import to_camel

from cstp.contract import Method
from cstp.errors import CstpError
from cstp.methods.registry import METHODS
from cstp_server.describe.openrpc import conversation_of, example_call
from cstp_server.generate.client_code import client_name
from cstp_server.mcp.profiles import tool_name

FOLDER: Final = "docs/methods"
_FOR_ALL: Final = (
    "Parameters are given by name, in camelCase or snake_case; unknown ones are refused. Whole numbers may be written "
    "as 10 or 10.0. Times are ISO 8601; one without a zone is in UTC, and a bare date as an upper bound means the end "
    "of that day. A parameter that is a text costs a unit more for each 1,024 characters, begun ones, too, "
    "beyond its first; up to three more where characters other than ASCII letters, digits and spaces, which count as "
    "four, make more of it. All codes are in [errors](../errors.md)."
)
_WIDTH: Final = 110
_POWERS: Final = {2**bits - 1: f"2^{bits}-1" for bits in (31, 32, 53, 63, 64)}
Schema = Mapping[str, Any]


def method_pages() -> Mapping[str, Callable[[], str]]:
    """Return the pages by path, each as a function that writes the page."""
    pages: dict[str, Callable[[], str]] = {f"{FOLDER}/README.md": _index}
    for method in METHODS:
        pages[page_of(method)] = lambda method=method: _page(method)  # type: ignore[misc]
    return pages


def page_of(method: Method[Any, Any]) -> str:
    """Return the path of a method's page in the checkout."""
    return f"{FOLDER}/{method.name.removeprefix('cstp.')}.md"


def anchor(error: CstpError | type[CstpError]) -> str:
    """Return the anchor of an error's section in `docs/errors.md`."""
    return f"{error.code}-{error.message}".lower().replace(" ", "-")


def wire_spelling(text: str) -> str:
    """Return the text with names of fields between backticks in their wire spelling."""
    return re.sub(r"`([a-z]+(_[a-z]+)+)`", lambda name: f"`{to_camel(name[1])}`", text.strip())


def _index() -> str:
    lines = [
        "# Methods",
        "",
        "Generated from `cstp.methods` by `make docs`.",
        "",
        *_prose(_FOR_ALL),
        "",
        "`client` is the name in the [Python client](../client.md), `tool` the name over [MCP](../mcp.md).",
        "",
        "| method | | client | tool | scope | cost |",
        "|---|---|---|---|---|---|",
    ]
    for method in METHODS:
        link = f"[{method.name}]({page_of(method).removeprefix(FOLDER + '/')})"
        names = f"`{client_name(method)}` | {f'`{tool_name(method)}`' if method.tool else ''}"
        lines.append(f"| {link} | {method.summary} | {names} | {method.scope or 'any token'} | {method.cost} |")
    return "\n".join(lines) + "\n"


def _page(method: Method[Any, Any]) -> str:
    scope = "any live token may call it" if method.scope is None else f"a token needs the scope `{method.scope}`"
    lines = [
        f"# {method.name}",
        "",
        "Generated from `cstp.methods` by `make docs`. [All methods](README.md)",
        "",
        *_prose(f"{method.summary} A call costs {method.cost} of the agent's limit; {scope}."),
        "",
        "## Parameters",
        "",
        *_model(method.params.model_json_schema(), "parameter", _parameter),
        "",
        "## Result",
        "",
        *_model(method.result.model_json_schema(mode="serialization"), "member", _member),
        "",
        *_example(method),
        "## Errors",
        "",
    ]
    own = [f"[{error.code} {error.message}](../errors.md#{anchor(error)})" for error in method.errors]
    others = [f"[{error.code}](../errors.md#{anchor(error)})" for error in method.common_errors]
    lines += [f"* {link}" for link in own]
    lines += [f"* as every method: {', '.join(others)}"]
    return "\n".join(lines) + "\n"


def _example(method: Method[Any, Any]) -> Iterator[str]:
    request, result = example_call(method)
    yield from ("## Example", "")
    file = f"{conversation_of(method.name)}.txt"
    yield from _prose(f"From the conversation `tests/wire/{file}`; what varies in the answer is filled in.")
    for about, value in (("The call", request), ("The answer", {"result": result})):
        yield from ("", f"{about}:", "", "```json", *_laid_out(value).splitlines(), "```")
    yield ""


def _laid_out(value: Any, indent: str = "") -> str:
    """Return JSON with each object and list on a single line if it fits."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not value or not isinstance(value, dict | list):
        return line
    inner = indent + "  "
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {_laid_out(member, inner)}" for name, member in value.items()]
    else:
        parts = [_laid_out(item, inner) for item in value]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{last}"


def _model(schema: Schema, column: str, row: Callable[[str, Schema, bool], str]) -> Iterator[str]:
    """Yield a table of the model's members, and a section for each model inside it."""
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    yield from _object(schema, column, row)
    for name, definition in definitions.items():
        if "properties" in definition:
            yield from ("", f"### {name}", "", *_object(definition, column, row))


def _object(schema: Schema, column: str, row: Callable[[str, Schema, bool], str]) -> Iterator[str]:
    yield from _prose(schema["description"])
    members: Mapping[str, Schema] = schema["properties"]
    if members:
        middle = "default | " if column == "parameter" else ""
        yield from ("", f"| {column} | type | {middle}|", f"|---|---|{'---|' if middle else ''}---|")
        required = schema.get("required", ())
        for name, member in members.items():
            yield row(name, member, name in required)


def _parameter(name: str, schema: Schema, required: bool) -> str:
    default = schema.get("default")
    given = "required" if required else "" if default is None else f"`{json.dumps(default)}`"
    return f"| `{name}` | {_type(schema, nullable=required)} | {given} | {_note(schema)} |"


def _member(name: str, schema: Schema, required: bool) -> str:
    may_lack = not required and schema.get("default", ...) is None
    note = " ".join(filter(None, (_note(schema), "Not always present." if may_lack else "")))
    return f"| `{name}` | {_type(schema, nullable=not may_lack)} | {note} |"


def _note(schema: Schema) -> str:
    return wire_spelling(schema.get("description", "")).replace("\n", " ").replace("|", "\\|")


def _type(schema: Schema, *, nullable: bool = True) -> str:
    """Describe a schema's values. Without `nullable`, omit null: it means an absent parameter."""
    match schema:
        case {"$ref": "#/$defs/JsonValue" | "#/components/schemas/JsonValue"}:
            return "any JSON value"
        case {"$ref": str(reference)}:
            name = reference.rpartition("/")[2]
            return f"[{name}](#{name.lower()})"
        case {"anyOf": list(branches)} | {"oneOf": list(branches)}:
            shown = [_type(one) for one in branches if nullable or one != {"type": "null"}]
            return " or ".join(dict.fromkeys(shown))
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": list(values)}:
            return ", ".join(f"`{json.dumps(value)}`" for value in values)
        case {"type": "array", "items": items}:
            bounds = _between(schema.get("minItems"), schema.get("maxItems"), "")
            return f"list of {bounds + ': ' if bounds else ''}{_type(items)}"
        case {"type": "string", "format": "date-time"}:
            return "time"
        case {"type": "string", "format": "date"}:
            return "date"
        case {"type": "string"}:
            return _add_bounds("text", _between(schema.get("minLength"), schema.get("maxLength"), " characters"))
        case {"type": "integer" | "number" as kind}:
            low, high = schema.get("minimum"), schema.get("maximum")
            return _add_bounds("whole number" if kind == "integer" else "number", _between(low, high, ""))
        case {"type": "boolean"}:
            return "`true` or `false`"
        case {"type": "null"}:
            return "`null`"
        case {"type": "object"}:
            return "object"
        case _:
            return "any JSON value"


def _add_bounds(kind: str, bounds: str) -> str:
    return f"{kind}, {bounds}" if bounds else kind


def _between(low: float | None, high: float | None, unit: str) -> str:
    low_text, high_text = (None if one is None else _number(one) for one in (low, high))
    if low_text is None:
        return "" if high_text is None else f"at most {high_text}{unit}"
    return f"at least {low_text}{unit}" if high_text is None else f"{low_text} to {high_text}{unit}"


def _number(value: float) -> str:
    """Return a bound as people write it: 1,000,000, and 2^63-1."""
    if value in _POWERS:
        return _POWERS[value]
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _prose(text: str) -> Iterator[str]:
    """Yield the lines of a text in paragraphs, wrapped at 120 characters."""
    for number, paragraph in enumerate(wire_spelling(text).split("\n\n")):
        if number:
            yield ""
        yield from fill(paragraph, 120, break_long_words=False, break_on_hyphens=False).splitlines()
