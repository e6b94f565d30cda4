"""`docs/methods/*.md`: a page for each family of methods, and one for the types of several families."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from textwrap import fill
from typing import Any, Final

from pydantic.alias_generators import to_camel

from cstp.contract import Method
from cstp.errors import ERRORS, CstpError, Forbidden
from cstp.methods.registry import FAMILIES, METHODS
from cstp_server.describe.openrpc import conversation_of, example_call
from cstp_server.generate.client_code import client_name
from cstp_server.mcp.profiles import tool_name

FOLDER: Final = "docs/methods"
TYPES: Final = f"{FOLDER}/types.md"
_FOR_ALL: Final = (
    'A call is `{"jsonrpc": "2.0", "id": 1, "method": ..., "params": ...}`, posted to `/cstp`; the answer has a '
    "`result` or an `error`.\n\n"
    "Parameters are given by name, in camelCase or snake_case; unknown ones are refused. Whole numbers may be written "
    "as 10 or 10.0. Times are ISO 8601; one without a zone is in UTC, and a bare date as an upper bound means the end "
    "of that day. A parameter that is a text costs a unit more for each 1,024 characters, begun ones, too, "
    "beyond its first; up to three more where characters other than ASCII letters, digits and spaces, which count as "
    "four, make more of it. All codes are in [errors](../errors.md)."
)
WIDTH: Final = 116  # of JSON
_SHORT: Final = 80  # characters of parameters within a sentence
_POWERS: Final = {2**bits - 1: f"2^{bits}-1" for bits in (31, 32, 53, 63, 64)}
Schema = Mapping[str, Any]


def method_pages() -> Mapping[str, Callable[[], str]]:
    """Return the pages by path, each as a function that writes it."""
    families = {f"{FOLDER}/{name}.md": partial(_family_page, name) for name in FAMILIES}
    return {f"{FOLDER}/README.md": _index, **families, TYPES: _types_page}


def anchor(error: CstpError | type[CstpError]) -> str:
    """Return the anchor of an error's section in `docs/errors.md`."""
    return f"{error.code}-{error.message}".lower().replace(" ", "-")


def _error_link(error: type[CstpError]) -> str:
    return f"[{error.code}](../errors.md#{anchor(error)})"


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
        "A call costs `cost` of the agent's limit, and its token needs the `scope`.",
        "",
        "| method | | client | tool | scope | cost | errors |",
        "|---|---|---|---|---|---|---|",
    ]
    page_of = {method.name: f"{family}.md" for family, methods in FAMILIES.items() for method in methods}
    for method in METHODS:
        link = f"[{method.name}]({page_of[method.name]}#{_heading_anchor(method.name)})"
        names = f"`{client_name(method)}` | {f'`{tool_name(method)}`' if method.tool else ''}"
        errors = ", ".join(map(_error_link, method.errors))
        scope = method.scope or "any token"
        lines.append(f"| {link} | {method.summary} | {names} | {scope} | {method.cost} | {errors} |")
    common = ", ".join(_error_link(error) for error in ERRORS if error.any_method)
    lines += [
        "",
        *_prose(f"Every method can also fail with {common}, those with a scope with {_error_link(Forbidden)}."),
    ]
    return "\n".join(lines) + "\n"


def _family_page(family: str) -> str:
    methods = FAMILIES[family]
    lines = [f"# Methods: {family}", "", "Generated from `cstp.methods` by `make docs`. [All methods](README.md)", ""]
    for method in methods:
        lines += _method_section(method)
    own = {name: text for name, text in _types(family).items() if name not in _common_types()}
    return _link_common("\n".join([*lines, *_type_sections("## Types", own)])) + "\n"


def _link_common(text: str) -> str:
    """Return the text with links to the page of common types."""
    common = {_heading_anchor(name) for name in _common_types()}
    page = TYPES.removeprefix(f"{FOLDER}/")
    return re.sub(r"\]\(#(\w+)\)", lambda link: f"]({page}#{link[1]})" if link[1] in common else link[0], text)


def _types_page() -> str:
    every = {name: text for family in FAMILIES for name, text in _types(family).items()}
    common = {name: every[name] for name in every if name in _common_types()}
    return "\n".join(_type_sections("# Types of several methods", common)) + "\n"


def _type_sections(title: str, types: Mapping[str, Sequence[str]]) -> Iterator[str]:
    if types:
        yield title
        for name in sorted(types):
            yield from ("", f"### {name}", "", *types[name])


@cache
def _types(family: str) -> Mapping[str, Sequence[str]]:
    """Return the lines of each type in the parameters and results of a family, by the name of the type."""
    found: dict[str, Sequence[str]] = {}
    for method in FAMILIES[family]:
        schemas = ((_params_schema(method), "parameter", _parameter), (_result_schema(method), "member", _member))
        for schema, column, row in schemas:
            for name, definition in schema.get("$defs", {}).items():
                if "properties" in definition:
                    found[name] = list(_object(definition, column, row))
    return found


@cache
def _common_types() -> frozenset[str]:
    """Return the names of the types in several families."""
    counts = Counter(name for family in FAMILIES for name in _types(family))
    return frozenset(name for name, count in counts.items() if count > 1)


def _params_schema(method: Method[Any, Any]) -> Schema:
    schema: Schema = method.params.model_json_schema()
    return schema


def _result_schema(method: Method[Any, Any]) -> Schema:
    schema: Schema = method.result.model_json_schema(mode="serialization")
    return schema


def _heading_anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub and MkDocs make it."""
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def _method_section(method: Method[Any, Any]) -> Iterator[str]:
    yield from (f"## {method.name}", "")
    yield from _prose(method.summary)
    yield from ("", *_object(_params_schema(method), "parameter", _parameter, "**Parameters.** "))
    yield from ("", *_object(_result_schema(method), "member", _member, "**Result.** "), "")
    yield from _example(method)


def _example(method: Method[Any, Any]) -> Iterator[str]:
    """Yield the parameters and the result of a call; short parameters are part of the sentence."""
    request, result = example_call(method)
    params, file = fit_json(request.get("params", {})), f"{conversation_of(method.name)}.txt"
    short = len(params) <= _SHORT
    shown = f"`{params}`" if short else "these parameters"
    yield f"**Example.** The result for {shown}, from `tests/wire/{file}`; values that vary are filled in."
    for text in (fit_json(result),) if short else (params, fit_json(result)):
        yield from ("", "```json", *text.splitlines(), "```")
    yield ""


def fit_json(value: Any, indent: int = 0) -> str:
    """Return JSON in lines of up to WIDTH characters, each with as many members as fit."""
    line = json.dumps(value, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not value or not isinstance(value, dict | list):
        return line
    names = [f"{json.dumps(name)}: " for name in value] if isinstance(value, dict) else [""] * len(value)
    items = list(value.values()) if isinstance(value, dict) else value
    lines: list[str] = []
    for number, (name, item) in enumerate(zip(names, items, strict=True), 1):
        text = name + fit_json(item, indent + 2) + ("," if number < len(items) else "")
        if lines and "\n" not in lines[-1] + text and len(lines[-1]) + 1 + len(text) + indent + 2 <= WIDTH:
            lines[-1] += f" {text}"
        else:
            lines.append(text)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    blank = "\n" + " " * (indent + 2)
    return f"{opening}{blank}{blank.join(lines)}{closing}"


def _object(schema: Schema, column: str, row: Callable[[str, Schema, bool], str], label: str = "") -> Iterator[str]:
    """Yield the description of a model, and a table of the members."""
    yield from _prose(label + schema["description"])
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
