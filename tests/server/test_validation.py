"""Params: for any JSON the answer is a result or the violations, which repeat nothing from the request."""

from collections.abc import Iterator, Mapping
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic.alias_generators import to_snake

from cstp.calls import query_decisions, update_decision
from cstp.errors import InvalidParams, Violation
from cstp.methods.registry import METHODS
from cstp.validation import MAX_UNKNOWN, parse_params
from cstp.values.decision_searches import QueryDecisionsParams
from cstp.values.memories import GivenActor, GivenEvent, RememberParams
from cstp_server.describe.openrpc import make_document

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
NAMES = st.sampled_from((
    "query", "limit", "includeReasons", "include_reasons", "mode", "filters", "category", "stakes", "status", "self",
    "minConfidence", "min_confidence", "maxConfidence", "dateAfter", "date_after", "dateBefore", "params",
))  # fmt: skip
FILTERS = st.dictionaries(NAMES | TEXTS, VALUES, max_size=6)
PARAMS = st.dictionaries(NAMES | TEXTS, VALUES | FILTERS, max_size=8) | VALUES


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
@given(params=PARAMS)
def test_any_params_give_a_model_or_violations_without_repeated_input(method: Any, params: Any) -> None:
    found = violations(method.params, params)
    assert len(set(found)) == len(found)
    assert CANARY not in repr(found)
    assert all(violation.field and violation.message for violation in found)


def violations(model: Any, params: object) -> tuple[Violation, ...]:
    """Return all violations; none for valid params."""
    try:
        assert isinstance(parse_params(model, params), model)
    except InvalidParams as error:
        return error.violations or pytest.fail("refused without a reason")
    return ()


def test_every_unknown_member_is_named_up_to_fifty_and_then_their_parent() -> None:
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


def test_a_too_long_list_is_one_violation() -> None:
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": {"stakes": [1] * 300_000}})
    assert [violation.field for violation in caught.value.violations] == ["filters.stakes"]


@pytest.mark.parametrize("method", METHODS, ids=[method.name for method in METHODS])
def test_every_list_of_a_parameter_has_a_longest_length(method: Any) -> None:
    """Check the longest length: pydantic enforces it while reading items, so a longer list is a single violation."""
    whole = method.params.model_json_schema()

    def unbounded(schema: Any, path: str) -> Iterator[str]:
        if "$ref" in schema and schema["$ref"] != "#/$defs/JsonValue":
            yield from unbounded(whole["$defs"][schema["$ref"].rpartition("/")[2]], path)
        if schema.get("type") == "array" and "items" in schema and "maxItems" not in schema:
            yield path
        inner = dict(schema.get("properties", {})) | ({"[]": schema["items"]} if "items" in schema else {})
        for name, one in [*inner.items(), *enumerate(schema.get("anyOf", ()))]:
            yield from unbounded(one, f"{path}.{name}")

    assert list(unbounded(whole, method.name)) == []


MANY: Mapping[str, tuple[str, Mapping[str, object], list[str]]] = {
    "a list": ("cstp.search", {"query": "x", "kinds": [1] * 19_900}, ["kinds must have at most 7 items"]),
    "an object": (
        "cstp.reviewDecision",
        {"id": "x", "outcome": "success", "affectedKpis": {f"a{n}": "b" for n in range(9000)}},
        ["affectedKpis must have at most 100 items"],
    ),
    "lists in a list": (
        "cstp.remember",
        {"content": "x", "events": [{"category": "a", "narrative": "b", "actors": [{}] * 100}] * 99},
        ["events[0].actors[99].ref is required; and 9,800 more"],
    ),
    "records": (
        "cstp.storeKnowledge",
        {"records": [{"kind": "chunk", "content": "x", "tags": [1] * 99}] * 100},
        ["records[2] and later ones are not checked yet"],
    ),
    "a record": (
        "cstp.storeKnowledge",
        {"records": [{"kind": "chunk", "content": "x", **{f"a{n}": 0 for n in range(9000)}}]},
        ["records[0].a99 is not a field of a chunk; and 1 more"],
    ),
}


@pytest.mark.parametrize("case", MANY)
def test_of_thousands_of_mistakes_a_hundred_are_reported_with_the_number_of_others(
    common_server: Any, case: str
) -> None:
    method, params, last = MANY[case]
    live = common_server({"limits.default": "1000000/minute"})
    reply = live.call(method, live.token(scopes=("read", "write", "review")), params)
    told = [f"{one['field']} {one['message']}" for one in reply.json["error"]["data"]["violations"]]
    assert told[-1:] == last
    assert len(told) <= 100
    assert len(reply.body) < 12_000


def test_names_of_members_are_not_repeated_unless_they_are_short_words(common_server: Any) -> None:
    live = common_server({"limits.default": "1000000/minute"})
    token = live.token(scopes=("read", "write", "review"))
    for key in (CANARY, "k" * 65, CANARY * 30_000):
        params = {"id": "x", "outcome": "success", "affectedKpis": {key: "much"}}
        reply = live.call("cstp.reviewDecision", token, params)
        assert key.encode() not in reply.body
        assert {one["field"] for one in reply.json["error"]["data"]["violations"]} == {"affectedKpis"}
    steps = {"kind": "extraction", "type": "pattern", "name": "x", "sections": {CANARY * 3000: {CANARY * 3000: [1]}}}
    reply = live.call("cstp.storeKnowledge", token, {"records": [steps]})
    assert len(reply.body) < 2000


def test_violations_have_the_bound_of_an_answer_alone_and_in_a_batch(common_server: Any) -> None:
    live = common_server({"server.max_answer_bytes": 3000, "server.max_batch_answer_bytes": 5000})
    wrong = {"jsonrpc": "2.0", "id": 1, "method": "cstp.queryDecisions", "params": {f"a{n}": 0 for n in range(50)}}
    few = {**wrong, "params": {f"a{n}": 0 for n in range(20)}}
    token = live.token()
    assert live.post(wrong, token).json["error"]["data"]["component"] == "answer"
    codes = [one["error"]["code"] for one in live.post([few] * 6, token).json]
    assert (codes[:2], codes[-1]) == ([-32602] * 2, -32003)


def test_the_schema_states_integer_bounds_and_leaves_null_out() -> None:
    members = QueryDecisionsParams.model_json_schema(by_alias=True)["properties"]
    assert {name: members["limit"].get(name) for name in ("type", "minimum", "maximum")} == {
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
    }
    assert (members["mode"]["type"], members["mode"]["enum"]) == ("string", ["hybrid", "semantic", "keyword"])
    assert "null" not in repr(members["mode"])


@pytest.mark.parametrize("example", make_document()["methods"], ids=lambda one: one["name"])  # type: ignore[attr-defined]
def test_null_for_an_optional_member_equals_leaving_it_out(example: Any) -> None:
    model = {method.name: method.params for method in METHODS}[example["name"]]
    given = {one["name"]: one["value"] for one in example["examples"][0]["params"]}
    optional = {str(one.alias): None for one in model.model_fields.values() if not one.is_required()}
    plain = parse_params(model, given)
    for members in ({**optional, **given}, {**{to_snake(name): None for name in optional}, **given}):
        assert parse_params(model, members).model_dump(exclude_unset=True) == plain.model_dump(exclude_unset=True)


def test_null_within_a_parameter_is_absent_but_among_the_members_to_update_it_is_a_value() -> None:
    event = {"category": "a", "narrative": "b", "event_time": None, "actors": [{"ref": "Mara", "role": None}]}
    params = parse_params(RememberParams, {"content": "x", "events": [event], "role": None})
    assert params.events == [GivenEvent(category="a", narrative="b", actors=[GivenActor(ref="Mara")])]
    filters = {"category": None, "tags": None, "minConfidence": None, "min_confidence": 0.5}
    assert query_decisions("x", filters=filters, limit=None).params["filters"] == {"minConfidence": 0.5}  # type: ignore[arg-type]
    assert update_decision("x", {"pr": None, "tags": []}).params["updates"] == {"pr": None, "tags": []}
    with pytest.raises(InvalidParams, match="must not be taken away"):
        update_decision("x", {"confidence": None})


def test_members_of_objects_in_a_list_are_spelled_in_either_way() -> None:
    for name in ("event_time", "eventTime"):
        event = {"category": "a", "narrative": "b", name: "2026-01-31"}
        (read,) = parse_params(RememberParams, {"content": "x", "events": [event]}).events or ()
        assert read.event_time is not None
    both = {"category": "a", "narrative": "b", "event_time": "2026-01-31", "eventTime": "2026-01-31"}
    with pytest.raises(InvalidParams) as caught:
        parse_params(RememberParams, {"content": "x", "events": [both]})
    assert [violation.field for violation in caught.value.violations] == ["events[0].eventTime"]


@pytest.mark.parametrize(("value", "limit"), [(10, 10), (10.0, 10), (1, 1), (50, 50)])
def test_ten_and_ten_point_nought_are_integers(value: object, limit: int) -> None:
    parsed = parse_params(QueryDecisionsParams, {"query": "x", "limit": value})
    assert type(parsed.limit) is int
    assert parsed.limit == limit


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
def test_an_invalid_timestamp_is_refused(value: object) -> None:
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": {"dateAfter": value}})
    assert [violation.field for violation in caught.value.violations] == ["filters.dateAfter"]


def test_bounds_in_the_wrong_order_name_both_fields() -> None:
    filters = {"minConfidence": 0.9, "maxConfidence": 0.1, "dateAfter": "2026-02-01", "dateBefore": "2026-01-31"}
    with pytest.raises(InvalidParams) as caught:
        parse_params(QueryDecisionsParams, {"query": "x", "filters": filters})
    fields = {violation.field for violation in caught.value.violations}
    assert fields == {f"filters.{name}" for name in filters}
