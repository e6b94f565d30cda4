"""The texts that an import embeds."""

from pathlib import Path
from typing import Any

from cognition_engines.exchange.runs import export_lines, import_file
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, json_lines
from tests.stored import Quiet


def test_an_import_keeps_unchanged_vectors(run: Run, records: Records, embedder: Any, tmp_path: Path) -> None:
    given = ({"kind": "chunk", "id": id, "content": f"About {id}."} for id in ("chk_a", "chk_b"))
    json_lines(tmp_path / "docs/a.jsonl", *given)
    run(tmp_path / "docs")
    before = records.reads.vectors_of([row.key for row in records.origins.read_below(str(tmp_path))], embedder.model)
    lines = b"".join(export_lines(records, list(Kind), Quiet()))
    file = tmp_path / "lines"
    file.write_bytes(lines.replace(b"a.jsonl", b"b.jsonl").replace(b"About chk_b.", b"More about chk_b."))
    embedder.texts.clear()
    assert import_file(file, records, embedder, 1, Quiet()).changed == 2
    assert len(embedder.texts) == 1
    assert "More about chk_b." in embedder.texts[0]
    after = records.reads.vectors_of(list(before), embedder.model)
    assert sum(bool((before[key] == after[key]).all()) for key in before) == 1
