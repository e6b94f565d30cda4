"""Names in `import cstp`: every model of every method, and equal methods on both clients."""

from collections.abc import Iterator
from inspect import getsource, signature
from pydoc import plain, render_doc
from typing import Any, get_args

import pytest
from pydantic.alias_generators import to_snake

import cstp
from cstp import AsyncClient, Client, calls
from cstp.errors import ERRORS
from cstp.methods.registry import METHODS
from cstp.values.base import Wire


def models(annotation: Any) -> Iterator[type[Wire]]:
    """Yield the model, and all nested models."""
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models(field.annotation)
    for inner in get_args(annotation):
        yield from models(inner)


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_every_model_of_a_result_or_a_filter_can_be_imported_from_cstp() -> None:
    found = {model for method in METHODS for model in models(method.result)}
    found |= {model for method in METHODS for model in models(method.params) if model is not method.params}
    # filters are made by callers, and refused as calls are
    made = {cstp.Filters, cstp.KnowledgeFilters}
    offered = {getattr(cstp, model.__name__) for model in found}
    assert {base for model in offered for base in (model.__bases__ if model in made else [model])} == found
    assert {error: getattr(cstp, error.__name__) for error in ERRORS} == {error: error for error in ERRORS}


def test_every_listed_name_exists_and_no_other() -> None:
    for name in cstp.__all__:
        assert getattr(cstp, name) is not None
    for name in ("Nothing", "RECALL"):
        with pytest.raises(AttributeError, match=name):
            getattr(cstp, name)


def test_a_star_gives_both_clients_and_every_model() -> None:
    given: dict[str, object] = {}
    exec("from cstp import *", given)
    assert given.keys() >= {*cstp.__all__} >= {"AsyncClient", "Client", "CstpError", "TransportError", "RecallResult"}
    assert set(cstp.__all__) <= set(dir(cstp))


def test_both_clients_have_every_method_and_the_same_names() -> None:
    methods = {to_snake(method.name.rpartition(".")[2]) for method in METHODS} - {"changes"} | {"changes_page"}
    iterators = {
        f"iter_{name}" for name in ("decisions", "recorded_decisions", "patterns", "warnings", "episodes", "memories")
    }
    assert public(Client) == public(AsyncClient) == methods | iterators | {"changes", "call", "send", "batch", "close"}
    assert methods <= public(calls)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_help_shows_the_parameters_the_result_and_the_text_of_a_method(kind: type) -> None:
    shown = " ".join(plain(render_doc(kind)).split())
    for method in METHODS:
        assert method.summary in shown
    assert "get_chunk(self, chunk_id: str, *, include_related: bool = True, " in shown
    assert "timeout: float | None = None) -> cstp.values.knowledge.GetChunkResult" in shown
    iterator = "Iterator" if kind is Client else "AsyncIterator"
    assert f"-> collections.abc.{iterator}[cstp.values.extractions.ExtractedPattern]" in shown


def test_the_parameters_of_a_method_of_a_client_are_those_of_its_call() -> None:
    with Client("http://127.0.0.1:1", "t") as client:
        assert signature(client.recall).parameters == signature(calls.recall).parameters
        assert getsource(client.recall) == getsource(calls.recall)
