"""The control of every set: a plain BM25 of the same texts, which no mode may be below, and the better leg for hybrid.

Plain is tantivy's default: its tokenizer, its k1 and b, one index of the texts that a question may find.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import tantivy

from benchmarks.page import table, verdict
from benchmarks.quality.asked_sets import AskedSet
from benchmarks.quality.results import Section
from cognition_engines.embedding.base import Embedder
from cognition_engines.models import Mode
from cognition_engines.sync_engine import SyncEngine

_LIMIT: Final = 50
_MODES: Final = (Mode.KEYWORD, Mode.SEMANTIC, Mode.HYBRID)


def measure_controls(sets: Iterable[AskedSet], embedder: Embedder, kept: Path, say: Callable[[str], None]) -> Section:
    """Return one table: the first figure of each set for plain BM25 and for every mode, and whether it holds."""
    rows = []
    for each in sets:
        say(f"Controls: {each.name}")
        plain, keyword, semantic, hybrid = figures = _figures(each, embedder, kept / "gains" / each.name)
        cells = [f"{figure:.3f}" for figure in figures]
        rows.append([each.name, next(iter(each.measures)), *cells, verdict(keyword >= plain)])
        rows[-1].append(verdict(hybrid >= max(keyword, semantic)))
        say("  " + ", ".join(cells))
    heads = ["set", "figure", "plain BM25", "keyword", "semantic", "hybrid", "keyword ≥ plain", "hybrid ≥ legs"]
    lines = ["Keyword mode compared with a plain BM25 of the same texts, and hybrid with the better of its legs."]
    return Section("Controls", lines, [], [table(heads, rows)])


def plain_bm25(texts: Mapping[str, str]) -> Callable[[str], Sequence[str]]:
    """Return a search of `texts`: from the words of a query to at most fifty ids, best first."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw")
    builder.add_text_field("text")
    index = tantivy.Index(builder.build())
    writer = index.writer()
    for id, text in texts.items():
        writer.add_document(tantivy.Document(id=id, text=text))
    writer.commit()
    index.reload()
    searcher = index.searcher()

    def search(query: str) -> list[str]:
        parsed, _ = index.parse_query_lenient(query, ["text"])
        return [searcher.doc(place)["id"][0] for _, place in searcher.search(parsed, _LIMIT).hits]

    return search


def _figures(each: AskedSet, embedder: Embedder, folder: Path) -> list[float]:
    """Return the means of the first measure of plain BM25 and of every mode."""
    searches = {scope: plain_bm25(texts) for scope, texts in each.texts.items()}
    plain = {id: searches[scope](query) for id, (scope, query) in each.queries.items() if id in each.judgements}
    folder.mkdir(parents=True, exist_ok=True)
    records = folder / "records.jsonl"
    each.write(records)
    with SyncEngine.open(f"sqlite:///{(folder / 'records.sqlite3').absolute()}", folder / "now", embedder) as engine:
        engine.ingest([records])
        found = [{id: each.ask(engine, id, mode) for id in each.judgements} for mode in _MODES]
    measure = next(iter(each.measures.values()))
    judged = {id: grades for id, grades in each.judgements.items() if grades}
    return [
        sum(measure(answers[id], grades) for id, grades in judged.items()) / len(judged) for answers in (plain, *found)
    ]
