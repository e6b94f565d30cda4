"""Notes of basic-memory: documents whose relations are edges."""

import shutil
from pathlib import Path

from tests.ingest.cases import CASES
from tests.ingest.runs import Run, counts

NOTE = CASES / "notes/relations-of-a-note-are-edges/in/tide-tables.md"


def test_a_second_run_changes_nothing_and_prunes_a_deleted_relation(run: Run, tmp_path: Path) -> None:
    path = Path(shutil.copyfile(NOTE, tmp_path / NOTE.name))
    assert run(path).new == 5
    assert counts(run(path, prune=True)) == (0, 0, 5, 0)
    path.write_text(path.read_text().replace("- relates to [[Moon|the moon]] (it pulls)\n", ""))
    assert run(path, prune=True).deleted >= 1
