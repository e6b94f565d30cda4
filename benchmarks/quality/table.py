"""The page of figures, with the figures of others and the least that is asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from benchmarks.page import table, verdict
from benchmarks.quality.answering import HYBRID, KEYWORD, SEMANTIC
from benchmarks.quality.measures import Scores

T = TypeVar("T")
ANY: Final = ""  # for every model
# nDCG@10 and recall@10 in github.com/embeddings-benchmark/results, commit f4cc6c8b, test split
PUBLISHED: Final[Mapping[tuple[str, str, str], tuple[float, float]]] = {
    ("scifact", ANY, KEYWORD): (0.6874, 0.8187),
    ("scifact", "minilm", SEMANTIC): (0.6451, 0.7833),
    ("scifact", "gte-small-int8", SEMANTIC): (0.7270, 0.8479),
}
TO_REACH: Final[Mapping[tuple[str, str, str], float]] = {
    ("scifact", ANY, KEYWORD): 0.68,
    ("scifact", "minilm", HYBRID): 0.73,
    ("scifact", "gte-small-int8", HYBRID): 0.74,
    ("decisions", ANY, HYBRID): 0.87,
}
READING: Final = """\
Reading the tables:

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
- *Controls* say no where keyword mode is below plain BM25. Decisions by context are asked for by whole sentences of
  their text, in which the stop words and the order of words help; keyword mode leaves stop words out and reads no
  texts, so that words next to each other count in hybrid mode alone.
- *Gains* show each part of `Relevance` alone and all of them, over the same records and vectors, asked through the
  engine: stop words left out of queries, words of titles three times, the words of three turns on each side, dates as
  they are spoken, words of the question that are next to each other in a text (*phrases*), a time that the question
  names, a speaker whom it names, and statements of what a person prefers or demands if it asks for advice. A part that
  costs one set a little is kept for what it gains in another one, and one that changes nothing for a set is left out
  there.
- *Conversations* are those of LoCoMo: turns of a sentence or two. *BEAM 100K* are those of the repository
  `mohammadtavakoli78/BEAM`, at 100,000 tokens each, with messages of many paragraphs.
- `cstp.search` over all kinds has no weight for speakers, which `cstp.recall` has; so it finds fewer turns.
- There is no setting for the mixture, for BM25, or for a set. The weights of the turns around a turn were chosen among
  four on the questions shown here, those of speakers and statements on every other question.
- What was asked, what was reached, and ideas that were not taken, with their figures:
  [questions that need several records](decisions/0075-several-records.md),
  [known items and successors](decisions/0076-known-items-and-successors-first.md),
  [questions with one thing changed](decisions/0074-abstaining-on-a-changed-word.md)."""


@dataclass(frozen=True, slots=True)
class Section:
    """One set under every model: lines about its questions, tables and their titles, and rows of bounds."""

    title: str
    lines: Sequence[str]
    parts: Sequence[str]
    reached: Sequence[Sequence[str]] = ()


def render(sections: Sequence[Section]) -> Iterable[str]:
    """Yield the parts of the page, in Markdown."""
    yield READING
    if rows := [row for section in sections for row in section.reached]:
        yield "## What is to be reached"
        yield table(["set", "model", "search", "at least", "nDCG@10", "kept"], rows)
    for section in sections:
        yield f"## {section.title}"
        yield "\n".join(f"- {line}" for line in section.lines)
        yield from section.parts


def bound_rows(title: str, name: str, model: str, scores: Mapping[str, Scores]) -> list[list[str]]:
    """Return the searches of a set with a least nDCG@10; `name` is that of the set's folder."""
    bounds = {search: _of_model(TO_REACH, name, model, search) for search in scores}
    return [
        [title, model, search, f"{bound:.2f}", f"{scores[search].ndcg:.3f}", verdict(scores[search].ndcg >= bound)]
        for search, bound in bounds.items()
        if bound is not None
    ]


def compared_table(name: str, model: str, scores: Mapping[str, Scores]) -> str:
    """Return the searches of a set with their scores, beside published ones of any of them."""
    known = {search: _of_model(PUBLISHED, name, model, search) for search in scores}
    heads, more = ["search", "nDCG@10", "recall@10"], ["published nDCG@10", "published recall@10"]
    rows = []
    for search, found in scores.items():
        published = [f"{figure:.3f}" for figure in known[search] or ()] or ["", ""]
        rows.append([search, f"{found.ndcg:.3f}", f"{found.recall:.3f}", *(published if any(known.values()) else ())])
    return table([*heads, *more] if any(known.values()) else heads, rows)


def _of_model(known: Mapping[tuple[str, str, str], T], name: str, model: str, search: str) -> T | None:
    return known.get((name, model, search)) or known.get((name, ANY, search))
