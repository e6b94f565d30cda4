"""A kind added to a copy of the packages by docs/decisions/0040: stored, found and moved."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "decisions" / "0040-a-kind-of-records-is-one-value.md"
NEW_FILE = re.compile(r"```python\n# (\S+)\n(.*?)```", re.DOTALL)
CHANGES = re.compile(r"```diff\n(.*?)```", re.DOTALL)
RECORDS = [
    {"kind": "artifact", "id": "art_minutes", "title": "Minutes", "content": "The team met about releases."},
    {"kind": "commitment", "by": "Ana", "content": "Ship the parser.", "due": "2026-12-01", "artifact_id": "minutes"},
    {"by": "Ben", "promise": "Write the release notes.", "due": "2026-12-02"},
    {"kind": "entity", "name": "Ana", "type": "person"},
    {"kind": "commitment", "by": "Ana", "content": "Hide this.", "sensitivity": "sensitive"},
]
# Use of the new kind by a program; prints its results.
PROGRAM = """
import asyncio
import json
import sys
from pathlib import Path
from cognition_engines.exchange.runs import export_lines, import_file
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.queries.recall.selection import content_of
from cognition_engines.queries.search import Search
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.query import QueryParser
from cognition_engines.search.query import Query, SearchScope
from cognition_engines.set_aside import SetAside
from cognition_engines.store.records import open_records
from cognition_engines.spaces import MEMORY
from cognition_engines.sync_engine import SyncEngine

class Silent:
    def start(self, step, records): pass
    def advance(self, records): pass

folder = Path(sys.argv[1])
store = f"sqlite:///{folder}/records.sqlite"
with SyncEngine.open(store, folder / "indexes", None) as engine:
    summary = engine.ingest([folder / "records.jsonl"])
    records = engine.engine.records
    def read(found):
        return records.reads.by_keys(found.keys(), EVERYTHING)
    async def find(text):
        opened, query = engine.engine, Query(text, EVERYTHING, Mode.KEYWORD, (SearchScope(MEMORY, ()),), 10)
        searching = Search(opened.indexes, None, opened.pools, QueryParser(RELEVANCE))
        hits, stored = await searching.find(opened.pools.caller(None), query, read)
        return next(content_of(stored[key]) for key in hits.keys() if stored[key].kind is Kind.COMMITMENT)
    held = records.reads.by_ids(Kind.COMMITMENT, records.ids(Kind.COMMITMENT)).values()
    lines = export_lines(records, (Kind.COMMITMENT,), Silent(), SetAside())
    (folder / "exported.jsonl").write_bytes(b"".join(line + b"\\n" for line in lines))
    other = open_records(f"sqlite:///{folder}/other.sqlite")
    moved = import_file(folder / "exported.jsonl", other, None, 1, Silent())
    equal = other.reads.by_ids(Kind.COMMITMENT, other.ids(Kind.COMMITMENT))
    seen = {
        "rejected": [problem.reason for problem in summary.rejected],
        "warnings": [problem.reason for problem in summary.warnings],
        "counts": {kind.label: count for kind, count in records.counts().items()},
        "ids": sorted(str(each.record.id)[:4] for each in held),
        "parents": sum(each.facets.parent is not None for each in held),
        "found": asyncio.run(find("parser")),
        "by_alias": asyncio.run(find("release notes")),
        "named": sorted(each.name for each in engine.recall("parser").entities),
        "moved": [moved.new, list(moved.rejected)],
        "equal": all(equal[str(each.record.id)].record == each.record for each in held),
    }
print(json.dumps(seen))
"""


def patched(text: str, hunks: list[list[str]]) -> str:
    """Return the text with each hunk's removed lines replaced by the added lines, after the context."""
    for hunk in hunks:
        before = "\n".join(line[1:] for line in hunk if line[0] in " -")
        after = "\n".join(line[1:] for line in hunk if line[0] in " +")
        assert text.count(before) == 1, f"the example changes what is not there once: {before!r}"
        text = text.replace(before, after)
    return text


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Copy the packages and add the new kind; the example's files are noted in `touched.json`."""
    copy = tmp_path / "copy"
    for folder in ("a2a", "skills", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "wire", "data"))
    text, touched = EXAMPLE.read_text(encoding="utf-8"), []
    for name, content in NEW_FILE.findall(text):
        (copy / name).write_text(content, encoding="utf-8")
        touched.append(name)
    (changes,) = CHANGES.findall(text)
    for part in re.split(r"^--- a/.*\n", changes, flags=re.MULTILINE)[1:]:
        heading, *rest = part.splitlines()
        name = heading.removeprefix("+++ b/")
        hunks = [block.splitlines() for block in "\n".join(rest).split("@@\n")[1:]]
        file = copy / name
        file.write_text(patched(file.read_text(encoding="utf-8"), hunks), encoding="utf-8")
        touched.append(name)
    (copy / "touched.json").write_text(json.dumps(touched))
    return copy


@pytest.mark.long("writes many records")
@pytest.mark.embedded_only("runs the engine in a process of its own")
def test_a_kind_added_by_spec_class_and_table_works(packages: Path, tmp_path: Path) -> None:
    lines = [json.dumps(record) for record in RECORDS]
    (tmp_path / "records.jsonl").write_text("\n".join(lines), encoding="utf-8")
    paths = [str(packages / "skills"), str(packages / "a2a"), str(packages)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    ended = subprocess.run(command, env=environment, cwd=packages, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert json.loads(ended.stdout.splitlines()[-1]) == {
        "rejected": [],
        "warnings": [],
        "counts": {"artifact": 1, "entity": 1, "commitment": 3},
        "ids": ["com_", "com_", "com_"],
        "parents": 1,
        "found": "Ship the parser.",
        "by_alias": "Write the release notes.",
        "named": ["Ana"],
        "moved": [3, []],
        "equal": True,
    }


def test_the_example_touches_the_spec_the_registry_and_the_protocol_alone(packages: Path) -> None:
    touched = json.loads((packages / "touched.json").read_text())
    assert [Path(name).name for name in touched] == ["commitments.py", "spec.py", "registry.py", "records.py"]
