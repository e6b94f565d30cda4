"""Input of a caller: filters as objects and as dictionaries, and a client without a URL."""

import copy
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from cstp import AsyncClient, Client, Filters, InvalidParams, KnowledgeFilters, QueryFilters, Wire, calls
from cstp.contract import Method
from cstp.methods.decisions import QUERY_DECISIONS
from cstp.methods.knowledge import SEARCH_KNOWLEDGE
from cstp.validation import parse_params


@pytest.mark.parametrize(
    ("make", "method", "members"),
    [
        (Filters, QUERY_DECISIONS, {"min_confidence": 2}),
        (Filters, QUERY_DECISIONS, {"min_confidence": "high", "stakes": []}),
        (Filters, QUERY_DECISIONS, {"min_confidence": 0.9, "max_confidence": 0.1}),
        (Filters, QUERY_DECISIONS, {"date_after": "yesterday", "status": ["a", ""]}),
        (Filters, QUERY_DECISIONS, {"confidence": 0.5}),
        (QueryFilters, QUERY_DECISIONS, {"category": " "}),
        (KnowledgeFilters, SEARCH_KNOWLEDGE, {"type": ["book"], "source": ""}),
    ],
    ids=str,
)
def test_filters_are_validated(make: Callable[..., Wire], method: Method[Any, Any], members: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidParams) as refused:
        make(**members)
    with pytest.raises(InvalidParams) as from_server:
        parse_params(method.params, {"query": "why", "filters": members})
    named = [(one.field.removeprefix("filters."), one.message) for one in from_server.value.violations]
    assert [(one.field, one.message) for one in refused.value.violations] == named
    assert named


def test_filters_are_sent_alike_as_objects_and_as_dictionaries() -> None:
    snake = {"min_confidence": 0.5, "date_after": "2026-01-01"}
    for filters in (Filters(**snake), snake, {"minConfidence": 0.5, "dateAfter": "2026-01-01"}):
        sent = calls.query_decisions("why", filters=filters).params
        assert sent["filters"] == {"minConfidence": 0.5, "dateAfter": "2026-01-01T00:00:00Z"}


def test_a_dictionary_of_wrong_filters_is_refused_with_their_fields() -> None:
    with pytest.raises(InvalidParams) as refused:
        calls.query_decisions("why", filters={"minConfidence": 2, "size": 1}, include=["links", "links"])
    fields = {one.field for one in refused.value.violations}
    assert fields == {"filters.minConfidence", "filters.size", "include"}


def test_filters_can_be_copied_pickled_and_compared() -> None:
    filters = Filters(category="storage", stakes=["high"])
    assert copy.deepcopy(filters) == filters == pickle.loads(pickle.dumps(filters))
    assert filters == Filters(category="storage", stakes=["high"])


@pytest.mark.parametrize("client", [Client, AsyncClient])
def test_a_client_without_a_url_uses_the_environment(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_TOKEN", "cstp_one_two")
    monkeypatch.setenv("CSTP_URL", "http://there:8200")
    assert "http://there:8200/cstp" in repr(client())
    assert "http://here:8300/cstp" in repr(client("http://here:8300"))
    monkeypatch.delenv("CSTP_URL")
    with pytest.raises(ValueError, match="CSTP_URL"):
        client()
