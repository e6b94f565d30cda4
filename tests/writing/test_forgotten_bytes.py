"""After a record is forgotten and the files are compacted, no file of the data folder has any word of the record."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from string import ascii_lowercase

import pytest
import tantivy

from cognition_engines.engine import Engine, EngineOptions
from cognition_engines.exchange.runs import export_lines
from cognition_engines.indexes.keywords.language import make_analyzer
from cognition_engines.indexes.keywords.text_documents import make_schema
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING
from cognition_engines.set_aside import SetAside
from cognition_engines.spaces import SEARCHED
from cognition_engines.writing.requests import WriteCaller
from cstp.values.decision_links import LinkDecisionsParams
from cstp.values.decision_writes import SetStatusParams
from cstp.values.decisions import AffectedPart, Alternative, CitedSource, Evidence, Reason
from tests.serving import SeededEmbedder
from tests.stored import Quiet
from tests.writing.written import forget, new, review, update, write, written

ANN = WriteCaller("ann", EVERYTHING, frozenset({"read", "write", "review", "ratify", "admin"}))
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be")
COPIES = 20  # of each text, so that rows move from page to page

pytestmark = pytest.mark.embedded_only("looks into the files of SQLite and of Chroma")


class Words:
    """Unique words, and the files of a folder that have them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._random = random.Random(7)
        self.made: list[str] = []

    def new(self) -> str:
        word = "".join(self._random.choices(ascii_lowercase, k=14))
        self.made.append(word)
        return word.capitalize()

    def text(self) -> str:
        return " ".join([self.new()] * COPIES)

    def files(self) -> dict[str, list[str]]:
        """Return the words in each file, in any case and encoding."""
        forms = {
            word: [form.encode(one) for form in (word, word.capitalize()) for one in ENCODINGS] for word in self.made
        }
        found: dict[str, list[str]] = {}
        for path in sorted(self._folder.rglob("*")):
            content = path.read_bytes() if path.is_file() else b""
            for word, sought in forms.items():
                if any(form in content for form in sought):
                    found.setdefault(str(path.relative_to(self._folder)), []).append(word)
        return found


@contextmanager
def opened(folder: Path) -> Iterator[Engine]:
    options = EngineOptions(ledger=folder / "forgotten.jsonl")
    engine = Engine.open(f"sqlite:///{folder / 'records.sqlite3'}", folder / "indexes", SeededEmbedder(), options)
    try:
        yield engine
    finally:
        engine.close()


async def everything_about_a_decision(engine: Engine, words: Words, other: str, key: str) -> str:
    """Record a decision with a separate word in every possible text."""
    stated = new(
        words.text(),
        category=words.new(),
        stakes="high",
        context=words.text(),
        reasons=(Reason("analysis", words.text(), 0.5),),
        alternatives=(Alternative(words.text(), words.text()),),
        tags=(words.new(),),
        pattern=words.text(),
        kpi_indicators=(words.new(),),
        mental_state=words.new(),
        feature=words.new(),
        pr=words.new(),
        file=words.new(),
        commit=words.new(),
        affects=(AffectedPart("path", words.new()),),
        sources=(CitedSource(words.new(), words.text(), words.new()),),
        thread_id=words.new(),
        trace=[{"step": words.text()}],
        deliberation={"said": words.text()},
        bridge={"to": words.text()},
        pre_decision={"before": words.text()},
        valid_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    id = (await write(engine, ANN, stated, key)).id
    reviewed = review(
        id,
        actual_result=words.text(),
        lessons=words.text(),
        notes=words.text(),
        affected_kpis={words.new(): 0.5},
        evidence=(Evidence(uri=words.new(), kind=words.new(), hash=words.new()),),
    )
    await write(engine, ANN, reviewed)
    await write(engine, ANN, update(id, context=words.text(), reason=words.text()))
    await write(engine, ANN, SetStatusParams(id=id, status="accepted", reason=words.text()))
    linked = LinkDecisionsParams(source_id=other, target_id=id, edge_type="relates_to", context=words.text())
    await write(engine, ANN, linked, f"link {key}")
    return id


async def write_and_forget(engine: Engine, words: Words, wait_until: Callable[..., None]) -> None:
    """Write a record, forget it, and compact: no word remains in a file of the running engine."""
    kept = (await write(engine, ANN, new("Stay", 0.5))).id
    ids = [await everything_about_a_decision(engine, words, kept, str(number)) for number in range(4)]
    vectors = SeededEmbedder().embed_text("x")
    for number in range(4):
        artifact, chunk = f"art_{number}", f"art_{number}_1"
        event = {"category": words.new(), "narrative": words.text(), "actors": [words.new()]}
        evidence = [{"quote": words.text()}]
        parts = {"artifact_id": artifact, "vectors": vectors}
        engine.records.put(
            [
                written(Kind.ARTIFACT, id=artifact, title=words.new(), content=words.text(), vectors=vectors),
                written(Kind.ARTIFACT_CHUNK, id=chunk, content=words.text(), chunk_index=0, total_chunks=1, **parts),
                written(Kind.EVENT, id=f"evt_{number}", evidence=evidence, **event, **parts),
            ],
            SeededEmbedder().model,
        )
        episode = {"query": words.text(), "reflection": words.text(), "tags": [words.new()]}
        engine.records.put([written(Kind.EPISODE, id=1000 + number, reward=0.5, **episode)], None)
        ids += [artifact, str(1000 + number)]
    before = words.files()
    assert set(words.made) == {word for held in before.values() for word in held}
    assert {path.rpartition("/")[2].rpartition(".")[2] for path in before} >= {"sqlite3-wal", "store"}

    seq = 0
    for id in ids:
        seq = max(seq, (await write(engine, ANN, forget(id))).seq)
    wait_until(lambda: engine.records.forgetting.compacted_to() >= seq and engine.indexes.words_compacted >= seq)
    assert words.files() == {}
    exports = b"".join(export_lines(engine.records, list(Kind), Quiet(), SetAside()))
    assert not [word for word in words.made if word in exports.decode().casefold()]


@pytest.mark.long("reads every byte that a store wrote")
async def test_no_file_holds_a_word_of_a_forgotten_record(tmp_path: Path, wait_until: Callable[..., None]) -> None:
    words = Words(tmp_path)
    with opened(tmp_path) as engine:
        await write_and_forget(engine, words, wait_until)
    assert words.files() == {}
    stems = {make_analyzer().analyze(word)[0] for word in words.made}
    for space in SEARCHED:
        index = tantivy.Index(make_schema(), path=str(tmp_path / "indexes" / space.name / "keywords"))
        searcher = index.searcher()
        assert [stem for stem in stems if searcher.doc_freq("word", stem)] == []  # deleted texts count until merged
