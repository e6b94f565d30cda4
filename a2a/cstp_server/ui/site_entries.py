"""A site's search data: title, tags and a text's first characters for each record."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from cstp.values.decision_reads import WholeDecision
from cstp.values.episodes import GetEpisodeResult
from cstp.values.extractions import ExtractedDecision, ExtractedPattern, ExtractedWarning
from cstp.values.knowledge import GetChunkResult, SourceReference

Extracted = ExtractedDecision | ExtractedPattern | ExtractedWarning
MOST_CHARACTERS: Final = 6_000_000  # of all texts, which a browser has to read and index at the first search
LEAST_CHARACTERS: Final = 600  # of a text, however many there are


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A record in a site's search data; members missing in the kind are None.

    `date` is ISO 8601, `source` the record's place, `system` the value for filters by source, `text` not cut yet.
    """

    type: Literal["decision", "episode", "extraction", "chunk"]
    id: str | int
    title: str | None
    tags: list[str]
    text: str
    date: str | None = None
    project: str | None = None
    sensitivity: str | None = None
    source: str | None = None
    source_id: str | None = None
    system: str | None = None

    def cut(self, characters: int) -> "CutEntry":
        """Return the entry with the text's first `characters`, without None members."""
        members = {to_camel(name): getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        text = to_json({**members, "text": self.text[:characters]}).decode()
        return CutEntry(text, len(self.text) > characters)


@dataclass(frozen=True, slots=True)
class CutEntry:
    """An entry's JSON, and whether the text was too long."""

    json: str
    was_longer: bool


def searched_characters(records: int) -> int:
    """Return the number of searched characters per text for this number of records."""
    return max(LEAST_CHARACTERS, MOST_CHARACTERS // max(1, records))


def decision_entry(decision: WholeDecision) -> SearchEntry:
    """Return a decision's entry with reasons, alternatives and reviews."""
    reviews = decision.reviews or []
    texts = [
        decision.context,
        decision.text,
        *(one.text for one in decision.reasons),
        *(f"{one.option} {one.why or ''}" for one in decision.alternatives),
        *(text for one in reviews for text in (one.actual_result, one.lessons, one.notes)),
    ]
    return SearchEntry(
        "decision",
        decision.id,
        decision.title,
        [*decision.tags, *([decision.category] if decision.category else [])],
        _join_texts(texts),
        decision.model_dump(mode="json", include={"date"})["date"],
        decision.project,
        decision.sensitivity,
        decision.provenance.path,
    )


def episode_entry(episode: GetEpisodeResult) -> SearchEntry:
    """Return an episode's entry with task and lessons."""
    return SearchEntry(
        "episode",
        episode.id,
        None,
        [*episode.tags, *([episode.category] if episode.category else [])],
        _join_texts([episode.query, episode.reflection]),
        episode.model_dump(mode="json", include={"created_at"})["createdAt"],
        episode.project,
        episode.sensitivity,
    )


def extraction_entry(one: Extracted) -> SearchEntry:
    """Return an extraction's entry with the whole text."""
    match one:
        case ExtractedDecision():
            title, texts = one.question, [*one.options, *one.considerations, one.recommended_approach]
        case ExtractedPattern():
            title, texts = one.name, [one.problem, one.solution, one.context, one.code_example, *(one.trade_offs or [])]
        case ExtractedWarning():
            lists = (*(one.symptoms or []), *(one.consequences or []))
            title, texts = one.title, [one.description, *lists, one.prevention]
    return SearchEntry(
        "extraction", one.id, title, one.topics, _join_texts(texts), source=one.source_title, source_id=one.source_id
    )


def passage_entry(chunk: GetChunkResult, source: SourceReference | None) -> SearchEntry:
    """Return a passage's entry with the summary, if any."""
    card = chunk.knowledge_card
    texts = [chunk.content, *([] if card is None else [card.summary, *card.takeaways])]
    return SearchEntry(
        "chunk",
        chunk.chunk_id,
        chunk.title,
        chunk.tags,
        _join_texts(texts),
        source=None if source is None else source.title,
        source_id=None if source is None else source.source_id,
        system=chunk.source,
    )


def _join_texts(texts: Sequence[str | None]) -> str:
    return "\n".join(text for text in texts if text)
