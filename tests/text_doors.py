"""Doors for incoming and outgoing texts: writing methods, files, and the checks afterwards."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from pydantic.alias_generators import to_snake

from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.fields import ISO_8601
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.masking.masked_values import mask_text
from cstp.methods.registry import METHODS
from tests.chaos.process import Served, run_cstp
from tests.chaos.values import Parameter, Path as Place, Schema, schema_of, smallest, variants

INVALID_PARAMS = -32602
CALL = ("idempotencyKey", "agentId", "dryRun")  # members of a call, not of a record
# members that name records, exclude others, or are tried elsewhere, by method
_OTHERS: Mapping[str, Sequence[str]] = {
    "recordDecision": ("reviewIn", "supersedes", "relatedTo", "validTo"),
    "updateDecision": ("id", "expectedRevision", "validTo"),
    "reviewDecision": ("id",),
    "setStatus": ("id", "status"),
    "linkDecisions": ("sourceId", "targetId", "edgeType"),
    "remember": ("supersedes", "expiresAt", "startChar", "endChar"),
}
_OF_ARTIFACTS = ("sourceId", "sourceUrl", "title", "participants")
_OF_TURNS = ("conversationId", "turnIndex", "role")
_OF_RECORDS = (
    *("id", "kind", "source_id", "chunk_id", "chunk_ids", "cluster_ids", "context_id", "artifact_id"),
    *("supersedes", "superseded_by", "chunked", "start_char", "end_char", "chunk_index", "total_chunks", "token_count"),
)
_REFERENCES = {"artifact_chunk": {"artifact_id": "a"}, "edge": {"source_id": "s"}}  # required members of records


@dataclass(frozen=True)
class Slot:
    """A slot for a text or, with `kind` "json" or "number", for such a value."""

    place: Place
    kind: str

    @property
    def field(self) -> str:
        return Parameter("", self.place, {}, {}, {}).field


@dataclass(frozen=True)
class Form:
    """Content written by a call or file: a shape with `Slot`s. `main` is the searchable text's slot."""

    name: str
    method: str
    shape: Any
    slots: tuple[Slot, ...]
    main: Slot

    def fill(self, given: Mapping[Place, Any]) -> Any:
        """Return the shape with a value in each slot."""
        return _filled(self.shape, given)


def _filled(shape: Any, given: Mapping[Place, Any]) -> Any:
    if isinstance(shape, Slot):
        return given[shape.place]
    if isinstance(shape, dict):
        return {name: _filled(inner, given) for name, inner in shape.items()}
    return [_filled(inner, given) for inner in shape] if isinstance(shape, list) else shape


def _shape(schema: Schema, definitions: Mapping[str, Schema], left_out: Sequence[str], place: Place) -> Any:
    one = next(each for each in variants(schema, definitions) if each.get("type") != "null")
    match one.get("type"):
        case "object" if "properties" in one:
            return {
                name: _shape(inner, definitions, left_out, (*place, name))
                for name, inner in one["properties"].items()
                if name not in left_out and (to_snake(name) == name or to_snake(name) not in one["properties"])
            }
        case "object" if one.get("additionalProperties", True) is not True:
            return {"a share of it": Slot((*place, "a share of it"), "number")}
        case "object" | None if "enum" not in one and "const" not in one:
            return Slot(place, "json")
        case "array" if "items" in one:
            return [_shape(one["items"], definitions, left_out, (*place, 0))] * max(1, one.get("minItems", 0))
        case "string" if one.get("pattern") == ISO_8601:
            return "2026-01-31"
        case "string" if not {"enum", "const", "format"} & one.keys():
            return Slot(place, "text")
    return smallest(one, definitions)


def _slots(shape: Any) -> Iterator[Slot]:
    if isinstance(shape, Slot):
        yield shape
    for inner in shape.values() if isinstance(shape, dict) else shape if isinstance(shape, list) else ():
        yield from _slots(inner)


def _form(name: str, method: str, shape: Any, main: Place) -> Form:
    slots = tuple(dict.fromkeys(_slots(shape)))
    return Form(name, method, shape, slots, next(each for each in slots if each.place == main))


def _call(name: str, method: str, main: Place, left_out: Sequence[str] = (), **fixed: Any) -> Form:
    schema = schema_of(f"cstp.{method}")
    shape = _shape(schema, schema.get("$defs", {}), (*CALL, *_OTHERS.get(method, ()), *left_out), ())
    return _form(name, method, shape | fixed, main)


def _record(kind: str, schema: Schema, definitions: Mapping[str, Schema], place: Place) -> tuple[dict[str, Any], Place]:
    """Return a kind's record, in snake_case, and the first required text's path."""
    shape = _shape({"type": "object", "properties": schema["properties"]}, definitions, _OF_RECORDS, place)
    shape |= {"kind": kind} | _REFERENCES.get(kind, {})
    texts = {slot.place: slot for slot in _slots(shape) if slot.kind == "text"}
    named = ("content", "narrative", "query", "name", "title")
    return shape, next(at for name in named for at in texts if at[len(place)] == name)


def _records(place: Place) -> Iterator[tuple[str, dict[str, Any], Place]]:
    for name, kind in KINDS.items():
        schema = record_schema(kind)
        definitions = schema.get("$defs", {})
        if kind is not Kind.EXTRACTION:
            yield name, *_record(name, schema, definitions, place)
            continue
        for one in schema["oneOf"]:
            inner = variants(one, definitions)[0]
            yield f"{name} {inner['properties']['type']['const']}", *_record(name, inner, definitions, place)


def new_records() -> list[Form]:
    """Return the calls that write a record."""
    found = [
        _call("decision", "recordDecision", ("decision",)),
        _call("artifact", "remember", ("content",), _OF_TURNS),
        _call("turn", "remember", ("content",), _OF_ARTIFACTS, context="conversation"),
        _call("episode", "storeEpisode", ("query",)),
    ]
    for name, shape, main in _records(("records", 0)):
        if name.partition(" ")[0] in ("source", "chunk", "extraction"):
            found.append(_form(name, "storeKnowledge", {"records": [shape]}, main))
    return found


def changes_of(decision: str, other: str) -> list[Form]:
    """Return the calls that change a decision, and link it to another decision."""
    return [
        _call("update", "updateDecision", ("updates", "decision"), id=decision),
        _call("review", "reviewDecision", ("notes",), id=decision),
        _call("status", "setStatus", ("reason",), id=decision, status="accepted"),
        _call("link", "linkDecisions", ("context",), sourceId=decision, targetId=other, edgeType="relates_to"),
    ]


def lines_of_files() -> list[Form]:
    """Return file records of every kind."""
    return [_form(name, "ingest", shape, main) for name, shape, main in _records(())]


def words() -> Iterator[str]:
    """Yield words absent from all texts."""
    for number in count():
        yield "zq" + "".join("abcdefghij"[int(digit)] for digit in str(number)) + "x"


@dataclass
class Doors:
    """A server over a folder, and all writes: ids by kind, and the word of each."""

    server: Served
    client: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=120, trust_env=False, verify=False))
    words: Iterator[str] = field(default_factory=words)
    ids: dict[str, dict[Any, str]] = field(default_factory=dict)  # by form, each with its last word
    ingested: list[str] = field(default_factory=list)  # the words of stored records of files
    texts: int = 0  # tried in all
    refused: int = 0

    def send(self, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[dict[str, Any]]:
        """Return the answers to a batch, in order."""
        body = [
            {"jsonrpc": "2.0", "id": number, "method": f"cstp.{method}", "params": params}
            for number, (method, params) in enumerate(calls)
        ]
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{self.server.port}/cstp"
        answer = self.client.post(url, content=json.dumps(body), headers=headers)
        assert answer.status_code == 200, answer.text[:500]
        return sorted(answer.json(), key=lambda reply: reply["id"])

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a call, asserting that it exists."""
        (reply,) = self.send([(method, params)])
        assert "result" in reply, f"{method}: {reply['error']}, sent {ascii(params)[:2000]}"
        return reply["result"]

    def write(self, form: Form, given: Mapping[Place, Any]) -> tuple[Any, dict[Place, Any]]:
        """Return a call's result and values; a value refused by field name becomes a plain value."""
        word, values = next(self.words), dict(given)
        refused: set[Place] = set()
        self.texts += len(values)
        values[form.main.place] = f"{values[form.main.place]} {word}"
        for _ in range(len(form.slots) + 1):
            params = form.fill(values)
            (reply,) = self.send([(form.method, params)])
            if "result" in reply:
                return reply["result"] | {"word": word}, {k: v for k, v in values.items() if k not in refused}
            about = f"{form.name}: {reply['error']}, sent {ascii(params)[:3000]}"
            assert reply["error"]["code"] == INVALID_PARAMS, about
            fields = [each["field"] for each in reply["error"]["data"]["violations"]]
            named = {slot for slot in form.slots if any(_are_within(slot.field, one) for one in fields)}
            assert named, about
            assert not refused & {slot.place for slot in named}, about
            refused |= {slot.place for slot in named}
            self.refused += len(named)
            values |= {slot.place: _plain(slot, form, word) for slot in named}
        raise AssertionError(f"{form.name}: never taken")

    def check(self, form: Form, given: Mapping[Place, Any]) -> Any:
        """Write a record, check that it is read back unchanged and found by the word, and return its id."""
        result, sent = self.write(form, given)
        id, word = result["records"][0]["id"] if "records" in result else result["id"], result["word"]
        found = self.found(word, result["seq"])
        parts = found if form.name == "source" else [one["id"] for one in result.get("events", ())]
        assert id in found or parts, f"{form.name}: {id} is not found by {word}, but {found}"
        self.ids.setdefault(form.name, {})[id] = word  # a memory of the same source and id is changed
        whole = {text for one in [id, *parts] for text in texts_in(self.ask("fetch", id=one))}
        if form.name == "source":  # its text is in chunks, without data URLs and similar parts
            sent.pop(form.main.place, None)
            assert any(word in one for one in whole), f"{id}: no chunk has {word}"
        for place, value in sent.items():
            for text in texts_in(value):
                assert is_shown(text, whole) or is_shown(mask_text(text), whole), (
                    f"{form.name}: {place} of {id}: {text[:2000]!r} not in {str(whole)[:2000]}"
                )
        return id

    def found(self, word: str, seq: int = 0) -> list[Any]:
        """Return ids of records with a word, by keywords alone, once the indexes know a change."""
        params = {"query": word, "mode": "keyword", "limit": 50, "minSeq": seq}
        for _ in range(60):  # each waits for the indexes, which may have a whole folder to read
            (reply,) = self.send([("search", params)])
            if reply.get("error", {}).get("data", {}).get("component") != "indexes":
                break
        assert "result" in reply, f"{word} after {seq}: {reply}"
        return [one["id"] for one in reply["result"]["results"]]

    def listed(self, method: str, member: str, id: str = "id") -> set[Any]:
        """Return ids on all pages of a list."""
        ids: list[Any] = []
        while True:
            page = self.ask(method, limit=100, offset=len(ids))[member]
            ids += [one[id] for one in page]
            if len(page) < 100:
                assert len(set(ids)) == len(ids)
                return set(ids)


def is_shown(text: str, whole: Set[str]) -> bool:
    """Return whether a text is among an answer's texts, or among those with a first line used as title."""
    if text in whole:
        return True
    parts = [part.strip() for part in text.strip().partition("\n")]
    return any(text in one for one in whole) or all(any(part in one for one in whole) for part in parts)


def _are_within(one: str, other: str) -> bool:
    """Return whether two fields are equal, or either is a part of the other."""
    short, long = sorted((one, other), key=len)
    return long == short or long.startswith((f"{short}.", f"{short}["))


def _plain(slot: Slot, form: Form, word: str) -> Any:
    if slot.kind != "text":
        return {"plain": 1} if slot.kind == "json" else 1
    return f"plain {word}" if slot == form.main else "plain"


def texts_in(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, member names included."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                yield text
            case dict() as members:
                waiting += [*members.keys(), *members.values()]
            case list() as items:
                waiting += items


def check_transfers(folder: Path, served: Callable[[Path], Served]) -> tuple[bytes, Served]:
    """Check that export, import, backup and restore of a folder agree; return its lines, and a new server."""

    def cstp(*words: object, data_dir: Path = folder) -> str:
        done = run_cstp(*words, "--data-dir", data_dir, cwd=folder.parent)
        assert done.returncode == 0, f"cstp {words[0]}: {done.stderr[:3000]}"
        return done.stdout

    paths = [folder.parent / f"{folder.name}-{name}.jsonl" for name in ("whole", "imported", "restored")]
    imported, restored = (folder.with_name(f"{folder.name}-{name}") for name in ("imported", "restored"))
    backup = folder.with_name(f"{folder.name}.backup")
    cstp("export", paths[0], "--force")
    lines = paths[0].read_bytes()
    counts = json.loads(cstp("import", paths[0], "--json", data_dir=imported))
    assert counts["new"] == counts["read"] == lines.count(b"\n"), counts
    cstp("export", paths[1], "--force", data_dir=imported)
    assert_equal_lines(lines, paths[1].read_bytes())
    cstp("backup", backup)
    cstp("restore", backup, data_dir=restored)
    cstp("export", paths[2], "--force", data_dir=restored)
    assert_equal_lines(lines, paths[2].read_bytes())
    return lines, served(folder)


def assert_equal_lines(some: bytes, others: bytes) -> None:
    """Assert that two exports are equal, and name the first different lines."""
    for one, other in zip(some.split(b"\n"), others.split(b"\n"), strict=True):
        assert one == other, f"{one[:2000]!r}\n{other[:2000]!r}"


WRITING = [method.name.removeprefix("cstp.") for method in METHODS if method.writes]
