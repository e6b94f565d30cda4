"""What a shell offers while a call is being typed: the names of methods, and of the parameters not yet given."""

from collections.abc import Iterator

import typer

from cstp.methods.registry import METHODS


def method_names(incomplete: str) -> list[tuple[str, str]]:
    """Methods with their summaries."""
    return [(method.name, method.summary) for method in METHODS if method.name.startswith(incomplete)]


def parameter_names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """`query=` for a text, `limit:=` for any other value; none that stands there already."""
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


def _types(schema: dict[str, object]) -> Iterator[object]:
    yield schema.get("type")
    branches = schema.get("anyOf")
    for branch in branches if isinstance(branches, list) else ():
        yield branch.get("type")
