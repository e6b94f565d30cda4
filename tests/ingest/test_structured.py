import json
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Sensitivity
from cstp.values.decisions import Reason
from tests.ingest.decisions import Reading, read_file

FULL: Mapping[str, object] = {
    "id": "d-1",
    "title": "Use UDP",
    "text": "Because.",
    "category": "network",
    "confidence": 0.75,
    "stakes": "high",
    "status": "✅ Approved",
    "outcome": "good",
    "date": "2024-05-06T07:08:09+02:00",
    "reasons": ["analysis", {"type": "pattern", "text": "seen before", "strength": 0.25}],
    "tags": ["a", "b"],
    "project": "p",
    "sensitivity": "highly_sensitive",
    "supersedes": ["d-0", 7],
    "supersededBy": "d-2",
    "metadata": {"ticket": 12, "seen": ["ana"]},
}


def read(path: str, text: str, explicit: bool = False) -> Reading:
    return read_file(path, text.encode(), explicit)


def one(record: Mapping[str, object]) -> Decision:
    (draft,) = read("decisions.json", json.dumps(record)).drafts
    return draft


def refusal(record: Mapping[str, object]) -> str:
    result = read("decisions.json", json.dumps(record))
    assert result.drafts == ()
    (problem,) = result.rejected
    return problem.reason


def test_every_field_is_read() -> None:
    assert one(FULL) == Decision(
        title="Use UDP",
        text="Because.",
        id="d-1",
        category="network",
        confidence=0.75,
        stakes="high",
        status_text="✅ Approved",
        status="accepted",
        outcome="good",
        date=datetime(2024, 5, 6, 5, 8, 9, tzinfo=UTC),
        reasons=(Reason("analysis"), Reason("pattern", "seen before", 0.25)),
        tags=("a", "b"),
        supersedes=("d-0", "7"),
        superseded_by=("d-2",),
        project="p",
        sensitivity=Sensitivity.HIGHLY_SENSITIVE,
        metadata={"ticket": 12, "seen": ["ana"]},
    )


def test_null_is_absent_and_numbers_may_be_ids() -> None:
    assert one(dict.fromkeys(FULL) | {"title": "A"}) == Decision(id=None, title="A", sensitivity=None)
    assert one({"title": "A", "id": 12}).id == "12"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("decisions.json", '{"title": "A"}'),
        ("decisions.json", '[{"title": "A"}]'),
        ("decisions.json", '{"decisions": [{"title": "A"}]}'),
        ("decisions.json", '{"title": "A"}\n\n{"title": "B"}\n'),
        ("decisions.jsonl", '{"title": "A"}\n{"title": "B"}\n'),
        ("decisions.ndjson", '[\n{"title": "A"}\n]'),
        ("decisions.yaml", "title: A"),
        ("decisions.yml", "- title: A\n- title: B\n"),
        ("decisions.yaml", "decisions:\n  - title: A\n"),
        ("decisions.yaml", "title: A\n---\ntitle: B\n"),
        ("decisions.yaml", '{"title": "A"}'),
        ("decisions.yaml", "{title: A}"),
        ("decisions.txt", '[{"title": "A"}]'),
        ("decisions", "title: A\n"),
        ("decisions.json", '\ufeff{"title": "A"}'),
        ("decisions.json", '{"text": "x", "title": "A"}'),
    ],
)
def test_records_are_recognised_by_content(path: str, text: str) -> None:
    result = read(path, text)
    assert result.rejected == ()
    assert [draft.title for draft in result.drafts] in (["A"], ["A", "B"])
    assert [ordinal for ordinal, _ in result.places] == list(range(len(result.drafts)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("decisions.json", '[{"repo": "x", "commit": "y", "docs": 3}]'),
        ("decisions.json", '{"date": "2020-01-01"}'),
        ("decisions.json", "[]"),
        ("decisions.json", ""),
        ("decisions.json", "3"),
        ("decisions.json", '{"decisions": []}'),
        ("decisions.yaml", ""),
        ("decisions.yaml", "jobs:\n  build:\n    title: x\n"),
        ("decisions.jsonl", '{"a": 1}\n'),
        ("decisions.json", '{"a": '),
        ("decisions.yaml", "a: [\n"),
        ("decisions.yaml", "{{ .Values.name }}\n"),
    ],
)
def test_other_content_is_not_recognised(path: str, text: str) -> None:
    assert read(path, text) == Reading(recognised=False)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        *(("title", title) for title in ("  ", "a\ud800", "a\0")),
        ("text", "a\0"),
        *(("confidence", number) for number in (1.01, -0.01, "0.5", 10**500)),
        ("stakes", ["high"]),
        ("outcome", " "),
        *(("reasons", [{"type": "a", name: value}]) for name, value in (("strength", 1.5), ("text", 1))),
        *(("tags", tags) for tags in ({}, [[1]], [""], ["a" * 257])),
        ("project", {}),
        ("sensitivity", 1),
        *(("id", id) for id in ("", "a b", "a\u200bb", "a" * 201)),
        ("supersedes", {"id": 1}),
        ("metadata", {str(number): 1 for number in range(65)}),
        ("metadata", {"a": "x" * 100_000}),
    ],
)
def test_a_value_outside_its_field_is_refused_naming_the_field_and_never_echoed(member: str, value: object) -> None:
    reason = refusal({"title": "A", "text": "x"} | {member: value})
    assert reason.startswith(f"{member} must be ")
    assert len(reason) < 250


@pytest.mark.parametrize(
    ("record", "words"),
    [
        *(({"kind": "decision", "title": "A", name: 1}, "an unknown member ") for name in ("a" * 65, "a b", "")),
        ({"kind": "decision", "title": "A", "<script>": 1}, "an unknown member "),
    ],
)
def test_unknown_members_that_no_text_may_quote_are_not_named(record: dict[str, object], words: str) -> None:
    assert words in refusal(record)


@pytest.mark.parametrize("date", ["2023-24-05", "soon", "", "5 May 2024", "1899-12-31", 2024, 20240506, [], {}])
def test_a_date_that_cannot_be_one_refuses_its_record(date: object) -> None:
    reason = "date must be an ISO 8601 date or timestamp as text, of a year from 1900 to 2199"
    result = read("decisions.jsonl", f'{{"title": "A"}}\n{json.dumps({"title": "B", "date": date})}\n')
    assert ([draft.title for draft in result.drafts], result.warnings) == (["A"], ())
    assert [(problem.line, problem.reason) for problem in result.rejected] == [(2, reason)]


@pytest.mark.parametrize("date", ["2024-05-06", "20240506", "2024-W19-1", "2024-05-06T02:00:00+02:00", " 2024-5-6 "])
def test_a_date_may_have_every_form_of_iso_8601(date: str) -> None:
    (draft,) = read("decisions.jsonl", json.dumps({"title": "A", "date": date})).drafts
    assert draft.date == datetime(2024, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("path", "text", "places", "lines"),
    [
        (
            "decisions.json",
            '[\n  {"title": "A"},\n  {\n    "title": ""\n  }, 7,\n  {"title": "B"}\n]\n',
            [("A", 0, 2), ("B", 3, 6)],
            [3, 5],
        ),
        ("decisions.json", '{"decisions": [\n{"title": "A"},\n{"title": 1}\n]}', [("A", 0, 2)], [3]),
        (
            "decisions.yaml",
            "decisions:\n\n  - title: A\n\n  - title: B\n    confidence: 3\n",
            [("A", 0, 3)],
            [5],
        ),
        ("decisions.yaml", "# first\ntitle: A\n---\ntitle: ''\n", [("A", 0, 2)], [4]),
        ("decisions.jsonl", '{"title": "A"}\n{"title": \n{"title": "B"}\n', [("A", 0, 1), ("B", 2, 3)], [2]),
        ("decisions.yaml", "title: A\n---\ntitle: B\n---\ntitle: [broken\n", [("A", 0, 1), ("B", 1, 3)], [6]),
        ("decisions.yaml", "- title: A\n  title: B\n- title: C\n", [("C", 1, 3)], [1]),
    ],
)
def test_a_bad_record_is_refused_at_its_line_and_others_are_kept(
    path: str, text: str, places: list[tuple[str, int, int]], lines: list[int]
) -> None:
    result = read(path, text)
    assert [(draft.title, *place) for draft, place in zip(result.drafts, result.places, strict=True)] == places
    assert [problem.line for problem in result.rejected] == lines


def test_members_beside_decisions_are_left_out_with_a_warning() -> None:
    (problem,) = read("decisions.json", '{"version": 1, "decisions": [{"title": "A"}]}').warnings
    assert problem.reason == "only decisions is read here; the other members are left out: version"


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("decisions.json", '[\n{"title": "A"},\n{"title" "B"}\n]', 3),
        ("decisions.json", '[\n{"title": "A"},\n', 3),
        ("decisions.json", '{"title": "A"} x', 1),
        ("decisions.yaml", "title: A\ntext: [\n  b: }\n", 3),
        ("decisions.yaml", "title: A\ntext: a\x07b\n", 2),
        ("decisions.jsonl", '{"title": ', 1),
    ],
)
def test_a_broken_file_that_speaks_of_titles_is_refused_at_the_line(path: str, text: str, line: int) -> None:
    result = read(path, text)
    assert (result.drafts, [problem.line for problem in result.rejected]) == ((), [line])


def test_a_broken_file_is_refused_when_it_was_named() -> None:
    assert read("decisions.json", '{"a": ', explicit=True).rejected[0].line == 1
    assert read("decisions.yaml", "a: [\n", explicit=True).rejected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((f'{{"title": "A", "confidence": {number}}}', "confidence") for number in ("NaN", "Infinity", "-Infinity")),
        ('{"title": "A", "confidence": ' + "9" * 9000 + "}", "confidence"),
        ('{"kind": 7, "title": "A"}\n{"title": "B"}\n', "kind must be one of decision, "),
        ('{"content": "A"}\n{"title": "B"}\n', "title is required; a record of another kind names its kind"),
        ('{"id": 1e300, "title": "A"}\n{"title": "B"}\n', "id must be"),
        (f'{{"tags": {"[" * 400 + "]" * 400}, "title": "A"}}\n{{"title": "B"}}\n', "tags must be"),
        ('{"title": "A", "id": "x"}\n{"title": "B", "id": "x"}\n', "id "),
    ],
    ids=lambda value: value[:40],
)
def test_odd_values_are_refused_by_their_field(text: str, words: str) -> None:
    (problem,) = read("decisions.jsonl", text).rejected
    assert problem.reason.startswith(words)


@pytest.mark.parametrize("value", ["no", "on", "Yes", "0o17", "0012", "2024-05-06", "1:30", "0x1F", ".inf", "1_000"])
def test_plain_yaml_words_stay_text(value: str) -> None:
    (draft,) = read("decisions.yaml", f"title: A\ncategory: {value}\n").drafts
    assert draft.category == value


def test_plain_yaml_null_booleans_and_decimal_numbers_are_what_they_say() -> None:
    (draft,) = read("decisions.yaml", "title: A\nid: 12\nconfidence: 0.5\nstatus: null\nproject: ~\ntags:\n").drafts
    assert (draft.id, draft.confidence, draft.status, draft.project, draft.tags) == ("12", 0.5, None, None, ())
    (problem,) = read("decisions.yaml", "title: A\ncategory: true\n").rejected
    assert problem.reason.startswith("category")


def test_a_yaml_date_is_a_date_and_an_impossible_one_is_refused() -> None:
    result = read("decisions.yaml", "- title: A\n  date: 2024-05-06\n- title: B\n  date: 2024-13-45\n")
    assert [draft.date for draft in result.drafts] == [datetime(2024, 5, 6, tzinfo=UTC)]
    assert [problem.line for problem in result.rejected] == [3]


@pytest.mark.parametrize(
    "text",
    [
        "- title: A\n  tags: &t [a]\n- title: B\n",
        "- title: &t A\n- title: B\n",
        "- title: A\n  date: !!timestamp 2020-01-01\n- title: B\n",
        "- title: A\n  ? [a]\n  : b\n- title: B\n",
        "- title: A\n  tags: !!set {a}\n- title: B\n",
    ],
)
def test_yaml_beyond_plain_values_is_refused_in_its_record_alone(text: str) -> None:
    result = read("decisions.yaml", text)
    assert [draft.title for draft in result.drafts] == ["B"]
    assert [problem.line for problem in result.rejected] == [1]


def test_a_quoted_yaml_scalar_is_text() -> None:
    (draft,) = read("decisions.yaml", 'title: "12"\ntext: |\n  a\n  b\n').drafts
    assert (draft.title, draft.text) == ("12", "a\nb\n")


def test_the_schema_names_every_field_in_each_spelling_and_no_other() -> None:
    schema = record_schema(Kind.DECISION)
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == set(FULL) | {"kind", "superseded_by", "affects"}
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["title"]
    assert json.loads(json.dumps(schema)) == schema


def test_a_json_schema_with_a_title_is_no_decision() -> None:
    schema = '{"$schema": "x", "title": "Decision", "type": "object", "properties": {}}'
    assert not read_file("schema.json", schema.encode()).recognised


@pytest.mark.parametrize("content", [b"[]", b'{"decisions": []}'])
def test_a_named_file_that_says_there_are_no_records_is_read(content: bytes) -> None:
    reading = read_file("decisions.json", content, explicit=True)
    assert reading == Reading()


@pytest.mark.parametrize("member", ["sensitivity", "Sensitivity", "project"])
@pytest.mark.parametrize("form", ["decisions.json", "decisions.yaml", "decisions.txt"])
def test_rights_beside_the_records_refuse_the_file_and_are_named(member: str, form: str) -> None:
    text = json.dumps({member: "highly_sensitive", "records": [{"title": "Pay more", "category": "hr"}]})
    result = read_file(form, text.encode(), explicit=True)
    assert result.drafts == ()
    (problem,) = result.rejected
    assert problem.reason.startswith(f"{member} is not read together with records")


def test_a_first_document_that_holds_nothing_but_rights_refuses_the_file() -> None:
    result = read_file("decisions.yaml", b"sensitivity: highly_sensitive\n---\ntitle: Pay more\ncategory: hr\n")
    assert (result.drafts, [problem.line for problem in result.rejected]) == ((), [1])


@pytest.mark.parametrize("name", ["Sensitivity", "PROJECT"])
@pytest.mark.parametrize(
    "record",
    [{"title": "A", "text": "b"}, {"kind": "artifact", "content": "a"}, {"content": "a", "artifact_id": "b"}],
)
def test_rights_in_another_case_are_refused(name: str, record: dict[str, str]) -> None:
    lines = json.dumps({**record, name: "highly_sensitive"}) + "\n" + json.dumps({"title": "t"})
    (problem,) = read_file("decisions.jsonl", lines.encode()).rejected
    assert problem.reason == f"{name} must be written {name.lower()}"


GOOD = "".join(f'{{"title": "Rule {n}", "category": "c"}}\n' for n in range(5))


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("path", ["decisions.jsonl", "decisions.ndjson"])
@pytest.mark.parametrize(
    "bad",
    [
        '{"title": "Café", "category": "c"}\n'.encode("latin-1"),
        "Café\n".encode("latin-1"),
        b"junk\n",
        b'"junk"\n{\n',
        b"junk\n" * 200,
        "junk\nCafé\n".encode("latin-1"),
    ],
)
def test_bad_lines_before_good_ones_are_refused_alone(bad: bytes, path: str, explicit: bool) -> None:
    result = read_file(path, bad + GOOD.encode(), explicit)
    assert [draft.title for draft in result.drafts] == [f"Rule {n}" for n in range(5)]
    assert [problem.line for problem in result.rejected] == list(range(1, bad.count(b"\n") + 1))


def test_a_first_line_in_another_encoding_is_refused_alone_whatever_the_file_is_called() -> None:
    result = read_file(
        "decisions.log", '{"title": "Café", "category": "c"}\n'.encode("latin-1") + GOOD.encode(), explicit=True
    )
    assert (len(result.drafts), [problem.line for problem in result.rejected]) == (5, [1])


def test_a_whole_number_may_be_written_with_a_point() -> None:
    result = read("decisions.jsonl", '{"id": 10.0, "title": "A", "supersedes": [9.0], "confidence": 1.0}\n')
    assert [(draft.id, draft.supersedes, draft.confidence) for draft in result.drafts] == [("10", ("9",), 1.0)]


@pytest.mark.parametrize(
    "value",
    [
        {"title": "Quay", "text": "Welcome to the quay"},
        {"title": "My thesis", "date": "2024-01-01", "project": "p", "tags": ["a"]},
        [{"id": 1, "title": "Tides", "url": "https://tides.example", "tags": ["sea"]}],
        [{"id": 101, "title": "The crane stops", "state": "open", "body": "The switch rusts."}],
        [{"title": "Buy paint", "status": "todo", "date": "2024-01-01"}, {"title": "Dive", "status": "done"}],
        [{"id": "t1", "title": "A talk", "abstract": "On ropes.", "speaker": "Ana", "status": "accepted"}],
        [{"id": "p1", "title": "Rope", "category": "deck", "price": 3, "text": "Ten metres."}],
        [{"title": "Paint the hull", "status": "done", "category": "home", "date": "2024-01-01"}],
        [{"title": "The Sea", "author": "Ana", "status": "read", "category": "fiction"}],
        [{"title": "berth_test", "status": "passed", "outcome": "passed", "seconds": 2, "file": "a.py"}],
        {"text": "mind the gap", "alternatives": ["mind the map"], "confidence": 0.7},
    ],
)
@pytest.mark.parametrize("path", ["issues.json", "navigation.yml", "decision-tree.yaml"])
def test_what_has_an_id_and_a_title_alone_is_no_decision(path: str, value: object) -> None:
    assert not read(path, json.dumps(value)).recognised


@pytest.mark.parametrize(
    "members",
    [
        {"kind": "decision"},
        {"reasons": ["cost"]},
        {"stakes": "low", "owner": "Ana", "team": "deck", "floor": 3},
        {"rationale": "It is cheap."},
        {"supersedes": "a-1"},
        {"status": "accepted"},
        {"category": "deck", "outcome": "good"},
        {"category": "deck", "confidence": 0.5},
    ],
)
def test_a_title_with_what_little_else_has_is_a_decision(members: Mapping[str, object]) -> None:
    (draft,) = read("quay.json", json.dumps({"title": "Use rope", "text": "It floats."} | dict(members))).drafts
    assert draft.title == "Use rope"


@pytest.mark.parametrize("path", ["decisions.json", "docs/Team-Decisions_2024.yaml", "adrs.jsonl"])
def test_in_a_file_that_calls_itself_decisions_a_title_is_enough(path: str) -> None:
    assert [draft.title for draft in read(path, '{"title": "Use rope"}').drafts] == ["Use rope"]
