"""Short records among long ones: whether a record of a sentence or two comes before pages that share its words.

`short_records.jsonl` has 100 questions, each with the one record that answers it: 50 asked in words of what it
is about, 50 in the words of one of our long decision records, of which the answer has two or three.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.options import show_progress
from benchmarks.page import table
from benchmarks.quality.answering import KEYWORD, MODES, NO_MODEL, Find, Model, answering, finder, ingest
from benchmarks.quality.measures import ndcg
from benchmarks.quality.table import Section
from benchmarks.texts import Text, read_decisions, read_objects, write_records

PAIRS: Final = Path(__file__).with_name("short_records.jsonl")
WORDINGS: Final[Mapping[str, str]] = {"own": "in words of its subject", "long": "in words of a long record"}
LIMIT: Final = 50


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and the short record that answers it; `wording` is a key of WORDINGS."""

    id: str
    question: str
    title: str
    text: str
    wording: str


@dataclass(frozen=True, slots=True)
class Placed:
    """Over a set of questions, 0 to 1: nDCG@10, the share first, and the share behind a longer record."""

    ndcg: float
    first: float
    behind: float


def read_pairs() -> list[Pair]:
    return [Pair(f"short-{number:03d}", **each) for number, each in enumerate(read_objects(PAIRS), start=1)]


def write_among(pairs: Iterable[Pair], long: Iterable[Text], path: Path) -> None:
    """Write the short records and long ones, one a line."""
    records = [(pair.id, pair.title, pair.text) for pair in pairs]
    records += [(f"long-{number:04d}", text.title, text.body) for number, text in enumerate(long, start=1)]
    write_records(({"kind": "decision", "id": id, "title": title, "text": text} for id, title, text in records), path)


def place(pairs: Sequence[Pair], find: Find, mode: str) -> Placed:
    """Ask each question in a mode."""
    found = {pair.id: list(find(mode, pair.question)) for pair in pairs}
    behind = sum(any(id.startswith("long-") for id in _before(ids, short)) for short, ids in found.items())
    first = sum(ids[:1] == [short] for short, ids in found.items())
    gain = sum(ndcg(ids, {short: 1}) for short, ids in found.items())
    return Placed(gain / len(pairs), first / len(pairs), behind / len(pairs))


def measure_short_records(among: Sequence[Path], models: Sequence[Model], kept: Path) -> Section:
    """Return a table for each model; the keyword rows are the same in all."""
    pairs, extra = read_pairs(), []
    long = [text for folder in among for text in read_decisions(folder)]
    for model in models:
        show_progress(f"Short records: reading and embedding with {model.name}")
        data = ingest(kept / model.name / "short-records", model, lambda path: write_among(pairs, long, path))
        modes = {KEYWORD: MODES[KEYWORD]} if model == NO_MODEL else MODES
        rows = []
        with answering(model, data) as caller:
            find = finder(caller, "cstp.queryDecisions", "decisions", LIMIT)
            for wording, about in WORDINGS.items():
                asked = [pair for pair in pairs if pair.wording == wording]
                rows += [_row(about, name, place(asked, find, mode)) for name, mode in modes.items()]
        extra += [
            f"With `{model.name}`:",
            table(["asked", "search", "nDCG@10", "first", "behind a longer record"], rows),
        ]
    lines = [
        f"{len(pairs)} records of one to three sentences and their questions, among {len(long):,} whole decision "
        f"records; `cstp.queryDecisions` with limit {LIMIT}.",
        "*First* is the share of questions whose answer is first, *behind a longer record* that of those with at least "
        "one whole record before it.",
    ]
    return Section("Short records among long ones", lines, extra)


def _before(ids: Sequence[str], short: str) -> Sequence[str]:
    """Return the ids before the answer: all, if it was not found."""
    return ids[: ids.index(short)] if short in ids else ids


def _row(asked: str, search: str, placed: Placed) -> list[str]:
    return [asked, search, f"{placed.ndcg:.3f}", f"{placed.first:.2f}", f"{placed.behind:.2f}"]
