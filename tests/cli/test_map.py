"""`cstp map`: proposes maps for `cstp ingest`."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.maps.map_files import SHIPPED, parsed_map
from tests.cli.conftest import Done

Cstp = Callable[..., Done]
REST = ", 0 changed, 0 unchanged, 0 deleted, 0 rejected"
NOTE = "The pilot waits for high water before he takes a ship over the bar."
ITEMS = [
    {"noteId": 3, "note": NOTE, "createdAt": 1735787045000, "owner": {"name": "x"}, "vec": list(range(16))},
    {"noteId": 4, "note": "Second.", "createdAt": 1735787045001, "tone": "dry"},
]
NOTES = {"version": 2, "data": {"items": ITEMS}}


def written(value: Any, name: str = "export.json") -> Path:
    path = Path(name)
    path.write_text(json.dumps(value))
    return path


def test_a_map_is_proposed_with_its_records_as_comments(cstp: Cstp) -> None:
    done = cstp("map", "--suggest", written(NOTES))
    assert done.code == 0
    proposed = parsed_map(done.out, "proposed")
    assert proposed.objects == "data.items"
    (entry,) = proposed.records
    assert (entry.kind, entry.drop) == ("artifact", ("vec",))
    paths = {"id": ("noteId",), "content": ("note",), "ts": ("createdAt",)}
    assert {name: rule.paths for name, rule in entry.fields.items()} == paths
    comments = [line for line in done.out.splitlines() if line.startswith("# ")]
    assert len(comments) == 2
    assert comments[0].startswith("# artifact: ")
    assert NOTE in comments[0]
    assert "2025-01-02T03:04:05Z" in comments[0]


def test_the_machine_answer_has_the_map_the_records_and_the_refusals(cstp: Cstp) -> None:
    items = [{"id": 1, "text": NOTE}, {"id": 2, "text": "Second.", "Sensitivity": "sensitive"}]
    done = cstp("map", "--suggest", written(items), "--json")
    assert done.code == 1
    answer = json.loads(done.out)
    assert parsed_map(answer["map"], "proposed").records
    assert [(record["kind"], record["id"], record["content"]) for record in answer["records"]] == [
        ("artifact", "1", NOTE)
    ]
    assert [problem["reason"] for problem in answer["rejected"]] == ["Sensitivity must be written sensitivity"]


def test_ten_records_are_shown(cstp: Cstp) -> None:
    done = cstp("map", "--suggest", written([{"id": n, "text": f"Note {n}."} for n in range(30)]), "--json")
    assert [record["id"] for record in json.loads(done.out)["records"]] == [str(n) for n in range(10)]


TURNS = [{"thread_id": "a", "role": role, "text": f"I am {role}."} for role in ("user", "assistant")]
PEOPLE = [{"key": "a", "name": "Ana Reyes", "email": "ana@harbour.example"}, {"key": "b", "name": "Bo Lind"}]
PAGE = [{"uuid": "a", "body": {"text": NOTE}, "meta": {"title": "Bar", "url": "https://a.example"}, "project": "p"}]
PAGE_FIELDS = {"id": "uuid", "content": "body.text", "title": "meta.title"}
PAGE_FIELDS |= {"source_url": "meta.url", "project": "project"}


@pytest.mark.parametrize(
    ("objects", "kind", "fields"),
    [
        (TURNS, "turn", {"content": "text", "conversation_id": "thread_id", "role": "role"}),
        (PEOPLE, "entity", {"id": "key", "name": "name", "email": "email"}),
        (PAGE, "artifact", PAGE_FIELDS),
        ([{"kind": "episode", "query": "q", "reward": 0}], "detected", {}),
    ],
)
def test_kind_follows_members(cstp: Cstp, objects: list[Any], kind: str, fields: dict[str, str]) -> None:
    answer = json.loads(cstp("map", "--suggest", written(objects), "--json").out)
    (entry,) = parsed_map(answer["map"], "proposed").records
    paths = {name: (path,) for name, path in fields.items()}
    assert (entry.kind, {name: rule.paths for name, rule in entry.fields.items()}) == (kind, paths)
    assert answer["rejected"] == []
    assert len(answer["records"]) == len(objects)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qdrant", {"result": {"points": [{"id": 1, "payload": {"text": NOTE}}, {"id": 2, "payload": {}}]}}),
        ("mem0", {"results": [{"id": "m", "memory": NOTE, "user_id": "ana"}]}),
        ("mcp_memory", {"type": "entity", "name": "Ana", "entityType": "Person", "observations": [NOTE]}),
        ("published_cstp", {"id": "0a1b2c3d", "summary": "Go", "decision": "Go", "status": "pending"}),
    ],
)
def test_for_a_known_system_its_shipped_map_is_proposed(cstp: Cstp, name: str, value: Any) -> None:
    done = cstp("map", "--suggest", written(value))
    assert done.out.startswith((SHIPPED / f"{name}.yaml").read_text())


def test_a_system_with_other_object_names_is_named_in_the_map(cstp: Cstp) -> None:
    points = [{"id": number, "payload": {"inhalt": f"{NOTE} {number}"}} for number in range(3)]
    answer = json.loads(cstp("map", "--suggest", written(points), "--json").out)
    proposed = parsed_map(answer["map"], "proposed")
    assert (proposed.system, proposed.records[0].fields["content"].paths) == ("qdrant", ("inhalt",))
    assert proposed.records[0].fields["id"].paths == ("point_id",)


def test_records_are_shown_by_an_existing_map(cstp: Cstp) -> None:
    Path("mine.yaml").write_text("records:\n- {kind: event, fields: {narrative: said, category: sort}}\n")
    done = cstp("map", "--suggest", written([{"said": "It left.", "sort": "Ship"}]), "--map", "mine.yaml")
    assert (done.code, done.out) == (0, "# event: category=Ship | It left.\n")


@pytest.mark.long("starts a process")
def test_ingest_reads_by_a_map_file_or_a_packaged_map(cstp: Cstp) -> None:
    path = written(NOTES)
    assert cstp("ingest", path).code == 1  # a file without a record
    Path("mine.yaml").write_text(cstp("map", "--suggest", path).out)
    done = cstp("ingest", path, "--map", "mine.yaml")
    assert (done.code, done.out.splitlines()[0]) == (0, f"2 read: 2 new{REST}, 0 warnings")
    assert json.loads(cstp("show", "art_3", "--json").out)["content"] == NOTE
    memory = written([{"id": "m", "memory": NOTE}], "mem0.json")
    assert "1 new" in cstp("ingest", memory, "--map", "mem0").out


def test_standard_input_is_read_by_a_map(cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.yaml").write_text("records:\n- {kind: artifact, fields: {content: said}}\n")
    content = io.BytesIO(b'{"said": "One."}\n{"said": "Two."}\n')
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(content))
    assert "2 new" in cstp("ingest", "-", "--map", "mine.yaml").out


def test_an_unreachable_system_is_named(cstp: Cstp) -> None:
    done = cstp("ingest", "qdrant:http://127.0.0.1:1/notes")
    assert (done.code, done.out) == (1, "")
    assert "qdrant:http://127.0.0.1:1/notes cannot be read" in done.err
