"""Runs over records of all kinds: ids, changes, deletions, refusals, references, memory."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.options import Options
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.structured.json_schema import record_schema
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.conftest import Silent
from tests.ingest.runs import EACH, SENTENCE, Run, counts, document, ids, json_lines, stored
from tests.stored import models


def test_records_of_every_kind_are_stored_once(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    file = json_lines(tmp_path / "all.jsonl", *EACH)
    summary = run(file)
    # the extraction names no source, so the file is one
    assert counts(summary) == (len(EACH) + 1, 0, 0, 0)
    assert summary.kinds == {kind.label: 2 if kind is Kind.SOURCE else 1 for kind in Kind}
    assert models(records) == {"counting-4": 8}
    seq, embedded = records.last_seq(), len(embedder.texts)
    assert counts(run(file)) == (0, 0, len(EACH) + 1, 0)
    assert (records.last_seq(), len(embedder.texts)) == (seq, embedded)


def test_made_ids_depend_on_neither_file_nor_order(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "a.jsonl", *EACH))
    prefixes = {"source": "src_", "chunk": "chk_", "cluster": "clu_", "extraction": "ext_", "artifact": "art_"}
    prefixes |= {
        "turn": "art_",
        "artifact_chunk": "art_a::chunk::000::",
        "event": "evt_",
        "entity": "ent_",
        "edge": "edg_",
    }
    for label, prefix in prefixes.items():
        assert all(id.startswith(prefix) for id in ids(records, Kind[label.upper()])), label
    before = {kind: ids(records, kind) for kind in set(Kind) - {Kind.DECISION, Kind.SOURCE, Kind.EXTRACTION}}
    (tmp_path / "a.jsonl").unlink()
    run(json_lines(tmp_path / "b.jsonl", *reversed(EACH)))
    assert {kind: ids(records, kind) for kind in before} == before


@pytest.mark.parametrize(
    ("members", "more"),
    [
        (EACH[2], {"chunk_index": 1, "total_chunks": 2}),
        (EACH[2], {"source_id": "s"}),
        (EACH[4], {"chunk_id": "k"}),
        (EACH[5], {"reward": 0.5}),
        (EACH[5], {"created_at": "2024-01-01"}),
        (EACH[6], {"ts": "2024-01-01"}),
        (EACH[8], {"speaker": "Ana"}),
        (EACH[8], {"session": "two"}),
        (EACH[9], {"actors": ["Ana"]}),
        (EACH[9], {"event_time": "2024-01-01"}),
        (EACH[10], {"type": "person"}),
        (EACH[11], {"artifact_id": "a"}),
        (EACH[2], {"project": "alpha"}),
    ],
)
def test_a_distinguishing_field_changes_the_id(
    run: Run, records: Records, tmp_path: Path, members: dict[str, Any], more: dict[str, Any]
) -> None:
    other = members | {"source_id": "s"} if members["kind"] == "extraction" else members
    summary = run(json_lines(tmp_path / "a.jsonl", other | {"turn_index": 0} if members["kind"] == "turn" else other))
    assert summary.new == 1
    same = other | more | ({"turn_index": 0} if members["kind"] == "turn" else {})
    assert run(json_lines(tmp_path / "b.jsonl", same)).new == 1
    assert sum(records.counts().values()) == 2


def test_extractions_of_the_same_content_and_another_type_are_two(run: Run, records: Records, tmp_path: Path) -> None:
    content = {"name": "n"}
    run(json_lines(tmp_path / "a.jsonl", *[
        {"kind": "extraction", "type": type, "content": content, "source_id": "s"} for type in ("checklist", "workflow")
    ]))  # fmt: skip
    assert records.counts().get(Kind.EXTRACTION, 0) == 2


def test_equal_episodes_are_told_apart_and_their_ids_are_numbers(run: Run, records: Records, tmp_path: Path) -> None:
    episode = {"kind": "episode", "query": "q", "reward": -1}
    assert run(json_lines(tmp_path / "a.jsonl", episode, episode)).new == 2
    assert all(0 < one.id < 2**53 and one.created_at is None for one in stored(records, Kind.EPISODE))
    assert counts(run(tmp_path / "a.jsonl")) == (0, 0, 2, 0)


def test_given_ids_are_kept_and_may_be_those_of_other_kinds(run: Run, records: Records, tmp_path: Path) -> None:
    each = [one | {"id": 17} for one in EACH if one["kind"] not in {"artifact_chunk", "turn"}]
    assert run(json_lines(tmp_path / "a.jsonl", *each)).rejected == ()
    for kind in (Kind.DECISION, Kind.CHUNK, Kind.EPISODE, Kind.ENTITY):
        assert ids(records, kind) == {"17"}
    assert ids(records, Kind.ARTIFACT) == {"art_17"}
    assert ids(records, Kind.EVENT) == {"evt_17"}


@pytest.mark.parametrize(("each", "prefix"), [(EACH[6], "art_"), (EACH[8], "art_"), (EACH[9], "evt_")])
def test_long_ids_are_referable(run: Run, records: Records, tmp_path: Path, each: dict[str, Any], prefix: str) -> None:
    taken = [each | {"id": "x" * 196}, each | {"id": prefix + "y" * 196}]
    refused = [each | {"id": "x" * 197}, each | {"id": prefix + "y" * 197}]
    summary = run(json_lines(tmp_path / "a.jsonl", *taken, *refused))
    assert [one.reason for one in summary.rejected] == [
        f"id must have at most 196 characters, or begin with {prefix}",
        "id must have at most 200 characters",
    ]
    validator = jsonschema.Draft202012Validator(record_schema(KINDS[each["kind"]]))
    assert [validator.is_valid(one) for one in taken + refused] == [True, True, False, False]
    naming = [EACH[9] | {"artifact_id": id} for id in ids(records, KINDS[each["kind"]])]
    assert run(json_lines(tmp_path / "b.jsonl", *naming)).rejected == ()


def test_chunks_of_long_artifact_ids_can_be_referred_to(run: Run, records: Records, tmp_path: Path) -> None:
    long, short = "a" * 196, "b" * 174
    run(json_lines(tmp_path / "a.jsonl", *(EACH[6] | {"id": id, "content": document(5)} for id in (long, short))))
    found = stored(records, Kind.ARTIFACT_CHUNK)
    assert {one.artifact_id for one in found} == {f"art_{long}", f"art_{short}"}
    assert max(len(one.id) for one in found) <= 200
    assert all(one.id.startswith(one.artifact_id) for one in found if one.artifact_id == f"art_{short}")


@pytest.mark.parametrize("apart", [False, True], ids=["in one run", "in two"])
def test_an_artifact_and_a_turn_with_the_same_id_are_refused(
    run: Run, records: Records, tmp_path: Path, apart: bool
) -> None:
    first = json_lines(tmp_path / "a.jsonl", EACH[6] | {"id": "x"})
    second = json_lines(tmp_path / "b.jsonl", EACH[8] | {"id": "art_x"})
    if apart:
        run(first)
        summary = run(second)
    else:
        summary = run(first, second)
    (problem,) = summary.rejected
    assert problem.file == str(second)
    assert problem.reason.startswith("id art_x")
    assert str(first) in problem.reason
    assert records.counts() == {Kind.ARTIFACT: 1}


def test_equal_made_ids_are_kept_once_with_a_warning(run: Run, records: Records, tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a.jsonl", EACH[10] | {"role": "Planner"})
    second = json_lines(tmp_path / "b.jsonl", EACH[10])
    for paths in ([first, second], [second]):
        summary = run(*paths)
        assert (summary.rejected, [one.file for one in summary.warnings]) == ((), [str(second)])
        assert "1 entity says the same" in summary.warnings[0].reason
        assert stored(records, Kind.ENTITY)[0].role == "Planner"
    first.unlink()
    assert counts(run(second)) == (0, 1, 0, 0)
    assert stored(records, Kind.ENTITY)[0].role is None


def test_the_options_give_project_and_sensitivity_to_all_kinds(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "a.jsonl", *EACH), project="alpha", sensitivity=Sensitivity.SENSITIVE)
    for kind in Kind:
        assert {(one.project, one.sensitivity) for one in stored(records, kind)} == {("alpha", Sensitivity.SENSITIVE)}


def test_prune_and_dry_run_hold_for_all_kinds(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    folder = tmp_path / "docs"
    file = json_lines(folder / "a.jsonl", *EACH)
    assert counts(run(folder, dry_run=True)) == (len(EACH) + 1, 0, 0, 0)
    assert (sum(records.counts().values()), embedder.texts) == (0, [])
    run(folder, strict=True)
    json_lines(file, *EACH[:3])
    # the source of the extraction's file is gone too
    gone = len(EACH) + 1 - 3
    assert counts(run(folder, prune=True, dry_run=True)) == (0, 0, 3, gone)
    assert counts(run(folder, prune=True)) == (0, 0, 3, gone)
    assert set(records.counts()) == {Kind.DECISION, Kind.SOURCE, Kind.CHUNK}


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_edited_records_are_reported_until_pruned(run: Run, records: Records, tmp_path: Path, folder: bool) -> None:
    file = json_lines(tmp_path / "a.jsonl", {"kind": "entity", "name": "one"}, {"kind": "entity", "name": "two"})
    run(file)
    json_lines(file, {"kind": "entity", "name": "one"}, {"kind": "entity", "name": "three"})
    (warning,) = run(file).warnings
    assert (warning.file, "1 record is kept" in warning.reason, "--prune" in warning.reason) == (str(file), True, True)
    summary = run(tmp_path if folder else file, prune=True)
    assert (counts(summary), summary.warnings) == ((0, 0, 2, 1), ())
    assert sorted(one.name for one in stored(records, Kind.ENTITY)) == ["one", "three"]


def test_a_warning_counts_records_of_another_project(run: Run, tmp_path: Path) -> None:
    file = json_lines(tmp_path / "a.jsonl", {"kind": "entity", "name": "one"})
    run(file)
    (warning,) = run(file, project="alpha").warnings
    assert "1 record is kept that was read here with no --project" in warning.reason
    assert run(file, project="alpha").warnings == ()


def test_dangling_references_are_warned_of_once_a_kind(run: Run, records: Records, tmp_path: Path) -> None:
    chunk = {"kind": "chunk", "source_id": "lost", "cluster_ids": ["c"]}
    file = json_lines(
        tmp_path / "a.jsonl",
        chunk | {"content": "a"},
        chunk | {"content": "b"},
        {"kind": "cluster", "id": "c", "name": "n"},
        EACH[9] | {"artifact_id": "minutes"},
        EACH[11],
        {"kind": "entity", "id": "b", "name": "B"},
    )
    summary = run(file)
    assert [one.reason for one in summary.warnings] == [
        "2 chunks name a source that is not here, for example lost",
        "1 event names an artifact or turn that is not here, for example art_minutes",
        "1 edge names an entity that is not here, for example a",
    ]
    assert [one.source_id for one in stored(records, Kind.CHUNK)] == ["lost", "lost"]
    json_lines(tmp_path / "b.jsonl", {"kind": "source", "id": "lost", "title": "t"})
    assert len(run(file, tmp_path / "b.jsonl").warnings) == 2
    assert run(file, dry_run=True).warnings == ()


def test_a_warning_counts_records_less_sensitive_than_their_source(run: Run, tmp_path: Path) -> None:
    book = {"kind": "source", "id": "s", "title": "t", "sensitivity": "sensitive", "content": "Cut into a chunk."}
    drawn = EACH[4] | {"source_id": "s"}
    file = json_lines(tmp_path / "a.jsonl", book, EACH[2] | {"source_id": "s"}, drawn, drawn | {"chunk_id": "k"})
    warnings = [one.reason for one in run(file).warnings]
    assert warnings[-2:] == [
        "1 chunk is less sensitive than the source named there, for example s",
        "2 extractions are less sensitive than the source named there, for example s",
    ]
    other = json_lines(tmp_path / "b.jsonl", EACH[2] | {"content": "d", "source_id": "s", "sensitivity": "sensitive"})
    assert run(other).warnings == ()


def test_a_failed_file_of_many_kinds_is_resumed(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    many = [one | {"id": 100 * number + place} for number in range(10) for place, one in enumerate(EACH)]
    file = json_lines(tmp_path / "a.jsonl", *many)
    embedder.fails_at = "unspeakable"
    json_lines(file, *many[:100], {"kind": "chunk", "id": "bad", "content": "unspeakable"}, *many[100:])
    with pytest.raises(ComponentFailed):
        run(file)
    committed = sum(records.counts().values())
    assert 60 < committed < 101
    embedder.fails_at = None
    summary = run(file)
    # the file's source, for the extractions
    assert (summary.new + summary.unchanged, summary.rejected) == (len(many) + 2, ())
    assert summary.unchanged >= committed


def test_a_broken_line_of_a_long_file_is_refused_alone(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = [json.dumps({"kind": "entity", "name": f"n{number}"}).encode() for number in range(300)]
    lines[150], lines[200], lines[250] = b'{"kind": "entity", ', b'{"kind": "entity", "name": "caf\xe9"}', b"\n"
    file.write_bytes(b"\n".join(lines))
    summary = run(file)
    assert [one.line for one in summary.rejected] == [151, 201]
    assert "UTF-8" in summary.rejected[1].reason
    assert sum(records.counts().values()) == 297


def mixed(path: Path, first: int, count: int) -> Path:
    """Write records of all kinds but decisions, some 20,000 characters each."""
    with path.open("w") as file:
        for number in range(first, first + count):
            members = EACH[1 + number % (len(EACH) - 1)]
            file.write(json.dumps(members | {"id": number + 1, "metadata": {"more": f"{number} " * 4_000}}) + "\n")
    return path


@pytest.mark.long("reads many or large files")
def test_many_records_of_mixed_kinds_load_with_flat_memory(tmp_path: Path, records: Records) -> None:
    peaks: list[int] = []
    # the first run fills caches; the others hold a batch of records of the same length at a time
    for first, count in ((1_000, 90), (2_000, 100), (3_000, 600)):
        file = mixed(tmp_path / f"{count}.jsonl", first, count)
        tracemalloc.start()
        summary = ingest([file], Options(), records, None, Silent())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (summary.new, summary.rejected) == (count + 1, ())
    # an id, an identity and a place are kept for each record; the records, of over 20,000 bytes each, are not
    assert peaks[2] - peaks[1] < 500 * 1_000


def test_a_strict_run_with_a_refusal_counts_no_copies(run: Run, records: Records, tmp_path: Path) -> None:
    same = {"kind": "artifact", "content": "c"}
    json_lines(tmp_path / "r.jsonl", same, same, same, {"kind": "artifact"})
    summary = run(tmp_path / "r.jsonl", strict=True)
    assert (summary.read, counts(summary), summary.kinds, sum(records.counts().values())) == (4, (0, 0, 0, 0), {}, 0)


OF_AN_ARTIFACT = (Kind.ARTIFACT_CHUNK, Kind.EVENT, Kind.EDGE)
CHILDREN = [one | {"artifact_id": "m"} for one in (EACH[7], EACH[9], EACH[11])]


@pytest.mark.parametrize("parent", [EACH[6], EACH[6] | {"content": SENTENCE * 200}, EACH[8]])
@pytest.mark.parametrize("first", [True, False], ids=["artifact first", "artifact last"])
def test_children_inherit(run: Run, records: Records, tmp_path: Path, parent: dict[str, Any], first: bool) -> None:
    stating = [parent | {"id": "m", "project": "alpha"}]
    file = json_lines(tmp_path / "a.jsonl", *(stating + CHILDREN if first else CHILDREN + stating))
    summary = run(file, project="beta")
    assert summary.rejected == ()
    found = records.reads.find([(kind, id) for kind in OF_AN_ARTIFACT for id in ids(records, kind)], None)
    assert len(found) == summary.new - 1 >= len(CHILDREN)
    assert {one.facets.project for one in found} == {"alpha"}
    assert None not in {one.facets.parent for one in found}
    assert counts(run(file, project="beta")) == (0, 0, summary.new, 0)


def test_a_child_keeps_a_stated_project(run: Run, records: Records, tmp_path: Path) -> None:
    artifact = EACH[6] | {"id": "m", "project": "alpha"}
    run(json_lines(tmp_path / "a.jsonl", artifact, *(one | {"project": "gamma"} for one in CHILDREN)), project="beta")
    for kind in OF_AN_ARTIFACT:
        assert [one.project for one in stored(records, kind)] == ["gamma"]


def test_children_without_a_stated_project_take_the_option(run: Run, records: Records, tmp_path: Path) -> None:
    elsewhere = json_lines(tmp_path / "a.jsonl", EACH[6] | {"id": "m", "project": "alpha"})
    run(elsewhere, json_lines(tmp_path / "b.jsonl", *CHILDREN), project="beta")
    other = [one | {"artifact_id": "n"} for one in CHILDREN]
    run(json_lines(tmp_path / "c.jsonl", *other, EACH[6] | {"id": "n"}), project="beta")
    for kind in OF_AN_ARTIFACT:
        assert [one.project for one in stored(records, kind)] == ["beta", "beta"]


def test_an_edit_of_metadata_is_a_change(tmp_path: Path, run: Run, records: Records) -> None:
    decision = {"id": "a", "title": "A", "metadata": {"ticket": 1}, "agent": "b"}
    run(json_lines(tmp_path / "decisions.jsonl", decision))
    (found,) = stored(records, Kind.DECISION)
    assert found.metadata == {"ticket": 1, "agent": "b"}
    assert run(json_lines(tmp_path / "decisions.jsonl", decision | {"metadata": {"ticket": 2}})).changed == 1
