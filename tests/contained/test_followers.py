"""A record that an index cannot process: everything else is found, and the record is readable and named."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeAlias

import httpx
import pytest

from cognition_engines.embedding.base import Embedder, FloatArray
from cognition_engines.errors import PartRaised
from cognition_engines.indexes.columns import builder, path_index
from cognition_engines.indexes.columns.path_index import PathIndex
from cognition_engines.indexes.keywords import language, term_weights, text_documents
from cognition_engines.path_sets import PathSet
from cognition_engines.set_aside import read_set_aside
from cognition_engines.store.change_feed import ChangeFeed
from cognition_engines.store.reads.keyword_texts import KeywordTexts
from cognition_engines.sync_engine import SyncEngine
from cognition_engines.writing import writer
from cstp.values.decision_searches import QueryDecisionsParams
from cstp_server.cli.main import run as run_command
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores, wait_for

Cstp: TypeAlias = Callable[..., tuple[int, str]]
BAD = "zanzibar"  # stands in title, tags and category of the breaking record


class PanicException(BaseException):
    """A panic as in Rust extensions: not an Exception, and recognized by name alone."""


@dataclass(frozen=True)
class Fault:
    """A function that raises if arguments or result concern the record."""

    owner: Any
    name: str
    part: str
    error: type[BaseException] = ValueError

    def __str__(self) -> str:
        return f"{self.part}-{getattr(self.owner, '__name__', '')}.{self.name}-{self.error.__name__}"


FAULTS = [
    Fault(text_documents.DocumentMaker, "make", "keywords"),
    Fault(text_documents.DocumentMaker, "make", "keywords", PanicException),
    Fault(text_documents.DocumentMaker, "_weigh", "keywords", KeyError),
    Fault(language.Analyzer, "count", "keywords", IndexError),
    Fault(KeywordTexts, "by_keys", "keywords", TypeError),
    Fault(term_weights.WordCounts, "after", "keywords", OverflowError),
    Fault(builder.Columns, "_append", "columns"),
    Fault(builder._Label, "extend", "columns", PanicException),
    Fault(builder._PostingLists, "extend", "columns", UnicodeError),
    Fault(ChangeFeed, "page", "columns", RecursionError),
]


def put_fault(patch: pytest.MonkeyPatch, fault: Fault) -> None:
    real = getattr(fault.owner, fault.name)

    def raising(*args: Any, **named: Any) -> Any:
        kept = [*args[1:]]
        for place, each in enumerate(kept):
            if isinstance(each, Iterator):
                kept[place] = each = [[*one] for one in each]
            if BAD in repr(each).lower():
                raise fault.error(BAD)
        made = real(args[0], *kept, **named)
        if fault.owner in (KeywordTexts, ChangeFeed) and BAD in repr(made).lower():
            raise fault.error(BAD)
        return made

    patch.setattr(fault.owner, fault.name, raising)


@pytest.fixture
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as context:
        yield context


@pytest.fixture
def run(tmp_path: Path, stores: Stores) -> Iterator[Callable[..., Serving]]:
    """Start a server over the test's folder, after stopping the former server."""
    stops: list[Callable[[], None]] = []

    def again(embedder: Embedder | None = None, before: Callable[[], object] = int) -> Serving:
        while stops:
            stops.pop()()
        before()
        serving, stop = start(tmp_path / "data", stores, embedder or SeededEmbedder())
        stops.append(stop)
        return serving

    yield again
    while stops:
        stops.pop()()


def record(serving: Serving, word: str) -> dict[str, Any]:
    return serving.ask(
        "recordDecision", decision=f"Keep the {word} loader", confidence=0.5, category=word, stakes="low", tags=[word]
    )


def found(serving: Serving, word: str, mode: str = "keyword") -> list[str]:
    return [
        one["id"] for one in serving.ask("queryDecisions", query=f"{word} loader", mode=mode, limit=50)["decisions"]
    ]


def listed(serving: Serving) -> set[str]:
    answer = serving.ask("listDecisions", limit=100)
    assert answer["total"] == len(answer["decisions"])
    return {one["id"] for one in answer["decisions"]}


def readiness(serving: Serving, token: str | None = None) -> dict[str, Any]:
    fields = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = httpx.get(serving.url.replace("/cstp", "/readyz"), headers=fields, trust_env=False)
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


@pytest.fixture
def cstp(
    monkeypatch: pytest.MonkeyPatch, stores: Stores, capfd: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    """Run a command over a server's folder in this process; return the exit code and the output."""

    def done(serving: Serving, *words: str) -> tuple[int, str]:
        folder = serving.settings.data_dir
        for name, value in stores.environment(folder).items():
            monkeypatch.setenv(name, value)
        capfd.readouterr()
        code = run_command([*words, "--data-dir", str(folder)])
        return code, capfd.readouterr().out

    return done


@pytest.mark.long("starts two servers for each fault")
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_record_breaking_a_part_hides_no_other(
    fault: Fault, run: Callable[..., Serving], patch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, cstp: Cstp
) -> None:
    serving = run()
    before = record(serving, "harbour")["id"]
    put_fault(patch, fault)
    patch.setattr(writer, "INDEX_SECONDS", 60.0)  # else a busy machine answers before the part has tried
    written = record(serving, BAD)
    bad = written["id"]
    after = record(serving, "lantern")["id"]
    cause = fault.error.__name__
    assert written["indexed"] is False
    assert {"id": bad, "part": fault.part, "cause": cause} in written["notIndexed"]
    for mode in ("keyword", "hybrid"):
        assert before in found(serving, "harbour", mode)
        assert after in found(serving, "lantern", mode)
    assert listed(serving) == {before, bad, after}
    stats = serving.ask("getStats")
    assert stats["total"] + stats.get("notCounted", 0) == 3
    assert serving.ask("getDecision", id=bad)["decision"]["id"] == bad
    seen = readiness(serving, serving.tokens[0])
    assert seen["status"] == "degraded"
    assert seen["parts"][fault.part] == "degraded"
    assert {"id": bad, "part": fault.part, "cause": cause} in seen["setAside"]
    assert "setAside" not in readiness(serving)
    assert f"{fault.part}: decision {bad} is set aside ({cause})" in caplog.text
    fields = {"Authorization": f"Bearer {serving.tokens[0]}"}
    assert f'id="{bad}"' in httpx.get(serving.url.replace("/cstp", "/metrics"), headers=fields, trust_env=False).text
    exit_code, printed = cstp(serving, "status", "--json")
    assert (exit_code, [one["id"] for one in json.loads(printed)["setAside"]].count(bad) > 0) == (0, True)
    _, printed = cstp(serving, "doctor", "--json")
    (remedy,) = {one["remedy"] for one in json.loads(printed)["findings"] if one["part"] == "set-aside"}
    assert f"cstp reindex --record {bad} tries again" in remedy

    serving = run()  # with the fault still there
    assert before in found(serving, "harbour")
    assert after in found(serving, "lantern")
    assert listed(serving) == {before, bad, after}
    assert {note.id for note in read_set_aside(serving.settings.indexes_path)} == {bad}
    exit_code, printed = cstp(serving, "reindex", "--record", bad)
    assert (exit_code, f"{bad}: still set aside by" in printed) == (1, True)

    patch.undo()
    exit_code, printed = cstp(serving, "reindex", "--record", bad)
    assert (exit_code, printed) == (0, f"{bad}: indexed\n")
    serving.caught_up()
    assert cstp(serving, "reindex", "--record", before) == (0, f"{before}: was not set aside\n")
    assert bad in found(serving, BAD)
    assert listed(serving) == {before, bad, after}
    assert readiness(serving)["status"] == "ready"
    assert read_set_aside(serving.settings.indexes_path) == []


def test_a_start_retries_records_set_aside_by_the_former_process(
    run: Callable[..., Serving], patch: pytest.MonkeyPatch
) -> None:
    serving = run()
    put_fault(patch, FAULTS[0])
    bad = record(serving, BAD)["id"]
    patch.undo()
    serving = run()
    assert found(serving, BAD) == [bad]
    assert read_set_aside(serving.settings.indexes_path) == []


@pytest.mark.long("rebuilds indexes")
@pytest.mark.parametrize("fault", [FAULTS[0], FAULTS[6]], ids=str)
def test_a_rebuild_at_the_start_leaves_out_only_the_record_breaking_a_part(
    fault: Fault, run: Callable[..., Serving], patch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    serving = run()
    good = {record(serving, f"harbour{number}")["id"]: f"harbour{number}" for number in range(20)}
    bad = [record(serving, f"{BAD} {number}")["id"] for number in range(3)]
    put_fault(patch, fault)
    serving = run(before=lambda: rmtree(tmp_path / "data" / "indexes"))
    assert {id: found(serving, word)[:1] for id, word in good.items()} == {id: [id] for id in good}
    assert listed(serving) == {*good, *bad}
    notes = read_set_aside(serving.settings.indexes_path)
    assert {note.id for note in notes if note.part == fault.part} == set(bad)
    assert readiness(serving)["status"] == "degraded"


@pytest.mark.long("starts a server")
@pytest.mark.parametrize("name", ["_add", "_chooses", "compile_list"])
def test_an_unmatchable_pattern_hides_no_other(
    name: str, run: Callable[..., Serving], patch: pytest.MonkeyPatch
) -> None:
    serving = run()
    owner: Any = path_index if name == "compile_list" else PathIndex
    real = getattr(owner, name)

    def raising(*args: Any) -> Any:
        if any(BAD in one for one in args if isinstance(one, str)):
            raise PanicException(BAD)
        return real(*args)

    if name != "_chooses":
        patch.setattr(owner, name, raising)
    else:
        chooses = PathSet.chooses_any
        patch.setattr(PathSet, "chooses_any", lambda self, patterns, *rest: _chosen(chooses, self, patterns, *rest))
    ids = [
        serving.ask(
            "recordDecision",
            decision=f"Keep the {word} loader",
            confidence=0.5,
            affects=[{"type": "path", "pattern": f"src/**/*{word}*.py"}],
        )["id"]
        for word in ("harbour", BAD)
    ]
    files = ["src/a/harbour.py", f"src/a/{BAD}.py"]
    governing = serving.ask("getDecisionContext", files=files)["proposals"]
    assert [one["id"] for one in governing] == ids[:1]
    assert listed(serving) == set(ids)
    notes = [note for note in serving.indexes.set_aside.records if note.part == "patterns"]
    assert [(note.id, note.cause) for note in notes] == [(ids[1], "PanicException")]


def _chosen(chooses: Callable[..., bool], paths: PathSet, patterns: Any, *rest: Any) -> bool:
    if BAD in repr(patterns):
        raise PanicException(BAD)
    return chooses(paths, patterns, *rest)


@pytest.mark.long("starts servers")
@pytest.mark.embedded_only("damages a file of SQLite")
def test_a_damaged_row_hides_no_other(run: Callable[..., Serving], tmp_path: Path) -> None:
    serving = run()
    ids = [record(serving, word)["id"] for word in ("harbour", BAD, "lantern")]

    def damage(column: str) -> None:
        with closing(sqlite3.connect(tmp_path / "data" / "records.sqlite3", isolation_level=None)) as connection:
            of_id = "key = (SELECT key FROM records WHERE id = ?)"
            assert connection.execute(f"UPDATE decisions SET {column} = '{{' WHERE {of_id}", [ids[1]]).rowcount == 1

    for column in ("reasons", "tags"):
        serving = run(before=lambda column=column: damage(column))
        assert [one["id"] for one in serving.ask("listDecisions", sort="recordedAt", order="asc")["decisions"]] == [
            ids[0],
            ids[2],
        ]
        for mode in ("keyword", "semantic", "hybrid"):
            assert {*found(serving, "harbour", mode)} <= {ids[0], ids[2]}
            assert ids[0] in found(serving, "harbour", mode)
        assert {each["id"] for each in readiness(serving, serving.tokens[0])["setAside"]} == {ids[1]}
        stats = serving.ask("getStats")
        assert stats["total"] + stats.get("notCounted", 0) == 3


class Choosy(SeededEmbedder):
    """A model that raises for a single text."""

    def embed_text(self, text: str) -> FloatArray:
        if BAD in text:
            raise PartRaised("embedder", "raised IndexError")
        return super().embed_text(text)


@pytest.mark.long("waits for the thread that embeds records")
def test_a_text_refused_by_the_model_is_stored_and_found_by_its_words(run: Callable[..., Serving]) -> None:
    serving = run(Choosy())
    written = record(serving, BAD)
    assert (written["indexed"], [one["part"] for one in written["notIndexed"]]) == (False, ["vectors"])
    serving.caught_up()
    assert written["id"] in found(serving, BAD)
    other = record(serving, "harbour")
    serving.caught_up()
    assert other["id"] in found(serving, "harbour", "semantic")
    wait_for(lambda: readiness(serving)["parts"]["vectors"] == "degraded", seconds=30)
    episode = serving.ask("storeEpisode", query=f"which {BAD}", reflection="none", reward=0.5)
    assert (episode["embeddingStatus"], episode["indexed"]) == ("failed", False)


def test_a_file_with_a_text_refused_by_the_model_stops_no_ingest(tmp_path: Path) -> None:
    for number, word in enumerate(("harbour", BAD, "lantern"), 1):
        text = f"# {number}. Keep the {word}\n\n## Status\n\nAccepted\n\n## Decision\n\nKeep the {word}.\n"
        (tmp_path / f"000{number}-{word}.md").write_text(text)
    with SyncEngine.open(f"sqlite:///{tmp_path}/records.sqlite3", tmp_path / "indexes", Choosy()) as engine:
        summary = engine.ingest([tmp_path])
        assert (summary.new, len(summary.rejected)) == (3, 0)
        assert any("is found by its words alone" in warning.reason for warning in summary.warnings)
        for word in ("harbour", BAD, "lantern"):
            [match] = engine.query_decisions(QueryDecisionsParams(query=word, mode="keyword")).decisions
            assert word in match.title
