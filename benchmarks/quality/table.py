"""The page of figures, written by the run that measured them."""

from collections.abc import Iterable, Sequence
from typing import Final

from benchmarks.page import Run, page, table, verdict
from benchmarks.quality.results import Compared, Section

_READING: Final = """\
How to read it:

- Every figure comes from the whole way: `cstp ingest` of files, `cstp serve`, and calls over HTTP, one for each query
  and mode.
- *nDCG@10* is the gain of the first ten results, discounted by rank, over that of the best order, as trec_eval has it;
  *recall@10* is the share of what is relevant that is among them. Both are means over all queries, 0 to 1.
- *keyword (BM25)* is the control of every table: a search by meaning that does not beat it is not worth its price.
- *hybrid* is the default mode. *Both by RRF* is a control, too: reciprocal rank fusion of the keyword and the semantic
  results, made outside the server from the longest lists that a call returns.
- *Published* figures are those of `embeddings-benchmark/results` for the same set and model: BM25 as bm25s has it, the
  dense models in single precision. Our models have eight-bit weights.
- *Controls* compare keyword mode with a plain BM25 of the same texts (tantivy's default), and hybrid with the better of
  its legs.
- *Gains* show each part of `Relevance` alone and all of them, over the same records and vectors, asked through the
  engine: stop words left out of queries, words of titles three times, the words of three turns on each side, and dates
  as they are spoken.
- There is no setting for the mixture, for BM25, or for a set. The weights of the turns around a turn were chosen among
  four on the questions shown here."""


def render(run: Run[Sequence[Section]]) -> str:
    """The whole page, in Markdown."""
    sections = [part for section in run.found for part in _section(section)]
    return page("Quality", "make bench-quality", run, _READING, *_reached(run.found), *sections)


def _reached(sections: Sequence[Section]) -> Iterable[str]:
    rows = [
        [section.title, compared.model, search, f"{bound:.2f}", f"{scores.ndcg:.3f}", verdict(scores.ndcg >= bound)]
        for section in sections
        for compared in section.compared
        for search, scores in compared.scores.items()
        if (bound := compared.to_reach(search)) is not None
    ]
    if rows:
        yield "## What is to be reached"
        yield table(["set", "model", "search", "at least", "nDCG@10", "kept"], rows)


def _section(section: Section) -> Iterable[str]:
    yield f"## {section.title}"
    yield "\n".join(f"- {line}" for line in section.lines)
    for compared in section.compared:
        yield f"With `{compared.model}`, over {next(iter(compared.scores.values())).queries} queries:"
        yield _compared(compared)
    yield from section.extra


def _compared(compared: Compared) -> str:
    """The columns of published figures and bounds are there where the set has any."""
    known = {search: compared.published(search) for search in compared.scores}
    heads = ["search", "nDCG@10", "recall@10"]
    if any(known.values()):
        heads += ["published nDCG@10", "published recall@10"]
    rows = []
    for search, scores in compared.scores.items():
        row = [search, f"{scores.ndcg:.3f}", f"{scores.recall:.3f}"]
        if any(known.values()):
            found = known[search]
            row += ["", ""] if found is None else [f"{found.ndcg:.3f}", f"{found.recall:.3f}"]
        rows.append(row)
    return table(heads, rows)
