"""Notes of basic-memory: documents whose relations are edges."""

from pathlib import Path

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, counts, stored

NOTE = """---
title: Tide tables
type: note
permalink: harbour/tide-tables
tags: [sea]
{rights}---

# Tide tables

## Observations
- [method] Read them for both ports #planning (from the almanac)
- [ ] Order the new ones

## Relations
- part_of [[Passage plan]]
- part of [[passage plan]]
- relates to [[Moon|the moon]] (it pulls)
- [[Bare]]
- about [[Tide tables]]

```
- in_code [[Nothing]]
```
"""


def note(folder: Path, rights: str = "") -> Path:
    path = folder / "tide-tables.md"
    path.write_text(NOTE.format(rights=rights))
    return path


def test_a_note_is_a_document_whose_relations_are_edges(run: Run, records: Records, tmp_path: Path) -> None:
    summary = run(note(tmp_path))
    assert (summary.kinds, summary.rejected) == ({"source": 1, "chunk": 1, "edge": 2, "entity": 1}, ())
    (entity,) = stored(records, Kind.ENTITY)
    assert (entity.name, entity.aliases) == ("Tide tables", ("harbour/tide-tables",))
    edges = sorted((edge.source_id, edge.type, edge.target_id, edge.evidence) for edge in stored(records, Kind.EDGE))
    assert edges == [
        ("Tide tables", "PART_OF", "Passage plan", None),
        ("Tide tables", "RELATES_TO", "Moon", "it pulls"),
    ]
    (chunk,) = stored(records, Kind.CHUNK)
    assert "[method] Read them for both ports" in chunk.content


def test_the_graph_of_a_note_has_the_rights_of_the_note(run: Run, records: Records, tmp_path: Path) -> None:
    run(note(tmp_path, "project: alpha\nsensitivity: highly_sensitive\n"))
    found = [*stored(records, Kind.ENTITY), *stored(records, Kind.EDGE), *stored(records, Kind.CHUNK)]
    assert {(one.project, one.sensitivity) for one in found} == {("alpha", Sensitivity.HIGHLY_SENSITIVE)}


def test_reading_a_note_twice_changes_nothing_and_a_relation_that_is_gone_is_pruned(run: Run, tmp_path: Path) -> None:
    path = note(tmp_path)
    assert run(path).new == 5
    assert counts(run(path, prune=True)) == (0, 0, 5, 0)
    path.write_text(path.read_text().replace("- relates to [[Moon|the moon]] (it pulls)\n", ""))
    assert run(path, prune=True).deleted >= 1


def test_markdown_without_a_permalink_stays_a_document_alone(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "plain.md"
    path.write_text(NOTE.format(rights="").replace("permalink: harbour/tide-tables\n", ""))
    assert run(path).kinds == {"source": 1, "chunk": 1}


def test_a_name_that_is_too_long_for_an_entity_refuses_its_edge_alone(run: Run, tmp_path: Path) -> None:
    path = note(tmp_path)
    path.write_text(path.read_text() + f"\n- next to [[{'x' * 250}]]\n")
    summary = run(path)
    assert [problem.line for problem in summary.rejected] == [25]
    assert summary.kinds == {"source": 1, "chunk": 1, "edge": 2, "entity": 1}
