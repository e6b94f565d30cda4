"""Identity of records over repositories, checkouts, projects and runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Viewer
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, Run, counts, document, ids, json_lines, stored

Checkout = Callable[..., Path]
ADR = (
    "---\nid: {id}\nstatus: accepted\n---\n# {title}\n\n## Context and Problem Statement\n\nWhy.\n\n"
    "## Decision Outcome\n\n{title}\n"
)
TALK = "Ana: Which berth is free?\n\nBo: Berth {word}.\n\nAna: Thank you.\n\nBo: Not at all.\n"


@pytest.fixture
def two(checkout: Checkout) -> tuple[Path, Path]:
    return checkout("one", "https://h.example/one"), checkout("two", "git@h.example:two.git")


def adr(repo: Path, title: str, id: str = "0001-x", name: str = "docs/adr/0001-x.md") -> Path:
    file = repo / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(ADR.format(id=id, title=title))
    return file


@pytest.mark.parametrize("content", ["equal", "differing"])
def test_equal_paths_and_ids_are_two_records(run: Run, records: Records, two: tuple[Path, Path], content: str) -> None:
    for repo in two:
        adr(repo, "Use queues" if content == "equal" else repo.name)
    for repo in two:
        assert counts(run(repo)) == (1, 0, 0, 0)
    assert counts(run(*two)) == (0, 0, 2, 0)
    assert all(id.startswith("0001-x~") for id in ids(records, Kind.DECISION))
    assert len(ids(records, Kind.DECISION)) == 2


def test_the_order_of_runs_changes_no_markdown_id(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    found = []
    for order in (two, tuple(reversed(two))):
        for repo in order:
            adr(repo, repo.name)
            (repo / "guide.md").write_text("---\nid: guide\n---\n" + document(2, repo.name))
            run(repo)
        found.append({(one.title, one.id) for kind in (Kind.DECISION, Kind.SOURCE) for one in stored(records, kind)})
        for kind in Kind:
            records.delete(kind, sorted(ids(records, kind)))
    assert found[0] == found[1]
    assert len(found[0]) == 4


@pytest.mark.parametrize("members", EACH, ids=[str(one["kind"]) for one in EACH])
def test_equal_given_ids_kept(run: Run, records: Records, two: tuple[Path, Path], members: dict[str, Any]) -> None:
    kind = Kind[str(members["kind"]).upper()]
    others = {"source_id": "s"} if kind is Kind.EXTRACTION else {}
    for repo in two:
        file = json_lines(repo / "a.jsonl", members | others | {"id": 7, "metadata": {"of": repo.name}})
        assert counts(run(file)) == (1, 0, 0, 0)
    assert counts(run(*two)) == counts(run(*reversed(two))) == (0, 0, 2, 0)
    assert sorted(one.metadata["of"] for one in stored(records, kind)) == ["one", "two"]
    first = {7 if kind is Kind.EPISODE else "7", "art_7", "evt_7"}
    assert len(first & {one.id for one in stored(records, kind)}) == 1


@pytest.mark.parametrize("given", ["", "---\nid: guide\n---\n"])
def test_documents_keep_their_own_chunks(run: Run, records: Records, two: tuple[Path, Path], given: str) -> None:
    for repo in two:
        (repo / "docs").mkdir()
        (repo / "docs/guide.md").write_text(given + document(3, repo.name))
        run(repo)
    sources = {one.id for one in stored(records, Kind.SOURCE)}
    chunks = stored(records, Kind.CHUNK)
    assert len(sources) == 2
    assert {one.source_id for one in chunks} == sources
    for source in sources:
        text = "".join(one.content for one in chunks if one.source_id == source)
        assert ("\none " in text) is not ("\ntwo " in text)


def test_chunks_belong_to_the_source_of_their_repository(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    for repo in two:
        source = {"kind": "source", "id": "book", "title": "t", "content": document(3)}
        run(json_lines(repo / "a.jsonl", source, {"kind": "artifact", "id": "m", "content": document(5)}))
    for kind, owner in ((Kind.CHUNK, "source_id"), (Kind.ARTIFACT_CHUNK, "artifact_id")):
        owners = [getattr(one, owner) for one in stored(records, kind)]
        assert len(set(owners)) == 2
        assert owners.count(owners[0]) * 2 == len(owners)
    assert counts(run(*two))[:2] == (0, 0)


def test_transcripts_with_the_same_path_are_two_conversations(
    run: Run, records: Records, two: tuple[Path, Path]
) -> None:
    for repo in two:
        (repo / "talk.txt").write_text(TALK.format(word=repo.name))
        assert run(repo).new == 4
    turns = stored(records, Kind.TURN)
    assert len({turn.conversation_id for turn in turns}) == 2
    for conversation in {turn.conversation_id for turn in turns}:
        assert records.conversations.turns(conversation, (), None, 10).total == 4


def test_another_checkout_changes_nothing(run: Run, checkout: Checkout) -> None:
    for name, remote in (("a", "https://h.example/shop"), ("b", "ssh://git@H.example:22/shop.git")):
        repo = checkout(name, remote)
        adr(repo, "Use queues")
        adr(repo, "Use UDP", "0002-y", "docs/adr/0002-y.md").write_text(ADR.format(id="", title="No id"))
        (repo / "guide.md").write_text(document(2))
        (repo / "talk.txt").write_text(TALK.format(word="four"))
        json_lines(repo / "all.jsonl", *EACH)
        summary = run(repo)
        assert summary.rejected == ()
        if name == "b":
            assert (summary.new, summary.changed) == (0, 0)


def test_an_edit_in_another_checkout_changes_the_record(run: Run, records: Records, checkout: Checkout) -> None:
    first, second = (checkout(name, "https://h.example/shop") for name in "ab")
    adr(first, "Use queues")
    run(first)
    adr(second, "Use streams")
    assert counts(run(second)) == (0, 1, 0, 0)
    assert [one.title for one in stored(records, Kind.DECISION)] == ["Use streams"]


def test_an_archive_counts_as_its_checkout(run: Run, checkout: Checkout, tmp_path: Path) -> None:
    repo = checkout("repo", "https://h.example/shop")
    adr(repo, "Use queues")
    run(repo)
    adr(tmp_path / "archive", "Use queues")
    assert counts(run(tmp_path / "archive", repository="h.example/shop")) == (0, 0, 1, 0)
    assert counts(run(tmp_path / "archive", repository="other")) == (1, 0, 0, 0)


def test_the_same_id_in_two_projects_is_two_records(run: Run, records: Records, tmp_path: Path) -> None:
    members = {"kind": "decision", "id": "d", "title": "t"}
    files = [json_lines(tmp_path / f"{name}.jsonl", members | {"project": name}) for name in "ab"]
    assert counts(run(*files)) == (2, 0, 0, 0)
    assert counts(run(*files)) == counts(run(*reversed(files))) == (0, 0, 2, 0)
    assert {one.project for one in stored(records, Kind.DECISION)} == {"a", "b"}


def test_a_second_file_takes_no_id_over(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    first = adr(two[0], "First")
    run(first)
    second = adr(two[0], "Second", name="docs/adr/0002-x.md")
    ((problem),) = run(second).rejected
    assert (problem.file, str(first) in problem.reason, "0001-x" in problem.reason) == (str(second), True, True)
    assert [one.title for one in stored(records, Kind.DECISION)] == ["First"]


@pytest.mark.parametrize("targets_first", [True, False])
def test_references_stay_at_home(run: Run, records: Records, two: tuple[Path, Path], targets_first: bool) -> None:
    for repo in two:
        targets = [
            {"kind": "source", "id": "book", "title": repo.name},
            {"kind": "cluster", "id": "c", "name": repo.name},
            {"kind": "chunk", "id": "k", "content": repo.name},
            {"kind": "artifact", "id": "m", "content": repo.name, "sensitivity": "sensitive", "ts": "2024-01-02"},
        ]
        referring = [
            {"kind": "chunk", "id": "x", "content": "t", "source_id": "book", "cluster_ids": ["c", "lost"]},
            EACH[4] | {"id": "e", "source_id": "book", "chunk_id": "k", "chunk_ids": ["k"]},
            EACH[7] | {"id": "p", "artifact_id": "m"},
            EACH[9] | {"id": "v", "artifact_id": "art_m"},
            EACH[11] | {"id": "g", "artifact_id": "m"},
        ]
        file = json_lines(repo / "a.jsonl", *(targets + referring if targets_first else referring + targets))
        run(file)
        assert run(file).changed == 0
    titles = {one.id: one.title for one in stored(records, Kind.SOURCE)}
    for kind in (Kind.CHUNK, Kind.EXTRACTION):
        assert {titles[one.source_id] for one in stored(records, kind) if one.source_id} == {"one", "two"}, kind
    names = {one.id: one.name for one in stored(records, Kind.CLUSTER)}
    found = [one.cluster_ids for one in stored(records, Kind.CHUNK) if one.cluster_ids]
    assert sorted((names[first], second) for first, second in found) == [("one", "lost"), ("two", "lost")]
    chunks = {one.id: one.content for one in stored(records, Kind.CHUNK)}
    extractions = stored(records, Kind.EXTRACTION)
    assert {chunks[one.chunk_id] for one in extractions} == {chunks[one.chunk_ids[0]] for one in extractions}
    assert {chunks[one.chunk_id] for one in extractions} == {"one", "two"}
    artifacts = {known.key: known.id for known in records.origins.read_below("/") if known.kind is Kind.ARTIFACT}
    for kind in (Kind.ARTIFACT_CHUNK, Kind.EVENT, Kind.EDGE):
        facets = [one.facets for one in records.reads.by_ids(kind, sorted(ids(records, kind))).values()]
        assert {facet.parent for facet in facets} == set(artifacts), kind
        assert {int(facet.sensitivity) for facet in facets} == {1}


def test_a_reference_leads_elsewhere_until_its_own_repository_has_the_target(
    run: Run, records: Records, two: tuple[Path, Path]
) -> None:
    one, other = two
    run(json_lines(one / "a.jsonl", {"kind": "source", "id": "book", "title": "one"}))
    run(json_lines(other / "a.jsonl", {"kind": "chunk", "id": "k", "content": "c", "source_id": "book"}))
    assert [chunk.source_id for chunk in stored(records, Kind.CHUNK)] == ["book"]
    run(json_lines(other / "b.jsonl", {"kind": "source", "id": "book", "title": "other"}))
    (chunk,) = stored(records, Kind.CHUNK)
    assert records.reads.by_ids(Kind.SOURCE, [chunk.source_id])[chunk.source_id].record.title == "other"  # type: ignore[union-attr]


def test_an_ambiguous_reference_is_reported_with_full_ids(run: Run, records: Records, checkout: Checkout) -> None:
    for name in ("one", "two"):
        repo = checkout(name, f"https://h.example/{name}")
        (repo / "guide.md").write_text("---\nid: guide\n---\n" + document(1))
        run(repo)
    third = checkout("three", "https://h.example/three")
    chunk = {"kind": "chunk", "id": "k", "content": "c", "source_id": "guide"}
    (warning,) = run(json_lines(third / "a.jsonl", chunk)).warnings
    assert all(id in warning.reason for id in ids(records, Kind.SOURCE))
    assert [one.source_id for one in stored(records, Kind.CHUNK) if one.id == "k"] == ["guide"]


def test_a_decision_supersedes_only_within_its_repository(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    for repo in two:
        adr(repo, f"Old {repo.name}")
        new = adr(repo, f"New {repo.name}", "0002-y", "docs/adr/0002-y.md")
        new.write_text(new.read_text().replace("status:", "supersedes: 0001-x\nstatus:"))
        run(repo)
    found = records.reads.by_ids(Kind.DECISION, sorted(ids(records, Kind.DECISION)))
    by_key = {one.key: one for one in found.values()}
    titles = {id: one.record.title for id, one in found.items()}  # type: ignore[union-attr]
    for key, links in records.decisions.links(list(found.values()), None).items():
        age, _, repository = titles[str(by_key[key].record.id)].partition(" ")
        assert [titles[id] for id in links.supersedes] == ([f"Old {repository}"] if age == "New" else [])
        assert [titles[id] for id in links.superseded_by] == ([f"New {repository}"] if age == "Old" else [])


def test_a_unique_given_id_finds_its_record(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    adr(two[0], "Use queues")
    run(two[0])
    (found,) = records.reads.find([(Kind.DECISION, "0001-x")], None)
    assert str(found.record.id).startswith("0001-x~")
    adr(two[1], "Use queues")
    run(two[1])
    assert records.reads.find([(Kind.DECISION, "0001-x")], None) == []
    meant = records.origins.find_meant([Kind.DECISION], "0001-x", None)
    assert {full for full, _ in meant} == ids(records, Kind.DECISION)
    for full, one in meant:
        assert records.origins.find_meant([Kind.DECISION], full, None) == [(full, one)]


def test_hidden_records_make_no_short_id_ambiguous(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    for repo in two:
        adr(repo, repo.name)
        (repo / "guide.md").write_text("---\nid: guide\n---\n" + document(2, repo.name))
        run(repo, project=repo.name)
    for repo in two:
        viewer = Viewer(projects=frozenset({repo.name}))
        (found,) = records.reads.find([(Kind.DECISION, "0001-x")], viewer)
        assert found.record.project == repo.name
        assert [one.record.project for _, one in records.origins.find_meant([Kind.DECISION], "0001-x", viewer)] == [
            repo.name
        ]
        (source,) = records.knowledge.source_ids("guide", viewer)
        assert source.startswith("guide~")
    assert records.reads.find([(Kind.DECISION, "0001-x")], None) == []
    assert len(records.knowledge.source_ids("guide", None)) == 2


def test_a_chunk_is_found_by_its_given_id(run: Run, records: Records, two: tuple[Path, Path]) -> None:
    chunk = {"kind": "chunk", "id": "k", "content": "c"}
    for repo in two:
        run(json_lines(repo / "a.jsonl", chunk | {"project": repo.name}))
    found = records.knowledge.chunk("k", Viewer(projects=frozenset({"two"})), None)
    assert found is not None
    assert (found.chunk.project, str(found.chunk.id).startswith("k~")) == ("two", True)
