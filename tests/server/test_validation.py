"""Params: whatever JSON comes, the answer is a result or the violations, and those repeat nothing that was sent."""

from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cstp.errors import InvalidParams, Violation
from cstp.methods.decisions import QueryDecisionsParams
from cstp.methods.registry import METHODS
from cstp.validation import MAX_UNKNOWN, parse_params

CANARY = "canary-5b1f"  # no plain word, so that it may not come back even as a member's name
TEXTS = st.text(max_size=20).map(lambda text: CANARY + text) | st.sampled_from(["", " ", "x", "high", "{min_length}"])
NUMBERS = (
    st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0, 1, 10.0, 50, 51])
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXTS | st.sampled_from(["a", "filters"]), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = st.sampled_from(
    (
        *("query", "limit", "includeReasons", "include_reasons", "mode", "filters", "category", "stakes", "status"),
        *(
            "minConfidence",
            "min_confidence",
            "maxConfidence",
            "dateAfter",
            "date_after",
            "dateBefore",
            "self",
            "params",
        ),
    )
)
FILTERS = st.dictionaries(NAMES | TEXTS, VALUES, max_size=6)
PARAMS = st.dictionaries(NAMES | TEXTS, VALUES | FILTERS, max_size=8) | VALUES


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
@given(params=PARAMS)
def test_any_params_give_a_model_or_violations_that_repeat_nothing(method: Any, params: Any) -> None:
    found = violations(method.params, params)
    assert len(set(found)) == len(found)
    assert CANARY not in repr(found)
    assert all(violation.field and violation.message for violation in found)


def violations(model: Any, params: object) -> tuple[Violation, ...]:
    """All of them; none where the params are right."""
    try:
        assert isinstance(parse_params(model, params), model)
    except InvalidParams as error:
        return error.violations or pytest.fail("refused without a reason")
    return ()


@given(params=st.dictionaries(NAMES | TEXTS, VALUES | FILTERS, max_size=5) | st.lists(VALUES, max_size=3))
def test_on_the_wire_any_params_are_a_result_or_a_32602(query_server: Any, params: Any) -> None:
    server, token = query_server
    reply = server.call("cstp.queryDecisions", token, params)
    assert reply.status == 200
    assert reply.code in (0, -32602)
    if reply.code:
        assert CANARY.encode() not in reply.body


@pytest.fixture(scope="module")
def query_server(common_server: Any) -> tuple[Any, str]:
    server = common_server({"limits.default": "1000000/minute"})
    return server, server.token()


def test_every_unknown_member_is_named_up_to_a_hundred_and_then_their_parent() -> None:
    named = {f"a{n}": 0 for n in range(MAX_UNKNOWN)}
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, named)
    assert [violation.field for violation in caught.value.violations] == ["query", *named]
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {f"a{n}": 0 for n in range(100_000)} | {"query": "x"})
    assert [violation.field for violation in caught.value.violations] == ["params"]
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": {f"a{n}": 0 for n in range(100_000)}})
    assert [violation.field for violation in caught.value.violations] == ["filters"]


def test_a_list_that_is_too_long_is_one_violation() -> None:
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": {"stakes": [1] * 300_000}})
    assert [violation.field for violation in caught.value.violations] == ["filters.stakes"]


def test_the_schema_says_what_an_integer_may_be_and_that_a_mode_is_never_null() -> None:
    members = QueryDecisionsParams.model_json_schema(by_alias=True)["properties"]
    assert {name: members["limit"].get(name) for name in ("type", "minimum", "maximum")} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
    }
    assert (members["mode"]["type"], members["mode"]["enum"]) == ("string", ["hybrid", "semantic", "keyword"])
    assert "null" not in repr(members["mode"])


def test_both_spellings_mean_the_same() -> None:
    camel = {"query": "x", "includeReasons": True, "filters": {"minConfidence": 0, "dateAfter": "2026-01-31"}}
    snake = {"query": "x", "include_reasons": True, "filters": {"min_confidence": 0, "date_after": "2026-01-31"}}
    assert parse_params(QueryDecisionsParams, camel) == parse_params(QueryDecisionsParams, snake)


@pytest.mark.parametrize(("value", "limit"), [(10, 10), (10.0, 10), (1, 1), (50, 50)])
def test_ten_and_ten_point_nought_are_integers(value: object, limit: int) -> None:
    parsed = parse_params(QueryDecisionsParams, {"query": "x", "limit": value})
    assert type(parsed.limit) is int
    assert parsed.limit == limit


@pytest.mark.parametrize("value", [10.5, True, False, "10", None, [10], {}, 0, 51, -0.0, 1e308, 2**64])
def test_what_is_no_integer_in_bounds_is_refused(value: object) -> None:
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "limit": value})
    assert [violation.field for violation in caught.value.violations] == ["limit"]


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("2026-01-31", "2026-01-31T00:00:00", "2026-01-31T23:59:59.999999"),
        ("2026-01-31T09:30", "2026-01-31T09:30:00", "2026-01-31T09:30:00"),
        ("2026-01-31T09:30:00", "2026-01-31T09:30:00", "2026-01-31T09:30:00"),
        ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00", "2026-01-31T09:30:00"),
        ("2026-01-31t09:30:00z", "2026-01-31T09:30:00", "2026-01-31T09:30:00"),
        ("2026-01-31T09:30:00.25+02:00", "2026-01-31T07:30:00.250000", "2026-01-31T07:30:00.250000"),
        ("2026-01-31T00:30:00+0530", "2026-01-30T19:00:00", "2026-01-30T19:00:00"),
    ],
)
def test_timestamps_are_read_as_utc_and_a_bare_date_as_a_whole_day(text: str, after: str, before: str) -> None:
    filters = {"query": "x", "filters": {"dateAfter": text, "dateBefore": text}}
    parsed = parse_params(QueryDecisionsParams, filters).filters
    assert parsed is not None
    for value, expected in ((parsed.date_after, after), (parsed.date_before, before)):
        assert value is not None
        assert value.astimezone(UTC).replace(tzinfo=None).isoformat() == expected


@pytest.mark.parametrize(
    "value",
    ["", "now", "2026", "2026-1-1", "2026-02-30", "2026-01-31 09:30", "2026-01-31T25:00", "2026-W05", "20260131",
     "2026-01-31T09:30:00+25:00", "0001-01-01T00:00:00+23:00", "2026-01-31T09",
     "٢٠٢٦-٠١-٣١", 1767225600, 1.5, True, [], {}],
)  # fmt: skip
def test_what_is_no_timestamp_is_refused(value: object) -> None:
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": {"dateAfter": value}})
    assert [violation.field for violation in caught.value.violations] == ["filters.dateAfter"]


def test_bounds_in_the_wrong_order_name_both_fields() -> None:
    filters = {"minConfidence": 0.9, "maxConfidence": 0.1, "dateAfter": "2026-02-01", "dateBefore": "2026-01-31"}
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": filters})
    fields = {violation.field for violation in caught.value.violations}
    assert fields == {f"filters.{name}" for name in filters}
