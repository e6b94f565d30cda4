"""Files of records of all kinds: the documented examples, both spellings, other systems' names, and every bound."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import fields
from io import BytesIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic.alias_generators import to_camel

from cognition_engines.ingest.detect import read
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, Extraction, content_names
from cognition_engines.kinds.fields import ISO_8601
from cognition_engines.kinds.graph import Evidence
from cognition_engines.kinds.knowledge import KnowledgeCard, Place
from cognition_engines.kinds.registry import kind_of, validate_record
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, Run

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "record-files.md").read_text(encoding="utf-8")
LINES = [line for block in re.findall(r"```jsonl\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
EXAMPLES: list[dict[str, Any]] = list(map(json.loads, LINES))
SMALL = {str(one["kind"]): {name: one[name] for name in one if name != "kind"} for one in EACH}


def items(*members: dict[str, Any], path: str = "r.jsonl") -> list[Item]:
    content = "".join(json.dumps(one) + "\n" for one in members)
    found = read(path, BytesIO(content.encode()), explicit=True)
    return [] if found is None else list(found)


def one(**members: Any) -> Any:
    """The one record that these members are."""
    (draft,) = (item for item in items(members) if not isinstance(item, Warned))
    assert isinstance(draft, RecordDraft), draft
    return draft.record


def tags(value: Any, path: str) -> list[tuple[str, ...]]:
    """What one value is read as, as the tags of all kinds of records."""
    kinds = [kind for kind in SMALL if own_names(KINDS[kind]) & {"tags", "topics"}]
    given = [{"kind": kind} | SMALL[kind] | {"topics" if kind == "extraction" else "tags": value} for kind in kinds]
    card = {"summary": "s", "takeaways": ["a", "b", "c"], "tags": value}
    given.append({"kind": "chunk", "content": "c", "knowledge_card": card})
    if path.endswith(".jsonl"):
        return list(map(tags_of, items(*given)))
    text = "".join(f"- {json.dumps(one)}\n" for one in given).replace('"1.10"', "1.10").replace('"007"', "007")
    return list(map(tags_of, read(path, BytesIO(text.encode()), explicit=True) or ()))


def tags_of(item: Item) -> tuple[str, ...]:
    assert isinstance(item, RecordDraft | DocumentDraft), item
    record: Any = item.source if isinstance(item, DocumentDraft) else item.record
    card = getattr(record, "knowledge_card", None)
    return tuple(card.tags if card else record.topics if isinstance(record, Extraction) else record.tags)


@pytest.mark.parametrize("path", ["r.jsonl", "r.yaml"])
@pytest.mark.parametrize(
    ("value", "texts"),
    [
        (2024, ("2024",)),
        (True, ("true",)),
        (2.5, ("2.5",)),
        ("billing, 7", ("billing", "7")),
        ([1, True, 2.5, "a, b"], ("1", "true", "2.5", "a, b")),
        (["1.10", "007"], ("1.10", "007")),
    ],
)
def test_plain_values_are_texts_in_the_tags_of_any_kind(path: str, value: object, texts: tuple[str, ...]) -> None:
    assert set(tags(value, path)) == {texts}
    assert len(tags(value, path)) == 6


def refusal(**members: Any) -> str:
    """Why these members are refused."""
    (item,) = items(members)
    assert isinstance(item, RejectedRecord), item
    return item.problem.reason


def test_what_is_given_twice_hides_nothing_else_that_is_wrong() -> None:
    reason = refusal(kind="chunk", content="c", chunk_index=0, chunkIndex=1, created_at="soon", tags={})
    assert [name in reason for name in ("chunk_index is given in both", "created_at must", "tags must")] == [True] * 3
    reason = refusal(kind="edge", sourceEntityId="a", source_entity_id="b", target_id="c", type="t", confidence=2)
    assert reason == "source_entity_id is given in both spellings; confidence must be at most 1"
    content = {"name": "n", "solution": "s", "context_id": "a"}
    reason = refusal(kind="extraction", type="pattern", content=content, context_id="b", extracted_at="soon")
    assert [name in reason for name in ("context_id is given in content", "extracted_at must")] == [True, True]
    reason = refusal(chunk_id="a", content="c", ticket=1, metadata={"ticket": 2}, created_at="soon")
    assert [name in reason for name in ("ticket", "created_at must")] == [True, True]


@pytest.mark.parametrize("type", [{"type": "poem"}, {"type": ["pattern"]}, {}])
def test_an_extraction_of_no_known_type_hides_nothing_else_that_is_wrong(type: dict[str, Any]) -> None:
    reason = refusal(kind="extraction", **type, content={"name": 5}, extracted_at="soon", confidence=2)
    assert reason.startswith("type ")
    assert reason.endswith("; confidence must be at most 1; extracted_at must be a date or time in ISO 8601")


def in_camel_case(members: dict[str, Any]) -> dict[str, Any]:
    return {
        to_camel(name): in_camel_case(value)
        if isinstance(value, dict) and name != "metadata"
        else [in_camel_case(each) if isinstance(each, dict) else each for each in value]
        if isinstance(value, list)
        else value
        for name, value in members.items()
    }


def test_every_kind_and_field_is_documented_with_an_example() -> None:
    assert {example["kind"] for example in EXAMPLES} == set(KINDS)
    assert {example["type"] for example in EXAMPLES if example["kind"] == "extraction"} == set(EXTRACTION_TYPES)
    for kind in set(Kind) - {Kind.DECISION}:
        given = {name for example in EXAMPLES if example["kind"] == kind.label for name in in_camel_case(example)}
        assert {to_camel(name) for name in own_names(kind)} - given - {
            "id",
            "project",
            "sensitivity",
            "metadata",
        } == set()
        for name in own_names(kind):
            assert f"`{name}`" in PAGE, (kind, name)
    for name in (field.name for model in (Place, KnowledgeCard, Evidence) for field in fields(model)):
        assert f"`{name}`" in PAGE
    for type in EXTRACTION_TYPES:
        assert content_names(type)


@pytest.mark.long("reads many or large files")
@pytest.mark.parametrize("respelled", [lambda one: one, in_camel_case], ids=["as written", "in camelCase"])
def test_every_documented_example_is_read_and_meets_its_schema(
    run: Run, records: Records, tmp_path: Path, respelled: Callable[..., dict[str, Any]]
) -> None:
    examples = [respelled(example) for example in EXAMPLES]
    for example in examples:
        schema = record_schema(KINDS[example["kind"]])
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(example, schema, jsonschema.Draft202012Validator)
    file = tmp_path / "examples.jsonl"
    file.write_text("".join(json.dumps(example) + "\n" for example in examples))
    summary = run(file)
    assert (summary.rejected, summary.warnings) == ((), ())
    # the source's text is one chunk
    assert summary.new == len(examples) + 1 == sum(summary.kinds.values())
    assert set(summary.kinds) == set(KINDS)
    assert sum(records.counts().values()) == summary.new


def test_both_spellings_are_the_same_record() -> None:
    for example in EXAMPLES:
        if example["kind"] != "decision":
            same = [items(spelled)[0] for spelled in (example, in_camel_case(example))]
            assert same[0] == same[1]


@pytest.mark.parametrize("kind", SMALL)
def test_a_name_in_both_spellings_is_refused(kind: str) -> None:
    name = next(name for name in sorted(own_names(KINDS[kind])) if to_camel(name) != name) if kind != "entity" else None
    if name is not None:
        reason = refusal(kind=kind, **SMALL[kind] | {name: None, to_camel(name): None})
        assert reason == f"{name} is given in both spellings"


@pytest.mark.parametrize("kind", SMALL)
def test_an_unknown_member_of_a_record_that_names_its_kind_is_refused(kind: str) -> None:
    assert refusal(kind=kind, **SMALL[kind], colour="red").startswith("'colour' is not a field of a")


def test_an_unknown_kind_is_refused_with_those_there_are() -> None:
    reasons = [
        item.problem.reason
        for item in items({"kind": "poem"}, {"kind": "entity", "name": "n"})
        if isinstance(item, RejectedRecord)
    ]
    assert reasons == ["kind must be one of " + ", ".join(KINDS)]


def test_a_file_of_other_kinds_is_no_file_of_records() -> None:
    assert read("d.yaml", BytesIO(b"kind: Deployment\nmetadata: {name: x}\n")) is None
    assert read("e.yaml", BytesIO(b"kind: Event\nmetadata: {name: x}\n")) is None


def broken(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[Any]:
    """Values that break one bound each of a member's schema."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    yield from (value for value in (True, "yes") if not fits(value, options or [schema], definitions))
    for option in options:
        yield from (value for value in broken(option, definitions) if not fits(value, options, definitions))
    if schema.get("type") == "string":
        yield 1.5
        if "maxLength" in schema:
            yield "a" * (schema["maxLength"] + 1)
        if schema.get("minLength"):
            yield ""
        if "pattern" in schema:
            yield "a\nb"
        if "enum" in schema:
            yield "another"
        if schema.get("pattern") == ISO_8601:
            yield "yesterday"
    if schema.get("type") in {"integer", "number"}:
        yield "a\nb"
        if "minimum" in schema:
            yield schema["minimum"] - 1
        if "maximum" in schema:
            yield schema["maximum"] + 1
    if schema.get("type") == "array" and "items" in schema:
        if "maxItems" in schema:
            yield ["a"] * (schema["maxItems"] + 1)
        yield [True]


EVENT = {"kind": "event", "category": "c", "narrative": "n"}
DECISION: dict[str, Any] = {"kind": "decision", "title": "t"}
TURN = {"kind": "turn", "conversation_id": "v", "content": "c"}
EPISODE = {"kind": "episode", "query": "q", "reward": 1}
PATTERN, WARNING = {"name": "n", "solution": "s"}, {"title": "t", "description": "d"}
TIMES = (
    "2025-03-05",
    "20250305",
    "2025-W10-3",
    "2025-03-05 07:10",
    "2025-03-05T07:10:00.123456Z",
    "2025-03-05T0710+01",
)


@pytest.mark.parametrize(
    ("members", "taken"),
    [
        *(({"kind": "entity", "name": "n", "type": type}, True) for type in ("PERSON", "Org", "organisation")),
        *(({"kind": "entity", "name": "n", "type": type}, False) for type in ("robot", "", "per son", "perſon", 5)),
        *((EVENT | {"actors": actors}, True) for actors in ("Ana", {"ref": "Ana"}, ["Ana", {"ref": "Bo"}], [])),
        *((EVENT | {"actors": actors}, False) for actors in ("", {"role": "owner"}, 5)),
        *((EVENT | {"evidence": said}, True) for said in ("so", {"quote": "so"}, ["so", {"quote": "so"}])),
        *((EVENT | {"evidence": said}, False) for said in ("", "a" * 2001, {"chunk_id": "so"}, [5])),
        *(({"kind": "extraction", "type": type, "content": "c"}, True) for type in ("decision", "pattern", "warning")),
        ({"kind": "extraction", "type": "persona", "content": "c"}, False),
        ({"kind": "extraction", "type": "warning", "content": ""}, False),
        ({"kind": "extraction", "type": "checklist", "content": {"name": "n", "items": "- a\n- b\n"}}, True),
        ({"kind": "extraction", "type": "checklist", "content": {"name": "n", "items": ""}}, False),
        *((TURN | {"ts": time}, True) for time in TIMES),
        *((DECISION | {"supersedes": ids}, True) for ids in (7, "7", [7, "a.md"], [], None)),
        *((DECISION | {"supersedes": ids}, False) for ids in (1.5, True, "", [""], [None], {}, ["a"] * 65)),
        *((DECISION | {"reasons": of}, True) for of in (["a", {"type": "a", "strength": 1}], [], None)),
        *(
            (DECISION | {"reasons": of}, False)
            for of in ("a", [""], ["a" * 65], [{"text": "a"}], [{"type": "a", "b": 1}])
        ),
        *((DECISION | {"tags": tags}, True) for tags in (2024, True, 2.5, "a, 2", [1, True, 2.5, "a"], [], None)),
        *((EPISODE | {"tags": tags}, True) for tags in (2024, True, 2.5, "a, 2", [1, True, 2.5, "a"], [], None)),
        *((EPISODE | {"tags": tags}, False) for tags in ({}, [[1]], [None], [""], "", "a" * 101)),
        *((TURN | {"ts": time}, False) for time in ("yesterday", "2025", "05.03.2025", 20250305, "2025-03-05T")),
    ],
)
def test_the_schema_takes_what_is_read_and_no_more(members: dict[str, Any], taken: bool) -> None:
    validator = jsonschema.Draft202012Validator(record_schema(KINDS[members["kind"]]))
    read_as = [item for item in items(members) if isinstance(item, RecordDraft)]
    assert (bool(read_as), not list(validator.iter_errors(members))) == (taken, taken)


def fits(value: Any, options: list[dict[str, Any]], definitions: dict[str, Any]) -> bool:
    whole = {"anyOf": options, "$defs": definitions}
    return not any(jsonschema.Draft202012Validator(whole).iter_errors(value))


@pytest.mark.parametrize("kind", [kind for kind in SMALL if kind != "extraction"])
def test_every_bound_of_every_field_is_named_when_broken(kind: str) -> None:
    schema = record_schema(KINDS[kind])
    tried = 0
    for name in sorted(own_names(KINDS[kind])):
        for value in broken(schema["properties"][name], schema.get("$defs", {})):
            lenient = name in {"actors", "affects", "subject", "evidence", "participants"} and isinstance(value, str)
            if not lenient and not (name == "type" and kind == "edge" and value == "a\nb"):
                reason = refusal(kind=kind, **SMALL[kind] | {name: value})
                assert reason.startswith(name), (name, value, reason)
                tried += 1
    assert tried > len(own_names(KINDS[kind]))


@pytest.mark.parametrize("kind", SMALL)
def test_a_required_field_that_is_missing_is_named(kind: str) -> None:
    for name in SMALL[kind]:
        if kind == "extraction" and name != "type":
            continue  # its content may stand beside its type, and its file be its source
        members = {other: value for other, value in SMALL[kind].items() if other != name}
        assert refusal(kind=kind, **members).startswith(f"{name} is required")


@pytest.mark.parametrize(
    ("card", "reason"),
    [
        ({"summary": "s" * 401}, "knowledge_card.summary must have at most 400 characters"),
        ({"takeaways": ["a", "b"]}, "knowledge_card.takeaways must have at least 3 item(s)"),
        ({"takeaways": list("abcdef")}, "knowledge_card.takeaways must have at most 5 items"),
        ({"tags": []}, "knowledge_card.tags must have at least 1 item(s)"),
    ],
)
def test_a_card_with_a_long_summary_two_takeaways_or_no_tags_is_refused(card: dict[str, Any], reason: str) -> None:
    whole = {"summary": "s", "takeaways": ["a", "b", "c"], "tags": ["t"]}
    assert one(kind="chunk", content="c", knowledge_card=whole).knowledge_card.takeaways == ("a", "b", "c")
    assert refusal(kind="chunk", content="c", knowledge_card=whole | card) == reason


@pytest.mark.parametrize("letter", ["x", "ü", "\n"])
def test_an_artifact_that_no_answer_could_hold_is_refused(letter: str) -> None:
    most = (4_000_000 - 2) // len(json.dumps(letter, ensure_ascii=False).encode()[1:-1])
    assert len(validate_record(Kind.ARTIFACT, {"content": letter * most}).content) == most
    reason = refusal(kind="artifact", content=letter * (most + 1))
    assert reason == "content must have at most 4,000,000 bytes as JSON in UTF-8, or no answer holds it"


@pytest.mark.long("reads many or large files")
@pytest.mark.parametrize(
    "members", [{"kind": "source", "title": "t"}, {"kind": "artifact"}], ids=["source", "artifact"]
)
def test_a_text_whose_code_block_no_chunk_can_hold_is_refused(members: dict[str, Any]) -> None:
    reason = refusal(**members, content="Words.\n\n```\n" + "x = 1\n" * 200_000 + "```\n")
    assert reason == "content: the code block or table in line 3 must have at most 1,000,000 characters"
    (draft,) = items(members | {"content": "```\n" + "x = 1\n" * 160_000 + "```\n"})
    assert isinstance(draft, DocumentDraft)


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"content": {"name": "n"}}, "content.solution is required"),
        ({"content": PATTERN | {"code_example": {"a": 1}}}, "content.code_example must be text"),
        ({"content": PATTERN | {"colour": "red"}}, "'colour' is not a member of content"),
        ({"content": ["a"]}, "content must be an object"),
        ({"type": "warning", "content": WARNING | {"prevention": ["a"]}}, "content.prevention must be text"),
        ({"kind": "edge", **SMALL["edge"], "target_id": "A"}, "targetId must be another entity than sourceId"),
        ({"kind": "chunk", "chunk_id": "a", "chunkId": "b", "content": "c"}, "chunk_id is given in both spellings"),
        (
            {"type": "checklist", "content": {"items": "- a"}, "extraction_title": "a", "extractionTitle": "b"},
            "extraction_title is given in both spellings",
        ),
    ],
)
def test_content_and_members_that_cannot_be_are_refused(members: dict[str, Any], reason: str) -> None:
    kind = {} if "kind" in members else {"kind": "extraction", "type": "pattern"}
    assert refusal(**kind | members) == reason


def test_a_member_beside_metadata_and_in_it_is_refused() -> None:
    assert "'colour' is given in metadata" in refusal(query="q", reward=1, colour="red", metadata={"colour": "blue"})


@pytest.mark.parametrize("name", ["reward", "id"])
def test_numbers_that_cannot_be_kept_are_refused(name: str) -> None:
    line = f'{{"kind": "episode", "query": "q", "reward": 1, "{name}": %s}}\n'.replace(
        '"reward": 1, ', "", name == "reward"
    )
    for number in ("1e999", "NaN", "9" * 30, "true"):
        (item,) = list(read("e.jsonl", BytesIO((line % number).encode()), explicit=True) or ())
        assert isinstance(item, RejectedRecord)
        assert name in item.problem.reason


def test_deep_nesting_large_numbers_and_broken_text_in_metadata_are_refused() -> None:
    for value in ("[" * 70 + "]" * 70, str(2**64), '"\\ud800"', "1e999", '"\\u0000"', '{"\\u0000": 1}'):
        line = f'{{"kind": "entity", "name": "n", "metadata": {{"x": {value}}}}}\n'
        (item,) = list(read("e.jsonl", BytesIO(line.encode() * 1), explicit=True) or ())
        assert isinstance(item, RejectedRecord), value
        assert item.problem.reason.startswith("metadata")


def test_null_counts_as_absent() -> None:
    assert one(kind="entity", name="n", aliases=None, type=None, role=None) == one(kind="entity", name="n")


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"_id": "1", "title": "t", "text": "x"}, Kind.CHUNK),
        ({"conversation_id": "v", "content": "c", "speaker": "s"}, Kind.TURN),
        ({"conversationId": "v", "content": "c", "turnIndex": 3}, Kind.TURN),
        ({"context": "conversation", "conversation_id": "v", "content": "c"}, Kind.TURN),
        ({"query": "q", "reward": 1}, Kind.EPISODE),
        ({"type": "warning", "content": {"title": "t", "description": "d"}}, Kind.EXTRACTION),
        ({"type": "pattern", "name": "n", "solution": "s"}, Kind.EXTRACTION),
        ({"title": "t", "markdown": "# x"}, Kind.SOURCE),
        ({"category": "c", "narrative": "n"}, Kind.EVENT),
        ({"chunk_id": "k", "content": "c"}, Kind.CHUNK),
        ({"artifact_id": "a", "content": "c"}, Kind.ARTIFACT_CHUNK),
        ({"context": "email", "content": "c"}, Kind.ARTIFACT),
        ({"canonical_name": "n", "entity_type": "PERSON"}, Kind.ENTITY),
        ({"name": "n", "type": "ORGANIZATION", "id": "o"}, Kind.ENTITY),
        ({"source_entity_id": "a", "target_entity_id": "b", "relationship_type": "OWNS"}, Kind.EDGE),
    ],
)
def test_records_without_a_kind_are_recognised_by_their_members(members: dict[str, Any], kind: Kind) -> None:
    found = [item for item in items(members) if not isinstance(item, Warned)]
    (draft,) = found
    assert isinstance(draft, RecordDraft | DocumentDraft), draft
    record = draft.record if isinstance(draft, RecordDraft) else draft.head
    assert kind_of(record) is kind
    colour = [item for item in items(members | {"colour": "red"}) if not isinstance(item, RejectedRecord)]
    (warning,) = (item.problem.reason for item in colour if isinstance(item, Warned))
    assert warning.endswith(": colour")


def test_things_that_are_no_records_are_passed_over() -> None:
    for text in ('{"name": "x", "type": "object"}', '{"_id": "1", "text": "a question"}', '{"type": "pattern"}'):
        assert read("x.json", BytesIO(text.encode())) is None


def test_names_of_other_systems_are_read_as_ours() -> None:
    chunk = one(
        chunk_id="k", content="c", parent_doc_id="s", cluster_id=["cluster-28"], position={"page": 3},
        embedding=[0.1, 0.2], embedding_model="m", content_hash="sha256:0",
    )  # fmt: skip
    assert (chunk.id, chunk.source_id, chunk.cluster_ids, chunk.place.page) == ("k", "s", ("cluster-28",), 3)
    assert chunk.metadata == {"embedding_model": "m", "content_hash": "sha256:0"}
    event = one(event_id="e", category="c", narrative="n", actor="Ana", subject="Ship", evidence_quote="said so")
    assert (event.id, event.actors[0].ref, event.subject.ref) == ("e", "Ana", "Ship")
    assert event.evidence[0].quote == "said so"
    entity = one(entity_id="x", canonical_name="Ana", entity_type="PERSON", needs_review=False)
    assert (entity.id, entity.name, entity.type, entity.metadata) == ("x", "Ana", "person", {"needs_review": False})
    edge = one(source_entity_id="a", target_entity_id="b", relationship_type="reports to", evidence_quote="q")
    assert (edge.source_id, edge.target_id, edge.type, edge.evidence) == ("a", "b", "REPORTS_TO", "q")
    mongo = one(_id="65", type="decision", content={"question": "q", "context_level": "chapter", "chunk_ids": ["k"]})
    assert (mongo.id, mongo.context_level, mongo.chunk_ids, mongo.content.question) == ("65", "chapter", ("k",), "q")


def test_our_own_name_wins_and_the_other_is_kept() -> None:
    chunk = one(kind="chunk", id="a", chunk_id="b", content="c", source_id="s", parent_doc_id="p")
    assert (chunk.id, chunk.source_id) == ("a", "s")
    assert chunk.metadata == {"chunk_id": "b", "parent_doc_id": "p"}


@pytest.mark.parametrize("kind", [{}, {"kind": "extraction"}], ids=["unnamed", "named"])
@pytest.mark.parametrize("spelling", ["extraction_title", "extractionTitle"])
def test_an_extraction_s_title_is_its_name_or_kept_beside_another(kind: dict[str, str], spelling: str) -> None:
    def read_with(name: dict[str, str], *, inside: bool) -> Any:
        title = {spelling: "A walk"}
        content = {**name, "items": "- a", **(title if inside else {})}
        return one(**kind, type="checklist", content=content, **({} if inside else title))

    for inside in (False, True):
        alone, same = read_with({}, inside=inside), read_with({"name": "A walk"}, inside=inside)
        assert (alone.content.name, alone.metadata) == (same.content.name, same.metadata) == ("A walk", {})
        other = read_with({"name": "A round"}, inside=inside)
        assert (other.content.name, other.metadata) == ("A round", {"extraction_title": "A walk"})
    both = {"name": "n", "items": "- a", spelling: "x"}
    reason = refusal(type="checklist", content=both, extraction_title="y")
    assert reason == "extraction_title is given in content and outside it, and the two differ"


@pytest.mark.parametrize(("name", "value"), [("context_level", "chapter"), ("context_id", "k"), ("chunk_ids", ["k"])])
def test_what_stands_in_the_content_and_beside_it_must_be_the_same(name: str, value: Any) -> None:
    content = {"name": "n", "items": "- a"}
    for given in ({"content": content | {name: value}, name: value}, {"content": content | {name: None}, name: value}):
        found = getattr(one(type="checklist", **given), name)
        assert found == (tuple(value) if isinstance(value, list) else value)
    reason = refusal(type="checklist", content=content | {name: "section"}, **{name: value})
    assert reason == f"{name} is given in content and outside it, and the two differ"


def test_vectors_are_left_out_with_a_warning() -> None:
    found = items({"kind": "chunk", "content": "c", "embedding": [1, 2]}, {"kind": "chunk", "content": "d"})
    assert [item.problem.reason for item in found if isinstance(item, Warned)] == [
        "members of chunks that are not read: embedding"
    ]


def test_lists_are_read_leniently_where_documented() -> None:
    assert one(kind="entity", name="n", aliases="x").aliases == ("x",)
    assert one(kind="artifact", content="c", participants="Ana, Bo ,").participants == ("Ana", "Bo")
    flat = one(type="pattern", name="n", solution="s", tradeoffs="Benefits:\n\n* fast\n- small\n1. old\n")
    assert flat.content.trade_offs == ("Benefits:", "fast", "small", "old")


@pytest.mark.parametrize(
    ("type", "names"),
    [
        ("decision", {"question": "words"}),
        ("pattern", {"name": "Pattern", "solution": "words"}),
        ("warning", {"title": "Warning", "description": "words"}),
    ],
)
def test_content_that_is_a_text_stands_for_its_main_member(type: str, names: dict[str, str]) -> None:
    content = one(kind="extraction", type=type, content="words").content
    assert {name: getattr(content, name) for name in names} == names
    assert refusal(kind="extraction", type="persona", content="words") == "content must be an object"


def test_a_list_under_records_and_yaml_are_read(tmp_path: Path, run: Run) -> None:
    (tmp_path / "r.json").write_text('{"records": [\n{"kind": "entity", "name": "a"},\n{"kind": "entity"}]}')
    (tmp_path / "r.yaml").write_text("kind: turn\nconversation_id: v\ncontent: c\n---\n- {kind: cluster, name: n}\n")
    summary = run(tmp_path / "r.json", tmp_path / "r.yaml")
    assert summary.kinds == {"cluster": 1, "turn": 1, "entity": 1}
    assert [(one.line, one.reason) for one in summary.rejected] == [(3, "name is required")]


def test_a_whole_number_may_be_written_with_a_point_but_in_metadata() -> None:
    turn = one(kind="turn", conversation_id="v", content="c", turn_index=1.0, metadata={"mark": 1.0})
    assert (turn.turn_index, type(turn.turn_index)) == (1, int)
    assert type(turn.metadata["mark"]) is float
    assert refusal(kind="turn", conversation_id="v", content="c", turn_index=1.5) == "turn_index must be an integer"


def test_the_schema_of_decisions_names_every_field_in_each_spelling_and_no_other() -> None:
    schema = record_schema(Kind.DECISION)
    assert set(schema["properties"]) == {*own_names(Kind.DECISION), "supersededBy", "kind"}
    assert (schema["additionalProperties"], schema["required"]) == (False, ["title"])
