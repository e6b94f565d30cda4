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
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord
from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, content_names
from cognition_engines.kinds.fields import ISO_8601
from cognition_engines.kinds.graph import Evidence
from cognition_engines.kinds.knowledge import KnowledgeCard, Place
from cognition_engines.kinds.registry import validate_record
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


def refusal(**members: Any) -> str:
    """Return the reason for refusing these members."""
    (item,) = items(members)
    assert isinstance(item, RejectedRecord), item
    return item.problem.reason


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


def broken(schema: dict[str, Any], definitions: dict[str, Any]) -> Iterator[Any]:
    """Yield values that each break a bound of a member's schema."""
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
def test_the_schema_accepts_exactly_the_readable_records(members: dict[str, Any], taken: bool) -> None:
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


@pytest.mark.parametrize("letter", ["x", "ü", "\n"])
def test_an_artifact_too_large_for_an_answer_is_refused(letter: str) -> None:
    most = (4_000_000 - 2) // len(json.dumps(letter, ensure_ascii=False).encode()[1:-1])
    assert len(validate_record(Kind.ARTIFACT, {"content": letter * most}).content) == most
    reason = refusal(kind="artifact", content=letter * (most + 1))
    assert reason == "content must have at most 4,000,000 bytes as JSON in UTF-8, or no answer holds it"


@pytest.mark.long("reads many or large files")
@pytest.mark.parametrize(
    "members", [{"kind": "source", "title": "t"}, {"kind": "artifact"}], ids=["source", "artifact"]
)
def test_a_code_block_too_large_for_a_chunk_is_refused(members: dict[str, Any]) -> None:
    reason = refusal(**members, content="Words.\n\n```\n" + "x = 1\n" * 200_000 + "```\n")
    assert reason == "content: the code block or table in line 3 must have at most 1,000,000 characters"
    (draft,) = items(members | {"content": "```\n" + "x = 1\n" * 160_000 + "```\n"})
    assert isinstance(draft, DocumentDraft)


def test_the_schema_of_decisions_names_every_field_in_each_spelling_and_no_other() -> None:
    schema = record_schema(Kind.DECISION)
    assert set(schema["properties"]) == {*own_names(Kind.DECISION), "supersededBy", "kind"}
    assert (schema["additionalProperties"], schema["required"]) == (False, ["title"])
