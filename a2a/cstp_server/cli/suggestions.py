"""What a shell offers while a call is being typed, and what to type instead where a parameter was given as text."""

import json
import shlex
from collections.abc import Iterator, Mapping

import typer
from pydantic.alias_generators import to_camel

from cstp.methods.registry import METHODS


def method_names(incomplete: str) -> list[tuple[str, str]]:
    """Return the methods with their summaries."""
    return [(method.name, method.summary) for method in METHODS if method.name.startswith(incomplete)]


def parameter_names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return `query=` for a text and `limit:=` for other values, without parameters already given."""
    method = next((one for one in METHODS if one.name == ctx.params.get("method")), None)
    if method is None:
        return []
    given = {word.partition("=")[0].removesuffix(":") for word in ctx.params.get("params") or ()}
    properties = method.params.model_json_schema().get("properties", {})
    offered = [(name, schema) for name, schema in properties.items() if name not in given]
    return [
        (f"{name}{'=' if 'string' in _types(schema) else ':='}", schema.get("description", ""))
        for name, schema in offered
        if name.startswith(incomplete)
    ]


def as_json_text(method: str, given: Mapping[str, object], wrong: str) -> str | None:
    """Return how to write a parameter that is wrong because it was given as text; otherwise None.

    `wrong` is its place as the server names it, such as `filters.stakes[0]`.
    """
    known = next((one for one in METHODS if one.name == method), None)
    name = next((name for name in given if to_camel(name) == wrong), None)
    text = None if name is None else given[name]
    if known is None or not isinstance(text, str):
        return None
    types = [*_types(known.params.model_json_schema().get("properties", {}).get(wrong, {}))]
    if not any(types) or "string" in types:
        return None
    try:
        meant = not isinstance(json.loads(text), str)
    except ValueError:
        meant = "array" in types
        text = json.dumps([text], ensure_ascii=False)
    return f"{name}=... is text; write {shlex.quote(f'{name}:={text}')}" if meant else None


def _types(schema: dict[str, object]) -> Iterator[object]:
    yield schema.get("type")
    branches = schema.get("anyOf")
    for branch in branches if isinstance(branches, list) else ():
        yield branch.get("type")
