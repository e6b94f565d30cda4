"""What a run found, before it is written down; and what others found, and what is to be reached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.quality.answering import HYBRID, KEYWORD, SEMANTIC
from benchmarks.quality.measures import Scores

ANY: Final = ""  # for every model


@dataclass(frozen=True, slots=True)
class Published:
    """nDCG@10 and recall@10 of the same set in a published table."""

    ndcg: float
    recall: float


# github.com/embeddings-benchmark/results, commit f4cc6c8b, test split
PUBLISHED: Final[Mapping[tuple[str, str, str], Published]] = {
    ("scifact", ANY, KEYWORD): Published(0.6874, 0.8187),
    ("scifact", "minilm", SEMANTIC): Published(0.6451, 0.7833),
    ("scifact", "gte-small-int8", SEMANTIC): Published(0.7270, 0.8479),
}
TO_REACH: Final[Mapping[tuple[str, str, str], float]] = {
    ("scifact", ANY, KEYWORD): 0.68,
    ("scifact", "minilm", HYBRID): 0.73,
    ("scifact", "gte-small-int8", HYBRID): 0.74,
    ("decisions", ANY, HYBRID): 0.87,
}


@dataclass(frozen=True, slots=True)
class Compared:
    """One set under one model: every search with its scores. `name` is that of the folder."""

    name: str
    model: str
    scores: Mapping[str, Scores]

    def published(self, search: str) -> Published | None:
        return PUBLISHED.get((self.name, self.model, search)) or PUBLISHED.get((self.name, ANY, search))

    def to_reach(self, search: str) -> float | None:
        """The least nDCG@10 that is asked for."""
        return TO_REACH.get((self.name, self.model, search)) or TO_REACH.get((self.name, ANY, search))


@dataclass(frozen=True, slots=True)
class Section:
    """One set under every model. `lines` say what was asked of what, `extra` is Markdown that follows the tables."""

    title: str
    lines: Sequence[str]
    compared: Sequence[Compared]
    extra: Sequence[str] = ()
