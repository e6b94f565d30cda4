"""Spaces: kinds of records searched or listed together, and their columns.

Kinds in a space share columns, a keyword index and a vector collection; a listing has columns alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from cognition_engines.kinds.registry import SPECS
from cognition_engines.kinds.spec import Kind
from cognition_engines.unicode_forms import compose_text, fold_text, keep_text

NO_NUMBER: Final = np.iinfo(np.int64).min  # in a column of whole numbers, if a record has none

OPEN: Final = 2**62  # in the column `until`, if no end is known


@dataclass(frozen=True, slots=True)
class Label:
    """A text column; `read` gives the compared form, with or without case."""

    name: str
    read: Callable[[str], str] = fold_text


@dataclass(frozen=True, slots=True)
class Number:
    """A number column: int64 with NO_NUMBER for none if `whole`, else float64 with NaN for none."""

    name: str
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Space:
    """Kinds searched or listed together.

    `labels`, `numbers` and `sets` are the page columns, the common columns first. A set holds any number of texts per
    record. With `texts`, words and vectors are searched; without it there are only lists.
    """

    name: str
    kinds: tuple[Kind, ...]
    labels: tuple[Label, ...]
    numbers: tuple[Number, ...]
    sets: tuple[Label, ...]
    texts: bool


def _kinds_in_space(space: str) -> tuple[Kind, ...]:
    return tuple(kind for kind, spec in SPECS.items() if space in spec.spaces)


_LABELS: Final = (
    *(Label("kind", keep_text), Label("project", keep_text)),
    *(Label("context"), Label("system"), Label("author")),
)
_SETS: Final = (Label("people"),)
_NUMBERS: Final = (
    *(Number("at", whole=True), Number("importance")),
    *(Number("parent", whole=True), Number("until", whole=True)),
)

# `has_outcome` is "yes" or "no"; `since` is when a decision came into force, `review_by` when to review it, `governs`
# the affected parts, `mentions` the paths in its text: see kinds.affects
DECISIONS: Final = Space(
    "decisions",
    _kinds_in_space("decisions"),
    (
        *_LABELS,
        Label("category"),
        Label("stakes"),
        Label("status"),
        Label("status_text"),
        Label("feature"),
        Label("pr"),
        Label("recorded_by", keep_text),
        Label("has_outcome", keep_text),
        Label("repository", keep_text),
    ),
    (
        *_NUMBERS,
        Number("confidence"),
        Number("since", whole=True),
        Number("review_by", whole=True),
    ),
    (*_SETS, Label("tags"), Label("governs", keep_text), Label("mentions", keep_text)),
    texts=True,
)
# `type` is "chunk" or the extraction's, `topics` an extraction's topics or a chunk's tags
KNOWLEDGE: Final = Space(
    "knowledge",
    _kinds_in_space("knowledge"),
    (*_LABELS, Label("type", keep_text), Label("source_id", keep_text)),
    _NUMBERS,
    (*_SETS, Label("topics")),
    texts=True,
)
# `actors` and `subjects` are normal references, see kinds.fields.normal; turns have a conversation
MEMORY: Final = Space(
    "memory",
    _kinds_in_space("memory"),
    (*_LABELS, Label("category"), Label("conversation_id", keep_text)),
    _NUMBERS,
    (*_SETS, Label("actors", keep_text), Label("subjects", keep_text)),
    texts=True,
)
EPISODES: Final = Space(
    "episodes",
    _kinds_in_space("episodes"),
    (*_LABELS, Label("category", compose_text)),
    (*_NUMBERS, Number("reward")),
    (*_SETS, Label("tags", compose_text)),
    texts=True,
)
EXTRACTIONS: Final = Space(
    "extractions",
    _kinds_in_space("extractions"),
    (*_LABELS, Label("type", keep_text)),
    _NUMBERS,
    (Label("topics"),),
    texts=False,
)
TIMELINE: Final = Space("timeline", _kinds_in_space("timeline"), _LABELS, _NUMBERS, _SETS, texts=False)

SEARCHED: Final = (DECISIONS, KNOWLEDGE, MEMORY, EPISODES)
LISTED: Final = (EXTRACTIONS, TIMELINE)
