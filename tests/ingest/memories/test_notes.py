"""Notes of basic-memory: documents whose relations are edges."""

from pathlib import Path

from tests.ingest.runs import Run, counts

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


def test_reading_a_note_twice_changes_nothing_and_a_relation_that_is_gone_is_pruned(run: Run, tmp_path: Path) -> None:
    path = note(tmp_path)
    assert run(path).new == 5
    assert counts(run(path, prune=True)) == (0, 0, 5, 0)
    path.write_text(path.read_text().replace("- relates to [[Moon|the moon]] (it pulls)\n", ""))
    assert run(path, prune=True).deleted >= 1
