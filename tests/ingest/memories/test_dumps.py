"""What other memory stores write into files, read without being named."""

import json
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.options import Summary
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, counts, json_lines, stored

OID = "65a1b2c3d4e5f60718293a4b"
UUID = "6f1c1d52-6a0e-4c5e-9a53-0a8f3c1d2e3"


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


def reasons(summary: Summary) -> list[str]:
    return [problem.reason for problem in summary.rejected]


# one document of each system: the file, and what is in the store afterwards
POINTS = [
    {"id": 7, "payload": {"page_content": "Tides come twice a day.", "metadata": {"title": "Tides", "page": 3}}},
    {"id": f"{UUID}0", "payload": {"data": "Ana likes tea", "user_id": "ana", "hash": "h"}, "vector": [0.1, 0.9]},
]
DOCUMENT = {
    "_id": {"$oid": OID},
    "type": "warning",
    "content": {"title": "Wind against tide", "description": "Waves grow steep."},
    "source_id": {"$oid": "65a1b2c3d4e5f60718293a4a"},
    "extracted_at": {"$date": "2025-01-02T03:04:05.678Z"},
}
TYPED = {
    "name": "projects/harbour/databases/(default)/documents/users/ana/notes/n1",
    "fields": {
        "text": {"stringValue": "The bar is shallow."},
        "depth": {"integerValue": "4"},
        "seen": {"mapValue": {"fields": {"by": {"arrayValue": {"values": [{"booleanValue": True}]}}}}},
    },
    "createTime": "2025-01-02T03:04:05.123456Z",
    "updateTime": "2025-01-02T03:04:05.123456Z",
}
MEMORY = {
    "id": f"{UUID}1",
    "memory": "Prefers the morning tide",
    "hash": "h",
    "metadata": {"category": "preferences"},
    "created_at": "2025-01-02T03:04:05-07:00",
    "updated_at": None,
    "user_id": "ana",
}
NODES = [
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ana Reyes", "born": "1980-01-01"}},
    {"type": "node", "id": "1", "labels": ["Ship"], "properties": {"name": "Heron"}},
]
RELATIONSHIP = {
    "id": "5",
    "type": "relationship",
    "label": "PILOTS",
    "properties": {"since": 2019},
    "start": {"id": "0", "labels": ["Person"]},
    "end": {"id": "1", "labels": ["Ship"]},
}


def test_an_answer_of_qdrant_is_read_by_the_texts_of_its_payloads(run: Run, records: Records, tmp_path: Path) -> None:
    answer = {"result": {"points": POINTS, "next_page_offset": None}, "status": "ok", "time": 0.001}
    summary = run(whole(tmp_path / "points.json", answer))
    assert (summary.kinds, summary.rejected) == ({"chunk": 1, "artifact": 1}, ())
    (chunk,), (artifact,) = stored(records, Kind.CHUNK), stored(records, Kind.ARTIFACT)
    assert (chunk.id, chunk.content, chunk.title) == ("7", "Tides come twice a day.", "Tides")
    assert chunk.metadata == {"page": 3}
    assert (artifact.content, artifact.context, artifact.participants) == ("Ana likes tea", "fact", ("ana",))
    assert "members of artifacts that are not read: vector" in [warning.reason for warning in summary.warnings]


def test_a_page_that_others_follow_is_said_to_be_one(run: Run, tmp_path: Path) -> None:
    summary = run(whole(tmp_path / "p.json", {"result": {"points": POINTS, "next_page_offset": 9}}))
    assert "this is one page of an answer: what comes after it is not in the file" in [
        warning.reason for warning in summary.warnings
    ]


def test_documents_of_mongoexport_are_records_by_their_members(run: Run, records: Records, tmp_path: Path) -> None:
    note = {"_id": {"$oid": OID[:-1] + "c"}, "text": "High water at nine.", "depth": {"$numberLong": "4"}}
    summary = run(json_lines(tmp_path / "extractions.json", DOCUMENT, note))
    assert (summary.kinds, summary.rejected) == ({"extraction": 1, "artifact": 1}, ())
    (warning,), (artifact,) = stored(records, Kind.EXTRACTION), stored(records, Kind.ARTIFACT)
    assert (warning.id, warning.content.title, warning.source_id) == (OID, "Wind against tide", OID[:-1] + "a")
    assert warning.extracted_at.isoformat() == "2025-01-02T03:04:05.678000+00:00"
    assert (artifact.content, artifact.metadata) == ("High water at nine.", {"depth": 4})


@pytest.mark.parametrize("form", ["lines", "array", "single"])
def test_the_forms_of_mongoexport_are_read_alike(run: Run, records: Records, tmp_path: Path, form: str) -> None:
    path = tmp_path / "e.json"
    content = {"lines": json.dumps(DOCUMENT) + "\n\n", "array": json.dumps([DOCUMENT]), "single": json.dumps(DOCUMENT)}
    path.write_text(content[form])
    assert run(path).new == 1
    assert stored(records, Kind.EXTRACTION)[0].id == OID


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ({"$numberInt": "7"}, 7),
        ({"$numberDouble": "1.5"}, 1.5),
        ({"$numberDecimal": "1.10"}, "1.10"),
        ({"$date": {"$numberLong": "1735787045000"}}, "2025-01-02T03:04:05Z"),
        ({"$date": -1000}, "1969-12-31T23:59:59Z"),
        ({"$uuid": f"{UUID}f"}, f"{UUID}f"),
        ({"$binary": {"base64": "bxwdUmoOTF6aUwqPPB0uPw==", "subType": "04"}}, f"{UUID}f"),
        ({"$timestamp": {"t": 1735787045, "i": 1}}, "2025-01-02T03:04:05Z"),
        ({"$regularExpression": {"pattern": "a+", "options": "i"}}, "a+"),
        ([{"$numberLong": "1"}, {"inner": {"$oid": OID}}], [1, {"inner": OID}]),
    ],
)
def test_extended_json_becomes_plain(run: Run, records: Records, tmp_path: Path, value: Any, plain: Any) -> None:
    assert run(json_lines(tmp_path / "v.json", {"_id": {"$oid": OID}, "text": "t", "value": value})).rejected == ()
    assert stored(records, Kind.ARTIFACT)[0].metadata == {"value": plain}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"$binary": {"base64": "AA==", "subType": "00"}}, "value: binary data is not read: a map can drop it"),
        ({"$numberLong": "many"}, "value: $numberLong does not hold what Extended JSON has there"),
        ({"$date": {"$numberLong": "99999999999999999"}}, "value: $date does not hold what Extended JSON has there"),
    ],
)
def test_unread_values_refuse_their_document_alone(run: Run, tmp_path: Path, value: Any, reason: str) -> None:
    path = json_lines(tmp_path / "v.json", {"_id": {"$oid": OID}, "text": "t", "value": value}, DOCUMENT)
    summary = run(path)
    assert [(problem.file, problem.line) for problem in summary.rejected] == [(str(path), 1)]
    assert (reasons(summary)[0].replace("'", ""), summary.new) == (reason, 1)


def test_documents_of_firestore_have_their_plain_fields(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(whole(tmp_path / "notes.json", {"documents": [TYPED]}))
    assert (summary.kinds, summary.rejected) == ({"artifact": 1}, ())
    (note,) = stored(records, Kind.ARTIFACT)
    assert (note.id, note.content, note.ts.year) == ("art_n1", "The bar is shallow.", 2025)
    assert note.metadata == {"depth": 4, "seen": {"by": [True]}, "update_time": "2025-01-02T03:04:05.123456Z"}


def test_answers_to_queries_of_firestore_are_read(run: Run, records: Records, tmp_path: Path) -> None:
    answer = [{"document": TYPED, "readTime": "2025-01-02T03:04:05Z"}]
    assert run(whole(tmp_path / "query.json", answer)).new == 1
    assert stored(records, Kind.ARTIFACT)[0].id == "art_n1"


def test_a_chunk_in_firestore_is_a_chunk(run: Run, records: Records, tmp_path: Path) -> None:
    fields = {
        "chunk_id": {"stringValue": "c1"},
        "content": {"stringValue": "Neap tides."},
        "embedding": {"mapValue": {"fields": {"__type__": {"stringValue": "__vector__"}, "value": {"arrayValue": {}}}}},
    }
    name = "projects/kx/databases/(default)/documents/kb_items/c1"
    assert run(whole(tmp_path / "c.json", {"documents": [{"name": name, "fields": fields}]})).kinds == {"chunk": 1}
    assert stored(records, Kind.CHUNK)[0].id == "c1"


def test_memories_of_mem0_are_facts_and_preferences(run: Run, records: Records, tmp_path: Path) -> None:
    fact = {"id": f"{UUID}2", "memory": "Lives by the harbour", "user_id": "ana"}
    relations = [{"source": "ana", "relationship": "prefers", "target": "morning tide"}]
    summary = run(whole(tmp_path / "mem0.json", {"results": [MEMORY, fact], "relations": relations}))
    assert (summary.kinds, summary.rejected) == ({"artifact": 2, "edge": 1}, ())
    found = {artifact.content: artifact for artifact in stored(records, Kind.ARTIFACT)}
    assert found["Prefers the morning tide"].context == "preference"
    assert found["Lives by the harbour"].context == "fact"
    assert found["Prefers the morning tide"].ts.isoformat() == "2025-01-02T10:04:05+00:00"
    assert {artifact.source_system for artifact in found.values()} == {"mem0"}
    assert [(edge.source_id, edge.type, edge.target_id) for edge in stored(records, Kind.EDGE)] == [
        ("ana", "PREFERS", "morning tide")
    ]


@pytest.mark.parametrize("form", ["lines", "array", "object", "by ids"])
def test_a_graph_of_neo4j_is_entities_and_edges(run: Run, records: Records, tmp_path: Path, form: str) -> None:
    path = tmp_path / "graph.json"
    match form:
        case "lines":
            json_lines(path, *NODES, RELATIONSHIP)
        case "array":
            whole(path, [*NODES, RELATIONSHIP])
        case "object":
            whole(path, {"nodes": NODES, "rels": [RELATIONSHIP]})
        case "by ids":
            whole(path, {"nodes": {one["id"]: one for one in NODES}, "rels": {"5": RELATIONSHIP}})
    summary = run(path)
    assert (summary.kinds, summary.rejected) == ({"entity": 2, "edge": 1}, ())
    assert [(one.name, one.type) for one in stored(records, Kind.ENTITY)] == [
        ("Ana Reyes", "person"),
        ("Heron", "other"),
    ]
    (edge,) = stored(records, Kind.EDGE)
    assert (edge.source_id, edge.type, edge.target_id, edge.metadata) == ("0", "PILOTS", "1", {"since": 2019})


def graphiti(group: str = "harbour") -> list[dict[str, Any]]:
    """An episode, two entities, a fact about them and who is mentioned, as apoc.export.json writes them."""
    made = {"group_id": group, "created_at": "2025-01-02T03:04:05Z"}
    episode = {
        **{"uuid": f"{UUID}a", "name": "talk", "content": "Ana now pilots the Heron.", "source": "message"},
        **{"source_description": "radio", "valid_at": "2025-01-02T03:04:05.000000000Z[UTC]", "entity_edges": ["e"]},
    }
    ana = {"uuid": f"{UUID}b", "name": "Ana Reyes", "summary": "A pilot.", "name_embedding": [0.1, 0.2]}
    heron = {"uuid": f"{UUID}c", "name": "Heron", "summary": "A ship."}
    fact = {
        "uuid": f"{UUID}d",
        "name": "PILOTS",
        "fact": "Ana Reyes pilots the Heron",
        "valid_at": "2025-01-01T00:00:00Z",
    }
    return [
        {"type": "node", "id": "0", "labels": ["Episodic"], "properties": {**episode, **made}},
        {"type": "node", "id": "1", "labels": ["Entity", "Person"], "properties": {**ana, **made}},
        {"type": "node", "id": "2", "labels": ["Entity"], "properties": {**heron, **made}},
        {
            **{"id": "9", "type": "relationship", "label": "RELATES_TO", "properties": {**fact, **made}},
            **{"start": {"id": "1", "labels": ["Entity"]}, "end": {"id": "2", "labels": ["Entity"]}},
        },
        {
            **{"id": "10", "type": "relationship", "label": "MENTIONS", "properties": {"uuid": f"{UUID}e", **made}},
            **{"start": {"id": "0"}, "end": {"id": "1"}},
        },
    ]


def test_a_graph_of_graphiti_keeps_its_facts_as_edges_and_as_events(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(json_lines(tmp_path / "g.json", *graphiti()))
    assert (summary.kinds, summary.rejected) == ({"artifact": 1, "edge": 1, "entity": 2, "event": 1}, ())
    assert [warning.reason for warning in summary.warnings] == ["1 object of which the map graphiti makes no record"]
    (artifact,), (event,), (edge,) = (stored(records, kind) for kind in (Kind.ARTIFACT, Kind.EVENT, Kind.EDGE))
    assert (artifact.content, artifact.context, artifact.title) == ("Ana now pilots the Heron.", "chat", "talk")
    assert (event.narrative, event.category) == ("Ana Reyes pilots the Heron", "PILOTS")
    assert (event.event_time.isoformat(), event.actors[0].ref, event.subject.ref) == (
        *("2025-01-01T00:00:00+00:00", "Ana Reyes"),
        "Heron",
    )
    assert (edge.source_id, edge.target_id, edge.evidence) == (f"{UUID}b", f"{UUID}c", "Ana Reyes pilots the Heron")
    assert {one.name: one.type for one in stored(records, Kind.ENTITY)} == {"Ana Reyes": "person", "Heron": "other"}
    assert {one.project for kind in (Kind.ARTIFACT, Kind.ENTITY) for one in stored(records, kind)} == {"harbour"}


def test_the_models_of_graphiti_as_json_are_read_alike(run: Run, records: Records, tmp_path: Path) -> None:
    of_models = [one["properties"] | {"labels": one["labels"]} for one in graphiti()[:3]]
    of_models[0]["valid_at"] = "2025-01-02T03:04:05Z"
    fact = graphiti()[3]["properties"] | {"source_node_uuid": f"{UUID}b", "target_node_uuid": f"{UUID}c"}
    summary = run(whole(tmp_path / "g.json", {"episodes": of_models[:1], "nodes": of_models[1:], "edges": [fact]}))
    assert (summary.kinds, summary.rejected) == ({"artifact": 1, "edge": 1, "entity": 2, "event": 1}, ())
    assert stored(records, Kind.EDGE)[0].source_id == f"{UUID}b"


FILES: dict[str, list[dict[str, Any]]] = {
    "qdrant": POINTS,
    "mongodb": [DOCUMENT],
    "firestore": [TYPED],
    "mem0": [MEMORY],
    "neo4j": [*NODES, RELATIONSHIP],
    "graphiti": graphiti(),
}


@pytest.mark.parametrize("system", FILES)
def test_reading_a_dump_twice_changes_nothing(run: Run, tmp_path: Path, system: str) -> None:
    path = json_lines(tmp_path / f"{system}.jsonl", *FILES[system])
    first = run(path)
    assert (first.new > 0, first.rejected) == (True, ())
    assert counts(run(path, prune=True)) == (0, 0, first.new, 0)


@pytest.mark.parametrize(
    ("given", "project", "sensitivity"),
    [
        ({"project": "alpha", "sensitivity": "highly_sensitive"}, "alpha", Sensitivity.HIGHLY_SENSITIVE),
        ({"metadata": {"project": "alpha", "sensitivity": "sensitive"}}, "alpha", Sensitivity.SENSITIVE),
    ],
)
@pytest.mark.parametrize("text", ["page_content", "data"])
def test_rights_in_a_payload_are_those_of_the_record(
    run: Run, records: Records, tmp_path: Path, given: dict[str, Any], project: str, sensitivity: Sensitivity, text: str
) -> None:
    assert run(whole(tmp_path / "p.json", [{"id": 1, "payload": {text: "Text.", **given}}])).rejected == ()
    (record,) = [*stored(records, Kind.CHUNK), *stored(records, Kind.ARTIFACT)]
    assert (record.project, record.sensitivity) == (project, sensitivity)
    assert not {"project", "sensitivity", "metadata"} & record.metadata.keys()


def test_rights_that_nothing_heeds_refuse_the_record(run: Run, records: Records, tmp_path: Path) -> None:
    payloads = [
        {"text": "a", "Sensitivity": "sensitive"},
        {"text": "b", "sensitivity": "secret"},
        {"data": "c", "PROJECT": "x"},
    ]
    points = [{"id": number, "payload": payload} for number, payload in enumerate(payloads)]
    assert reasons(run(whole(tmp_path / "p.json", points))) == [
        "Sensitivity must be written sensitivity",
        "sensitivity must be one of normal, sensitive, highly_sensitive",
        "PROJECT must be written project",
    ]
    assert records.counts() == {}


def test_one_that_no_entry_fits_is_refused_by_name_and_the_others_are_read(run: Run, tmp_path: Path) -> None:
    points = [{"id": "empty", "payload": {"n": 1}}, *POINTS]
    summary = run(whole(tmp_path / "p.json", {"result": {"points": points}}))
    assert reasons(summary) == ["'empty': no entry of the map qdrant fits this object: see `cstp map --suggest`"]
    assert summary.new == 2


def test_an_id_that_comes_twice_is_refused(run: Run, tmp_path: Path) -> None:
    summary = run(json_lines(tmp_path / "p.jsonl", POINTS[0], POINTS[0]))
    assert [(problem.line, problem.reason) for problem in summary.rejected] == [
        (2, "id is the id of an earlier record of this file")
    ]


def test_a_broken_line_is_refused_alone(run: Run, tmp_path: Path) -> None:
    path = json_lines(tmp_path / "e.json", DOCUMENT)
    with path.open("a") as file:
        file.write('{"_id": {"$oid": \n')
        file.write(json.dumps({"_id": {"$oid": OID[:-1] + "d"}, "text": "t"}) + "\n")
    summary = run(path)
    assert [(problem.line, problem.reason) for problem in summary.rejected] == [(2, "not valid JSON at column 1")]
    assert summary.new == 2


ORDINARY: list[Any] = [
    {"kind": "artifact", "content": "c", "metadata": {"payload": {"$oid": OID}, "memory": "m"}},
    [{"kind": "chunk", "content": "c", "metadata": {"fields": {"stringValue": "x"}}}],
    {"records": [{"kind": "entity", "name": "n", "metadata": {"labels": ["a"]}}]},
]


@pytest.mark.parametrize("value", ORDINARY)
def test_files_of_records_stay_what_they_are(run: Run, tmp_path: Path, value: Any) -> None:
    assert counts(run(whole(tmp_path / "r.json", value))) == (1, 0, 0, 0)


OF_NOTHING: list[Any] = [
    {"results": [{"id": 1, "name": "x", "labels": ["bug"]}]},
    {"nodes": [{"id": "a", "labels": ["x"]}], "edges": []},
    [{"id": 1, "payload": {"ref": "main"}, "type": "PushEvent"}],
    {"name": "projects/a/databases/b", "fields": {}},
    {"memory": "512Mi", "id": "pod"},
]


@pytest.mark.parametrize("value", OF_NOTHING)
def test_other_json_is_taken_for_no_dump(run: Run, tmp_path: Path, value: Any) -> None:
    whole(tmp_path / "x.json", value)
    assert counts(run(tmp_path)) == (0, 0, 0, 0)


def test_hostile_values_cost_neither_the_run_nor_the_other_records(run: Run, tmp_path: Path) -> None:
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(200):
        deep = {"mapValue": {"fields": {"a": deep}}}
    name = TYPED["name"]
    documents = [
        {"name": f"{name}a", "fields": {"text": deep}},
        {"name": f"{name}b", "fields": {"text": {"stringValue": "a\0b"}}},
        {"name": f"{name}c", "fields": {"text": "bare"}},
        {"name": f"{name}d", "fields": {"text": {"integerValue": "9" * 5000}}},
        {"name": f"{name}e", "fields": {"text": {"newValue": 1}}},
        TYPED,
    ]
    summary = run(whole(tmp_path / "h.json", {"documents": documents}))
    assert (summary.new, len(summary.rejected)) == (1, 5)


def test_a_decision_of_the_published_server_is_read_with_its_review(run: Run, records: Records, tmp_path: Path) -> None:
    path = tmp_path / "2025-01-02-decision-0a1b2c3d.yaml"
    path.write_text(
        "id: 0a1b2c3d\nsummary: Keep SQLite\ndecision: Keep SQLite\ncategory: architecture\nconfidence: 0.8\n"
        "stakes: high\nstatus: reviewed\ndate: '2025-01-02T03:04:05+00:00'\noutcome: success\n"
        "actual_result: Nothing was lost.\nlessons: Measure first.\nrecorded_by: builder\n"
    )
    assert run(path).rejected == ()
    (decision,) = stored(records, Kind.DECISION)
    assert (decision.title, decision.outcome, decision.status) == ("Keep SQLite", "success", "reviewed")
    assert "## lessons\n\nMeasure first." in decision.text


def test_a_document_with_a_title_and_the_status_of_a_decision_is_one(run: Run, tmp_path: Path) -> None:
    decided = {"title": "Berth at high water", "date": {"$date": "2025-01-02T00:00:00Z"}}
    documents = [
        {"_id": {"$oid": OID}, **decided, "status": "accepted"},
        {"_id": {"$oid": OID[:-1] + "c"}, **decided, "status": "shipped"},
    ]
    summary = run(json_lines(tmp_path / "export.json", *documents))
    (refused,) = summary.rejected
    assert "no entry of the map mongodb fits" in refused.reason
    assert summary.kinds == {"decision": 1}


ANA = {"name": "Ana_Reyes", "entityType": "Person", "observations": ["Pilots the Heron", "Speaks Dutch"]}
GRAPH = [ANA, {"name": "Heron", "entityType": "Ship", "observations": []}]
PILOTS = {"from": "Ana_Reyes", "to": "Heron", "relationType": "pilots"}


@pytest.mark.parametrize("form", ["memory.json", "memory.jsonl", "read_graph.json"])
def test_mcp_memory_is_entities_facts_and_edges(run: Run, records: Records, tmp_path: Path, form: str) -> None:
    lines = [*({"type": "entity", **one} for one in GRAPH), {"type": "relation", **PILOTS}]
    answer = {"entities": GRAPH, "relations": [PILOTS]}
    path = tmp_path / form
    summary = run(whole(path, answer) if form == "read_graph.json" else json_lines(path, *lines))
    assert (summary.kinds, summary.rejected, summary.warnings) == ({"artifact": 1, "edge": 1, "entity": 2}, (), ())
    (fact,), (edge,) = stored(records, Kind.ARTIFACT), stored(records, Kind.EDGE)
    assert (fact.content, fact.title, list(fact.participants)) == (
        *("Pilots the Heron\nSpeaks Dutch", "Ana_Reyes"),
        ["Ana_Reyes"],
    )
    assert (edge.source_id, edge.target_id, edge.type) == ("Ana_Reyes", "Heron", "PILOTS")
    assert {(one.name, one.type, tuple(one.aliases)) for one in stored(records, Kind.ENTITY)} == {
        *{("Ana_Reyes", "person", ("Ana Reyes",)), ("Heron", "other", ())}
    }


def test_what_is_wrong_in_the_memory_of_the_mcp_server_is_refused_alone(run: Run, tmp_path: Path) -> None:
    lines = [{"type": "entity", **ANA}, {"from": "a", "relationType": "knows"}]
    lines.append({"type": "entity", **ANA, "name": "Bo", "observations": [{"text": "x"}]})
    texts = [json.dumps(line) for line in lines]
    path = tmp_path / "memory.json"
    path.write_text("\n".join([texts[0], json.dumps(PILOTS) * 2, *texts[1:]]))
    summary = run(path)
    assert summary.kinds == {"artifact": 1, "entity": 2}
    assert [problem.line for problem in summary.rejected] == [2, 3, 4]
    assert ["target_id" in reasons(summary)[1], "content" in reasons(summary)[2]] == [True, True]


def test_an_entity_with_more_observations_replaces_it(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA}, {"type": "relation", **PILOTS}))
    longer = [*ANA["observations"], "Reads charts"]
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA, "observations": longer}, PILOTS))
    assert [one.content for one in stored(records, Kind.ARTIFACT)] == ["\n".join(longer)]
