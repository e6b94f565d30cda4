"""What other memory stores write into files, read without being named."""

import json
from pathlib import Path
from typing import Any

from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import Records
from tests.ingest.runs import Run, json_lines, stored


def whole(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=2))
    return path


TYPED = {
    "name": "projects/harbour/databases/(default)/documents/users/ana/notes/n1",
    "fields": {
        "text": {"stringValue": "The bar is shallow."},
        "depth": {"integerValue": "4"},
        "seen": {"mapValue": {"fields": {"by": {"arrayValue": {"values": [{"booleanValue": True}]}}}}},
    },
    "createTime": "2025-01-02T03:04:05.123456Z",
    "updateTime": "2025-01-02T03:04:05.123456Z",
}


def test_hostile_values_cost_neither_the_run_nor_the_other_records(run: Run, tmp_path: Path) -> None:
    deep: dict[str, Any] = {"stringValue": "x"}
    for _ in range(200):
        deep = {"mapValue": {"fields": {"a": deep}}}
    name = TYPED["name"]
    documents = [
        {"name": f"{name}a", "fields": {"text": deep}},
        {"name": f"{name}b", "fields": {"text": {"stringValue": "a\0b"}}},
        {"name": f"{name}c", "fields": {"text": "bare"}},
        {"name": f"{name}d", "fields": {"text": {"integerValue": "9" * 5000}}},
        {"name": f"{name}e", "fields": {"text": {"newValue": 1}}},
        TYPED,
    ]
    summary = run(whole(tmp_path / "h.json", {"documents": documents}))
    assert (summary.new, len(summary.rejected)) == (1, 5)


ANA = {"name": "Ana_Reyes", "entityType": "Person", "observations": ["Pilots the Heron", "Speaks Dutch"]}
PILOTS = {"from": "Ana_Reyes", "to": "Heron", "relationType": "pilots"}


def test_an_entity_with_more_observations_replaces_it(run: Run, records: Records, tmp_path: Path) -> None:
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA}, {"type": "relation", **PILOTS}))
    longer = [*ANA["observations"], "Reads charts"]
    run(json_lines(tmp_path / "memory.json", {"type": "entity", **ANA, "observations": longer}, PILOTS))
    assert [one.content for one in stored(records, Kind.ARTIFACT)] == ["\n".join(longer)]
