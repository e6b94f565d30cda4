"""Events, edges and artifact chunks that are read with a project for those that state none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.ingest.options import Summary
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import EACH, SENTENCE, counts, ids, json_lines, stored

Run = Callable[..., Summary]
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


def test_a_child_keeps_the_project_that_it_states(run: Run, records: Records, tmp_path: Path) -> None:
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
