"""Round trips of every kind, pipes and full disks; `transcripts/exchange.txt` has the rest."""

import asyncio
import json
import os
import re
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from cognition_engines.drafts.ids import with_place
from cognition_engines.engine import Engine
from cognition_engines.errors import ComponentFailed
from cognition_engines.exchange.runs import import_file
from cognition_engines.kinds.spec import KINDS, WRITTEN, Origin
from cognition_engines.models import EVERYTHING
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cognition_engines.writing.requests import WriteCaller
from cognition_engines.writing.stated_decisions import stated_decision
from cstp_server.generate.reference import ROOT
from tests.cli.conftest import limit_files, write_repository
from tests.stores import Stores
from tests.writing.written import new

Cstp = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("wordless")
TARGET = ("--data-dir", "other")
D = {"kind": "decision", "id": "d"}


@pytest.fixture
def target(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return `target("other")`: commands from here on use stores of that folder."""

    def use(folder: str) -> None:
        for name, value in stores.environment(Path(folder).absolute()).items():
            monkeypatch.setenv(name, value)

    return use


def fill(cstp: Cstp) -> None:
    """Store records of every kind: the documentation's, and a decision record in Markdown."""
    page = (ROOT / "docs" / "record-files.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL))
    Path("all.jsonl").write_text(lines)
    Path("adr").mkdir()
    Path("adr/0001-a.md").write_text("# Über all\n\nDate: 2024-02-03\n\n## Status\n\nAccepted on the 3rd\n")
    Path("d.jsonl").write_text(
        '{"id": "d-1", "title": "One", "confidence": 0.1, "reasons": ["pattern", {"type": "x", "text": ""}],'
        ' "tags": ["t"], "supersedes": ["d-0"], "project": "alpha", "sensitivity": "sensitive", "status": "Done?",'
        ' "metadata": {"ticket": [12, null], "who": "Zoë"}}\n'
        '{"title": "two"}\n'
    )
    assert cstp("ingest", "all.jsonl", "adr", "d.jsonl", "--project", "beta").code == 0


@pytest.mark.long("fills a disk, or moves records of every kind")
def test_every_kind_comes_back_and_exports_are_equal(cstp: Cstp, target: Callable[..., None], stores: Stores) -> None:
    fill(cstp)
    assert cstp("export", "a.jsonl").code == 0
    lines = [json.loads(line) for line in Path("a.jsonl").read_text().splitlines()]
    assert {one["kind"] for one in lines} == set(KINDS)
    target("other")
    done = cstp("import", "a.jsonl", "--json", *TARGET)
    assert done.code == 0
    assert (json.loads(done.out)["read"], json.loads(done.out)["new"]) == (len(lines), len(lines))
    assert cstp("export", "b.jsonl", *TARGET).code == 0
    assert Path("b.jsonl").read_bytes() == Path("a.jsonl").read_bytes()
    records, others = (open_records(stores.records(Path(folder).absolute())) for folder in ("data", "other"))
    for kind in KINDS.values():
        ids = records.ids(kind)
        before, after = records.reads.by_ids(kind, ids), others.reads.by_ids(kind, ids)
        for id in ids:
            one, other = before[id], after[id]
            assert (one.record, one.facets.project, one.facets.sensitivity, one.updated_at) == (
                other.record,
                other.facets.project,
                other.facets.sensitivity,
                other.updated_at,
            )
    records.close()
    others.close()
    again = json.loads(cstp("import", "a.jsonl", "--json", *TARGET).out)
    assert (again["new"], again["changed"], again["unchanged"]) == (0, 0, len(lines))


@pytest.mark.long("fills a disk, or moves records of every kind")
def test_standard_input_is_imported(cstp: Cstp, target: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    fill(cstp)
    lines = cstp("export", "-").out.encode()
    target("other")
    os.mkfifo("pipe")
    writer = Thread(target=Path("pipe").write_bytes, args=[lines])
    writer.start()
    with Path("pipe").open(encoding="utf-8") as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        done = cstp("import", "-", "--json", *TARGET)
    writer.join()
    assert (done.code, json.loads(done.out)["new"]) == (0, lines.count(b"\n"))
    assert cstp("export", "-", *TARGET).out.encode() == lines


@pytest.mark.parametrize("words", [(), ("--force",)], ids=["unasked", "forced"])
def test_a_named_pipe_is_written_to_and_stays_a_pipe(cstp: Cstp, words: tuple[str, ...]) -> None:
    fill(cstp)
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = Thread(target=lambda: read.append(Path("pipe").read_bytes()), daemon=True)
    reader.start()
    done = cstp("export", "pipe", *words)
    reader.join(30)
    assert (done.code, Path("pipe").is_fifo()) == (0, True)
    assert read == [cstp("export", "-").out.encode()]


class Emptying:
    """A watcher that empties a file between check and storage."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def start(self, step: str, records: int) -> None:
        self._file.write_bytes(b"")

    def advance(self, records: int) -> None:
        """Ignore progress."""


def test_a_file_shorter_at_its_second_reading_is_a_failure(cstp: Cstp, tmp_path: Path) -> None:
    fill(cstp)
    file = Path("a.jsonl")
    cstp("export", file)
    with (
        closing(open_records(f"sqlite:///{tmp_path}/third.sqlite3")) as records,
        pytest.raises(ComponentFailed, match="changed meanwhile"),
    ):
        import_file(file, records, None, 1, Emptying(file))


@pytest.mark.long("fills a disk, or moves records of every kind")
def test_an_export_to_a_full_disk_names_the_file_and_leaves_nothing(cstp: Cstp, program: Callable[..., Any]) -> None:
    texts = [{"kind": "decision", "id": f"d-{number}", "title": "t", "text": "x" * 50_000} for number in range(40)]
    Path("d.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in texts))
    cstp("ingest", "d.jsonl")
    before = {path.name for path in Path().iterdir()}
    done = limit_files(program("export", "out.jsonl"), 300_000)
    assert (done.code, done.out) == (1, "")
    assert done.err.splitlines()[-1] == "cstp: out.jsonl: File too large"
    done = program("export", "out.jsonl", shell="ulimit -f 512").finish()  # no signal ends it
    assert (done.code, done.err.splitlines()[-1]) == (1, "cstp: out.jsonl: File too large")
    assert {path.name for path in Path().iterdir()} == before
    done = program("export", "/dev/full").finish()
    assert (done.code, done.err.splitlines()[-1]) == (1, "cstp: /dev/full: No space left on device")
    done = program("export", "-", shell="exec >/dev/full").finish()
    assert (done.code, done.err.splitlines()[-1]) == (1, "cstp: standard output: No space left on device")


@pytest.mark.long("fills a disk, or moves records of every kind")
def test_an_uncopied_stream_names_the_full_folder(cstp: Cstp, program: Callable[..., Any]) -> None:
    fill(cstp)
    os.mkfifo("pipe")

    def write() -> None:
        with suppress(BrokenPipeError):
            Path("pipe").write_bytes(bytes(2_000_000))

    writer = Thread(target=write, daemon=True)
    writer.start()
    done = limit_files(program("import", "-", shell="exec <pipe"), 300_000)
    writer.join(60)
    assert (done.code, done.err.splitlines()[-1]) == (1, f"cstp: {tempfile.gettempdir()}: File too large")


def test_export_names_a_record_import_would_reject_and_writes_the_others(
    cstp: Cstp, target: Callable[..., None], stores: Stores
) -> None:
    cstp("ingest", str(write_repository("one", D | {"title": "One"})))
    with closing(open_records(stores.records(Path("data").absolute()))) as records:
        stated = stated_decision(decision="Count", confidence=0.5, trace={"n": 2**63}, bridge=[-(2**80)])
        origin = Origin(WRITTEN, 0, None, "digest", identity="0" * 32, recorded_by="ann", via="cstp")
        records.put([Entry(replace(stated, id="dec_1"), with_place(origin))], None)
    done = cstp("export", "a.jsonl")
    assert (done.code, done.err.splitlines()) == (
        1,
        [
            "left out: decision dec_1 (record.details: a whole number must have at most 64 bits)",
            "1 record exported, 1 left out",
        ],
    )
    target("other")
    assert cstp("import", "a.jsonl", *TARGET).out.startswith("1 read: 1 new")


def test_exported_decisions_with_any_character_are_read_again(cstp: Cstp, stores: Stores, tmp_path: Path) -> None:
    odd = "".join(map(chr, (*range(0xA0, 0xD8), 0x200B, 0x202E, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1FFFE, 0x10FFFF)))
    with closing(Engine.open(stores.records(tmp_path / "data"), tmp_path / "data" / "indexes", None)) as engine:
        pr = f"b{odd}"
        params = new("Bake", category=f"a{odd}", pr=pr, tags=(odd,))
        writer = WriteCaller("ann", EVERYTHING, frozenset({"write"}))
        asyncio.run(engine.record_decision(params, writer))
    assert cstp("export", "--decisions", "adr").code == 0
    assert "1 read: 0 new, 1 changed" in cstp("ingest", "adr").out
    found = json.loads(cstp("show", "dec_" + next(Path("adr").iterdir()).stem.rpartition("-")[2], "--json").out)
    assert (found["category"], found["tags"], found["metadata"]["pr"]) == (f"a{odd}", [odd], pr)
