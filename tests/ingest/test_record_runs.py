"""Runs over records of all kinds: ids, what is unchanged, changed, gone or refused, documents, references, memory."""

import json
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import jsonschema
import pytest

from cognition_engines.chunks import author
from cognition_engines.errors import ComponentFailed
from cognition_engines.ingest.run import Options, Summary, ingest
from cognition_engines.ingest.schemas import record_schema
from cognition_engines.kinds.kind import KINDS, Kind
from cognition_engines.models import Sensitivity
from cognition_engines.records.store import Records
from tests.ingest.conftest import Silent

Run = Callable[..., Summary]
SENTENCE = "The pilot waits for high water before he takes a ship over the bar. "


def json_lines(path: Path, *members: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in members))
    return path


def counts(summary: Summary) -> tuple[int, int, int, int]:
    """New, changed, unchanged, deleted."""
    return summary.new, summary.changed, summary.unchanged, summary.deleted


def ids(records: Records, kind: Kind) -> set[str]:
    return {row.id for row in records.sources_under("/") if row.kind is kind}


def stored(records: Records, kind: Kind) -> list[Any]:
    """The records of a kind, by id."""
    return [found.record for _, found in sorted(records.by_ids(kind, sorted(ids(records, kind))).items())]


# one of each kind, without an id
EACH: list[dict[str, Any]] = [
    {"kind": "decision", "title": "t"},
    {"kind": "source", "title": "t"},
    {"kind": "chunk", "content": "c"},
    {"kind": "cluster", "name": "n"},
    {"kind": "extraction", "type": "warning", "content": {"title": "t", "description": "d"}},
    {"kind": "episode", "query": "q", "reward": 0},
    {"kind": "artifact", "content": "c"},
    {"kind": "artifact_chunk", "artifact_id": "a", "content": "c"},
    {"kind": "turn", "conversation_id": "v", "content": "c"},
    {"kind": "event", "category": "c", "narrative": "n"},
    {"kind": "entity", "name": "n"},
    {"kind": "edge", "source_id": "a", "target_id": "b", "type": "t"},
]


def test_records_of_every_kind_are_stored_once_with_vectors_where_they_say_something(
    run: Run, records: Records, tmp_path: Path, embedder: Any
) -> None:
    file = json_lines(tmp_path / "all.jsonl", *EACH)
    summary = run(file)
    # the extraction names no source, so the file is one
    assert counts(summary) == (len(EACH) + 1, 0, 0, 0)
    assert summary.kinds == {kind.label: 2 if kind is Kind.SOURCE else 1 for kind in Kind}
    assert records.models() == {"counting-4": 7}
    seq, embedded = records.last_seq(), len(embedder.texts)
    assert counts(run(file)) == (0, 0, len(EACH) + 1, 0)
    assert (records.last_seq(), len(embedder.texts)) == (seq, embedded)


def test_made_ids_have_their_prefix_and_do_not_depend_on_the_file_or_the_order(
    run: Run, records: Records, tmp_path: Path
) -> None:
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
def test_what_makes_a_record_distinct_makes_another_id(
    run: Run, records: Records, tmp_path: Path, members: dict[str, Any], more: dict[str, Any]
) -> None:
    other = members | {"source_id": "s"} if members["kind"] == "extraction" else members
    summary = run(json_lines(tmp_path / "a.jsonl", other | {"turn_index": 0} if members["kind"] == "turn" else other))
    assert summary.new == 1
    same = other | more | ({"turn_index": 0} if members["kind"] == "turn" else {})
    assert run(json_lines(tmp_path / "b.jsonl", same)).new == 1
    assert records.count() == 2


def test_extractions_of_the_same_content_and_another_type_are_two(run: Run, records: Records, tmp_path: Path) -> None:
    content = {"name": "n"}
    run(json_lines(tmp_path / "a.jsonl", *[
        {"kind": "extraction", "type": type, "content": content, "source_id": "s"} for type in ("checklist", "workflow")
    ]))  # fmt: skip
    assert records.count(Kind.EXTRACTION) == 2


def test_two_equal_turns_in_a_conversation_are_two_turns_in_their_order(
    run: Run, records: Records, tmp_path: Path
) -> None:
    turn = {"kind": "turn", "conversation_id": "v", "content": "Yes."}
    summary = run(json_lines(tmp_path / "a.jsonl", turn, turn | {"conversation_id": "w"}, turn))
    assert (summary.new, summary.rejected) == (3, ())
    found = stored(records, Kind.TURN)
    assert sorted(one.conversation_id for one in found) == ["v", "v", "w"]
    assert counts(run(tmp_path / "a.jsonl")) == (0, 0, 3, 0)


@pytest.mark.parametrize("turns", [[EACH[8] | {"turn_index": 1}, EACH[8]], [EACH[8], EACH[8] | {"turn_index": 0}]])
def test_equal_turns_of_which_one_states_its_index_and_one_has_that_place_are_two(
    run: Run, records: Records, tmp_path: Path, turns: list[dict[str, Any]]
) -> None:
    file = json_lines(tmp_path / "a.jsonl", *turns, EACH[8] | {"content": "d"})
    assert counts(run(file)) == (3, 0, 0, 0)
    assert sorted(one.content for one in stored(records, Kind.TURN)) == ["c", "c", "d"]
    assert counts(run(file)) == (0, 0, 3, 0)


def test_a_turn_alone_has_the_id_that_it_always_had(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "a.jsonl", EACH[8]), json_lines(tmp_path / "b.jsonl", EACH[8] | {"turn_index": 1}))
    assert ids(records, Kind.TURN) == {"art_b07c850690f2c722", "art_037818997dcf8eac"}


def test_equal_turns_in_the_same_place_of_two_files_are_kept_once_with_a_warning(
    run: Run, records: Records, tmp_path: Path
) -> None:
    first = json_lines(tmp_path / "a.jsonl", *(EACH[8] | {"content": word} for word in ("hello", "hi", "ok")))
    second = json_lines(tmp_path / "b.jsonl", *(EACH[8] | {"content": word} for word in ("hello", "what now", "ok")))
    told = f"2 turns say the same as those of {first}, which are kept as they are there"
    for paths, found in (([first, second], (4, 0, 2, 0)), ([first, second], (0, 0, 6, 0)), ([second], (0, 0, 3, 0))):
        summary = run(*paths)
        assert (counts(summary), [(one.file, one.reason) for one in summary.warnings]) == (found, [(str(second), told)])
    timed = [EACH[8] | {"content": "hello", "ts": "2024-05-01T10:00:00Z"}]
    summary = run(json_lines(tmp_path / "c.jsonl", *timed), json_lines(tmp_path / "d.jsonl", *timed))
    assert (counts(summary), summary.warnings) == ((1, 0, 1, 0), ())


def said(records: Records, conversation: str, limit: int = 50) -> list[str]:
    return [one.record.content for one in records.turns(conversation, (), None, limit).stored]


def test_turns_of_several_files_are_in_the_order_of_their_times(run: Run, records: Records, tmp_path: Path) -> None:
    for day in (2, 1):
        json_lines(tmp_path / f"day{day}.jsonl", *[
            {"kind": "turn", "conversation_id": "v", "content": f"{day}.{hour}", "ts": f"2024-05-0{day}T0{hour}:00:00Z"}
            for hour in (1, 2)
        ])  # fmt: skip
        run(tmp_path / f"day{day}.jsonl")
    assert said(records, "v") == ["1.1", "1.2", "2.1", "2.2"]
    assert said(records, "v", 2) == ["2.1", "2.2"]


def test_turns_without_index_and_time_are_in_the_order_of_their_file_as_it_is_now(
    run: Run, records: Records, tmp_path: Path
) -> None:
    turns = [{"kind": "turn", "conversation_id": "v", "content": word, "id": word} for word in ("a", "b", "c")]
    run(json_lines(tmp_path / "a.jsonl", *turns))
    assert said(records, "v") == ["a", "b", "c"]
    json_lines(tmp_path / "a.jsonl", turns[2], {"kind": "entity", "name": "n"}, turns[0], turns[1])
    assert run(tmp_path / "a.jsonl").changed == 3
    assert said(records, "v") == ["c", "a", "b"]


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
def test_every_id_that_is_stored_can_be_referred_to(
    run: Run, records: Records, tmp_path: Path, each: dict[str, Any], prefix: str
) -> None:
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


def test_the_made_id_of_an_artifact_chunk_can_be_referred_to_however_long_its_artifact_s_is(
    run: Run, records: Records, tmp_path: Path
) -> None:
    long, short = "a" * 196, "b" * 174
    run(json_lines(tmp_path / "a.jsonl", *(EACH[6] | {"id": id, "content": document(5)} for id in (long, short))))
    found = stored(records, Kind.ARTIFACT_CHUNK)
    assert {one.artifact_id for one in found} == {f"art_{long}", f"art_{short}"}
    assert max(len(one.id) for one in found) <= 200
    assert all(one.id.startswith(one.artifact_id) for one in found if one.artifact_id == f"art_{short}")


@pytest.mark.parametrize("apart", [False, True], ids=["in one run", "in two"])
def test_an_artifact_and_a_turn_of_one_id_are_refused(run: Run, records: Records, tmp_path: Path, apart: bool) -> None:
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


def test_a_record_with_a_made_id_that_two_files_hold_is_kept_once_with_a_warning_where_they_differ(
    run: Run, records: Records, tmp_path: Path
) -> None:
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


def test_prune_dry_run_and_strict_hold_for_all_kinds(run: Run, records: Records, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    file = json_lines(folder / "a.jsonl", *EACH)
    assert counts(run(folder, dry_run=True)) == (len(EACH) + 1, 0, 0, 0)
    assert records.count() == 0
    strict = json_lines(folder / "z.jsonl", {"kind": "entity"})
    assert counts(run(folder, strict=True)) == (0, 0, 0, 0)
    assert records.last_seq() == 0
    strict.unlink()
    run(folder, strict=True)
    json_lines(file, *EACH[:3])
    # the source that stood for the extraction's file is gone too
    gone = len(EACH) + 1 - 3
    assert counts(run(folder, prune=True, dry_run=True)) == (0, 0, 3, gone)
    assert counts(run(folder, prune=True)) == (0, 0, 3, gone)
    assert set(records.counts()) == {Kind.DECISION, Kind.SOURCE, Kind.CHUNK}


TALK = "Ana: Shall we use UDP?\nBen: It loses packets.\nAna: We can repeat them.\nBen: Fine.\n"


def test_turns_that_a_transcript_no_longer_has_are_told_of_until_they_are_pruned(
    run: Run, records: Records, tmp_path: Path
) -> None:
    file = tmp_path / "talk.txt"
    file.write_text(TALK)
    assert counts(run(file)) == (4, 0, 0, 0)
    file.write_text(TALK.replace("Fine.", "No."))
    summary = run(file)
    assert counts(summary) == (1, 0, 3, 0)
    (warning,) = summary.warnings
    assert (warning.file, "1 record is kept" in warning.reason, "--prune" in warning.reason) == (str(file), True, True)
    assert counts(run(file, dry_run=True, prune=True)) == (0, 0, 4, 1)
    summary = run(file, prune=True)
    assert (counts(summary), summary.warnings) == ((0, 0, 4, 1), ())
    (conversation,) = {turn.conversation_id for turn in stored(records, Kind.TURN)}
    assert said(records, conversation)[-2:] == ["We can repeat them.", "No."]
    file.write_text(f"{TALK}Ana: \0\n")
    assert (run(file, prune=True).deleted, records.count(Kind.TURN)) == (0, 5)


def test_what_came_through_a_pipe_is_not_pruned_by_what_comes_through_it_later(
    run: Run, records: Records, tmp_path: Path
) -> None:
    pipe = tmp_path / "talk.txt"
    os.mkfifo(pipe)
    for text in (TALK, TALK.replace("UDP", "TCP")):
        writer = Thread(target=pipe.write_text, args=(text,), daemon=True)
        writer.start()
        assert run(pipe, prune=True).deleted == 0
        writer.join(60)
    assert records.count(Kind.TURN) == 5


def test_transcripts_of_one_name_are_two_conversations(
    run: Run, records: Records, checkout: Callable[[str], Path]
) -> None:
    mine, yours = checkout("mine"), checkout("yours")
    for file in (place / folder / "talk.txt" for place in (mine, yours) for folder in ("monday", "tuesday")):
        file.parent.mkdir()
        file.write_text(TALK.replace("UDP", file.parent.name))
    assert run(mine).new == 8
    found = {turn.conversation_id for turn in stored(records, Kind.TURN)}
    assert [len(said(records, conversation)) for conversation in found] == [4, 4]
    assert all(re.fullmatch("talk-[0-9a-f]{16}", conversation) for conversation in found)
    # the path is that within the checkout
    assert counts(run(yours)) == (0, 0, 8, 0)
    assert run(yours, project="theirs").new == 8


@pytest.mark.parametrize("folder", [False, True], ids=["file", "folder"])
def test_an_edited_record_without_an_id_is_told_of_until_it_is_pruned(
    run: Run, records: Records, tmp_path: Path, folder: bool
) -> None:
    file = json_lines(tmp_path / "a.jsonl", {"kind": "entity", "name": "one"}, {"kind": "entity", "name": "two"})
    run(file)
    json_lines(file, {"kind": "entity", "name": "one"}, {"kind": "entity", "name": "three"})
    (warning,) = run(file).warnings
    assert (warning.file, "1 record is kept" in warning.reason, "--prune" in warning.reason) == (str(file), True, True)
    summary = run(tmp_path if folder else file, prune=True)
    assert (counts(summary), summary.warnings) == ((0, 0, 2, 1), ())
    assert sorted(one.name for one in stored(records, Kind.ENTITY)) == ["one", "three"]


def test_what_was_read_with_another_project_is_told_of(run: Run, records: Records, tmp_path: Path) -> None:
    file = json_lines(tmp_path / "a.jsonl", {"kind": "entity", "name": "one"})
    run(file)
    (warning,) = run(file, project="alpha").warnings
    assert "1 record is kept that was read here with no --project" in warning.reason
    assert run(file, project="alpha").warnings == ()


def test_references_that_point_nowhere_are_kept_with_one_warning_for_each_kind_of_them(
    run: Run, records: Records, tmp_path: Path
) -> None:
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


def test_what_is_less_sensitive_than_its_source_is_told_of(run: Run, records: Records, tmp_path: Path) -> None:
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


def document(paragraphs: int, word: str = "") -> str:
    return "\n\n".join(f"## Part {number}\n\n{word} {SENTENCE * 40}" for number in range(paragraphs))


def test_a_source_with_content_is_cut_and_chunks_it_no_longer_yields_go(
    run: Run, records: Records, tmp_path: Path
) -> None:
    book = {"kind": "source", "id": "s", "title": "t", "authors": ["Ana"], "tags": ["sea"], "sensitivity": "sensitive"}
    other = {"kind": "chunk", "id": "own", "source_id": "s", "content": "mine"}
    file = json_lines(tmp_path / "a.jsonl", book | {"content": document(6)}, other)
    summary = run(file)
    chunks = [one for one in stored(records, Kind.CHUNK) if one.id != "own"]
    assert summary.new == len(chunks) + 2 >= 5
    assert sorted(one.chunk_index for one in chunks) == list(range(len(chunks)))
    for chunk in chunks:
        assert chunk.content == document(6)[chunk.start_char : chunk.end_char]
        assert (chunk.total_chunks, chunk.title, chunk.author, chunk.tags) == (len(chunks), "t", "Ana", ("sea",))
        assert (chunk.place.section.partition(" ")[0], chunk.sensitivity) == ("Part", Sensitivity.SENSITIVE)
    assert counts(run(file)) == (0, 0, len(chunks) + 2, 0)
    json_lines(file, other, book | {"content": document(2)})
    assert run(file).rejected == ()
    left = [one for one in stored(records, Kind.CHUNK) if one.id != "own"]
    assert {one.total_chunks for one in left} == {len(left)}
    assert len(left) < len(chunks)
    assert ids(records, Kind.CHUNK) > {"own"}
    json_lines(file, book)
    assert counts(run(file)) == (0, 1, 0, 0)
    assert ids(records, Kind.CHUNK) == {"own"}


@pytest.mark.parametrize("place", ["checkout", "id of its own"])
def test_a_document_that_has_moved_and_changed_has_its_new_chunks_alone(
    run: Run, records: Records, checkout: Callable[[str], Path], place: str
) -> None:
    """Into another checkout of the same repository, or under another name with the id that its front matter gives."""
    front, names = ("", ("guide.md", "guide.md")) if place == "checkout" else ("---\nid: g\n---\n", ("a.md", "b.md"))
    old, new = (checkout(folder) / name for folder, name in zip(("one", "two"), names, strict=True))
    old.write_text(front + document(3))
    run(old.parent)
    old.unlink()
    new.write_text(front + document(3).replace("pilot", "helmsman"))
    assert run(new.parent).rejected == ()
    chunks = stored(records, Kind.CHUNK)
    assert sorted(one.chunk_index for one in chunks) == list(range(chunks[0].total_chunks))
    assert not any("pilot" in one.content for one in chunks)
    (source,) = ids(records, Kind.SOURCE)
    records.delete(Kind.SOURCE, [source], with_parts=True)
    assert records.count() == 0


def test_authors_that_are_too_long_for_a_chunk_are_left_to_its_source(
    run: Run, records: Records, tmp_path: Path
) -> None:
    authors = ["A" * 100, "B" * 98]
    book = {"kind": "source", "title": "t", "content": "Words."}
    run(json_lines(tmp_path / "a.jsonl", book | {"id": "s", "authors": authors}))
    run(json_lines(tmp_path / "b.jsonl", book | {"id": "t", "authors": [*authors, "C"]}))
    found = {one.source_id: one for one in stored(records, Kind.CHUNK)}
    assert (found["s"].author, found["t"].author) == (", ".join(authors), None)
    chunk = records.chunk(found["t"].id, None, None)
    assert chunk is not None
    assert author(chunk.chunk, chunk.source) == ", ".join([*authors, "C"])


def test_a_long_artifact_is_cut_and_stays_whole(run: Run, records: Records, tmp_path: Path, embedder: Any) -> None:
    artifact = {"kind": "artifact", "id": "a", "content": document(5), "title": "t"}
    file = json_lines(tmp_path / "a.jsonl", artifact)
    run(file)
    (found,) = stored(records, Kind.ARTIFACT)
    assert (found.content, found.chunked) == (document(5), True)
    parts = stored(records, Kind.ARTIFACT_CHUNK)
    assert [one.chunk_index for one in parts] == list(range(len(parts)))
    assert all(one.artifact_id == "art_a" and one.id.startswith("art_a::chunk::") for one in parts)
    assert not any(document(5) in text for text in embedder.texts)
    json_lines(file, artifact | {"content": "short"})
    assert counts(run(file)) == (0, 1, 0, 0)
    assert records.counts() == {Kind.ARTIFACT: 1}
    assert stored(records, Kind.ARTIFACT)[0].chunked is False


def test_documents_that_change_places_in_their_file_are_unchanged(run: Run, records: Records, tmp_path: Path) -> None:
    books = [{"kind": "source", "title": f"t{n}", "content": document(3, f"word{n}")} for n in range(3)]
    file = json_lines(tmp_path / "a.jsonl", *books)
    total = run(file).new
    seq = records.last_seq()
    json_lines(file, *reversed(books))
    assert counts(run(file)) == (0, 0, total, 0)
    json_lines(file, {"kind": "source", "title": "first", "content": "x"}, *books)
    assert counts(run(file)) == (2, 0, total, 0)
    assert records.last_seq() == seq + 2


def test_another_text_under_the_title_of_a_document_is_refused(run: Run, records: Records, tmp_path: Path) -> None:
    first = json_lines(tmp_path / "a.jsonl", {"kind": "source", "title": "t", "content": "one"})
    second = json_lines(tmp_path / "b.jsonl", {"kind": "source", "title": "t", "content": "two"})
    for paths in ([first, second], [second]):
        (problem,) = run(*paths).rejected
        assert (problem.file, "give one of them another id" in problem.reason) == (str(second), True)
    assert [one.content for one in stored(records, Kind.CHUNK)] == ["one"]


def test_a_document_whose_text_cannot_be_embedded_is_not_stored_by_halves(
    run: Run, records: Records, tmp_path: Path, embedder: Any
) -> None:
    text = document(12) + "\n\n## Last\n\nunspeakable"
    file = json_lines(tmp_path / "a.jsonl", EACH[10], {"kind": "source", "title": "t", "content": text})
    embedder.fails_at = "unspeakable"
    with pytest.raises(ComponentFailed):
        run(file)
    assert records.count(Kind.CHUNK) == records.count(Kind.SOURCE) == 0
    embedder.fails_at = None
    assert run(file).rejected == ()
    assert records.count(Kind.SOURCE) == 1


def test_a_file_of_many_kinds_is_committed_in_batches_and_the_next_run_finishes(
    run: Run, records: Records, tmp_path: Path, embedder: Any
) -> None:
    many = [one | {"id": 100 * number + place} for number in range(10) for place, one in enumerate(EACH)]
    file = json_lines(tmp_path / "a.jsonl", *many)
    embedder.fails_at = "unspeakable"
    json_lines(file, *many[:100], {"kind": "chunk", "id": "bad", "content": "unspeakable"}, *many[100:])
    with pytest.raises(ComponentFailed):
        run(file)
    committed = records.count()
    assert 60 < committed < 101
    embedder.fails_at = None
    summary = run(file)
    # the file's source, for the extractions
    assert (summary.new + summary.unchanged, summary.rejected) == (len(many) + 2, ())
    assert summary.unchanged >= committed


def test_a_line_that_is_broken_is_refused_alone_in_a_long_file(run: Run, records: Records, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    lines = [json.dumps({"kind": "entity", "name": f"n{number}"}).encode() for number in range(300)]
    lines[150], lines[200], lines[250] = b'{"kind": "entity", ', b'{"kind": "entity", "name": "caf\xe9"}', b"\n"
    file.write_bytes(b"\n".join(lines))
    summary = run(file)
    assert [one.line for one in summary.rejected] == [151, 201]
    assert "UTF-8" in summary.rejected[1].reason
    assert records.count() == 297


def mixed(path: Path, first: int, count: int) -> Path:
    """Records of all kinds but decisions, some 20,000 characters each."""
    with path.open("w") as file:
        for number in range(first, first + count):
            members = EACH[1 + number % (len(EACH) - 1)]
            file.write(json.dumps(members | {"id": number + 1, "metadata": {"more": f"{number} " * 4_000}}) + "\n")
    return path


def test_many_records_of_mixed_kinds_load_with_flat_memory(tmp_path: Path, records: Records) -> None:
    peaks: list[int] = []
    for first, count in ((0, 100), (1_000, 600)):
        file = mixed(tmp_path / f"{count}.jsonl", first, count)
        tracemalloc.start()
        summary = ingest([file], Options(), records, None, Silent())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (summary.new, summary.rejected) == (count + 1, ())
    # an id and its place are kept for each record, the records are not
    assert peaks[1] - peaks[0] < 500 * 2_000


def test_a_strict_run_with_a_refusal_counts_no_copies(run: Run, records: Records, tmp_path: Path) -> None:
    same = {"kind": "artifact", "content": "c"}
    json_lines(tmp_path / "r.jsonl", same, same, same, {"kind": "artifact"})
    summary = run(tmp_path / "r.jsonl", strict=True)
    assert (summary.read, counts(summary), summary.kinds, records.count()) == (4, (0, 0, 0, 0), {}, 0)
