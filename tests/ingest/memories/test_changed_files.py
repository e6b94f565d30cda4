"""Files of other memory stores in a second run after a change."""

import shutil
from pathlib import Path

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.cases import CASES
from tests.ingest.runs import Run, counts, json_lines, stored

ANA = {"name": "Ana_Reyes", "entityType": "Person", "observations": ["Pilots the Heron", "Speaks Dutch"]}
NOTE = CASES / "notes/relations-of-a-note-are-edges/in/tide-tables.md"
PILOTS = {"from": "Ana_Reyes", "to": "Heron", "relationType": "pilots"}


def test_an_entity_with_more_observations_replaces_it(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA}, {"type": "relation", **PILOTS}))
    longer = [*ANA["observations"], "Reads charts"]
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA, "observations": longer}, PILOTS))
    assert [one.content for one in stored(records, Kind.ARTIFACT)] == ["\n".join(longer)]


def test_a_second_run_changes_nothing_and_prunes_a_deleted_relation(run: Run, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(NOTE, tmp_path / NOTE.name))
    assert run(path).new == 5
    assert counts(run(path, prune=True)) == (0, 0, 5, 0)
    path.write_text(path.read_text().replace("- relates to [[Moon|the moon]] (it pulls)\n", ""))
    assert run(path, prune=True).deleted >= 1
