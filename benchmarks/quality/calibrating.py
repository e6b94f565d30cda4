"""`python -m benchmarks.quality.calibrating DATA KEPT`: the weights of `search/calibration.py`, and a check of them.

Fitted on the first twenty candidates for one half of the mixed questions; checked on the other half, and on known items
(titles and contexts of decisions, titles of documents), whose words are those of their records.
Conversations with a licence for measuring alone are in none.
"""

import argparse
import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np

from benchmarks.quality.known_item import context_words
from benchmarks.quality.mixed import name_of, open_mixed, read_questions
from cognition_engines.embedding.open import EmbeddingChoice, open_embedder
from cognition_engines.engine import Engine
from cognition_engines.models import EVERYTHING, Mode
from cognition_engines.queries.pools import run_through
from cognition_engines.queries.search import Search
from cognition_engines.relevance import RELEVANCE
from cognition_engines.search.candidates import BEST
from cognition_engines.search.fusion import rank_spaces, score_each
from cognition_engines.search.legs import with_highest
from cognition_engines.search.query import CALIBRATED, Query, QueryParser, SearchScope
from cognition_engines.search.record_texts import RecordTexts
from cognition_engines.search.signals import phrases
from cognition_engines.spaces import SEARCHED

WORDS: Final = 1.1  # of the weight of the cosine; 0.8 to 1.3 differ by 0.006 of nDCG@10
PHRASE: Final = 0.2  # of it, too
ITEMS: Final = 100  # of each set of known items
_BINS: Final = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


@dataclass(frozen=True, slots=True)
class Asked:
    """The features of the first BEST candidates of a query, cosine, share of BM25 and phrase, and which answer it."""

    features: np.ndarray
    answers: np.ndarray


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.calibrating")
    parser.add_argument("data", type=Path, help="the folder of the sets")
    parser.add_argument("kept", type=Path, help="keeps what was embedded between runs")
    options = parser.parse_args()
    embedder = open_embedder(EmbeddingChoice())
    assert embedder is not None
    engine = open_mixed(options.data, embedder, options.kept)
    mixed = [(each.kind, each.text, frozenset(each.relevant)) for each in read_questions()]
    usable = [(text, ids) for kind, text, ids in mixed if not any("conv-" in id for id in ids)]
    try:
        fitted = asyncio.run(_features(engine, usable[::2]))
        checked = asyncio.run(_features(engine, usable[1::2]))
        known = asyncio.run(_features(engine, _known(options.kept)))
    finally:
        engine.close()
    for name, ratios in {"both": (1, WORDS, PHRASE), "meaning": (1, 0, 0), "words": (0, 1, PHRASE / WORDS)}.items():
        base, slope = _fit(fitted, np.array(ratios))
        weights = ", ".join(f"{slope * ratio:.2f}" for ratio in ratios)
        sys.stdout.write(f"{name}: base {base:.2f}, weights {weights}\n")
        for of, asked in {"other half": checked, "known items": known}.items():
            lines = _reliability(asked, base, slope * np.array(ratios))
            sys.stdout.write("\n    ".join([f"  {of}", *lines]) + "\n")


def _known(kept: Path) -> list[tuple[str, frozenset[str]]]:
    """Return titles that one record has, and first words of contexts."""
    lines = (kept / "mixed" / "records.jsonl").read_text(encoding="utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    decisions = [each for each in records if each["kind"] == "decision"]
    sources = [each for each in records if each["kind"] == "source"]
    times = Counter(each["title"].casefold() for each in decisions)
    random = Random(4)
    chosen = random.sample(decisions, ITEMS)
    found = [(each["title"], frozenset({each["id"]})) for each in chosen if times[each["title"].casefold()] == 1]
    found += [(words, frozenset({each["id"]})) for each in chosen if (words := context_words(each["text"]))]
    patterns = [(each["id"], f"pattern/{each['id'].rpartition('/')[2]}", each["title"]) for each in sources]
    return [*found, *((title, frozenset({id, pattern})) for id, pattern, title in random.sample(patterns, ITEMS))]


async def _features(engine: Engine, asked: Sequence[tuple[str, frozenset[str]]]) -> list[Asked]:
    searching = Search(engine.indexes, engine.embeddings, engine.pools, QueryParser(RELEVANCE))
    texts = RecordTexts(engine.records, engine.indexes.set_aside, [phrases.SIGNAL.share])
    score = score_each(lambda cosines, shares, _: np.nan_to_num(cosines) + WORDS * shares)
    found = []
    for asked_text, relevant in asked:
        scopes, caller = [SearchScope(space, ()) for space in SEARCHED], engine.pools.caller(None)
        query = Query(asked_text, EVERYTHING, Mode.HYBRID, scopes, BEST, ranking=CALIBRATED)
        text, vector = searching.parser.parse(asked_text), await searching.embed(caller, query.mode, asked_text)
        spaces = await run_through(caller, searching.find_candidates, query, text, vector)
        spaces = [with_highest(space, asked_text) for space in spaces]
        (hits,) = rank_spaces(spaces, vector, BEST, score, groups=True)
        cosines = np.array([0.0 if hit.distance is None else 1 - hit.distance for hit in hits])
        shares = (np.array([hit.score for hit in hits]) - cosines) / WORDS
        seen = np.zeros(len(hits))
        keys = [int(spaces[hit.space].snapshot.keys[hit.row]) for hit in hits]
        if text.pairs:
            seqs = [int(spaces[hit.space].snapshot.seqs[hit.row]) for hit in hits]
            seen[:] = [share for (share,) in texts.read(text.pairs, EVERYTHING, list(zip(keys, seqs, strict=True)))]
        read = engine.records.reads.by_keys(keys, EVERYTHING)
        answers = np.array([name_of(read[key].record) in relevant for key in keys])
        found.append(Asked(np.stack([cosines, shares, seen], axis=1), answers))
    return found


def _fit(asked: Sequence[Asked], ratios: np.ndarray) -> tuple[float, float]:
    """Return base and slope of the most likely logistic function of the weighted sum, by Newton's method."""
    sums = np.concatenate([each.features @ ratios for each in asked])
    answers = np.concatenate([each.answers for each in asked]).astype(float)
    rows = np.stack([np.ones(len(sums)), sums], axis=1)
    weights = np.zeros(2)
    for _ in range(50):
        likely = 1 / (1 + np.exp(-rows @ weights))
        curve = (rows * (likely * (1 - likely))[:, None]).T @ rows
        weights += np.linalg.solve(curve, rows.T @ (answers - likely))
    return float(weights[0]), float(weights[1])


def _reliability(asked: Sequence[Asked], base: float, weights: np.ndarray) -> list[str]:
    """Return the mean of each range of scores and the share of the records that answer."""
    scores = np.concatenate([1 / (1 + np.exp(-(base + each.features @ weights))) for each in asked])
    answers = np.concatenate([each.answers for each in asked])
    lines = []
    for low, high in pairwise(_BINS):
        within = (scores >= low) & (scores < high)
        if within.any():
            mean, share = scores[within].mean(), answers[within].mean()
            lines.append(f"{low} to {high}: {within.sum()} records, mean score {mean:.3f}, answer {share:.3f}")
    return lines


if __name__ == "__main__":
    main()
