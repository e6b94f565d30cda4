"""Dumps of other memory stores that change."""

from pathlib import Path

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, json_lines, stored

ANA = {"name": "Ana_Reyes", "entityType": "Person", "observations": ["Pilots the Heron", "Speaks Dutch"]}
PILOTS = {"from": "Ana_Reyes", "to": "Heron", "relationType": "pilots"}


def test_an_entity_with_more_observations_replaces_it(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA}, {"type": "relation", **PILOTS}))
    longer = [*ANA["observations"], "Reads charts"]
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA, "observations": longer}, PILOTS))
    assert [one.content for one in stored(records, Kind.ARTIFACT)] == ["\n".join(longer)]
