"""What was tried, and how well it went."""

from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import Field
from pydantic_core import PydanticCustomError

from cognition_engines.kinds.fields import Instant, Level, Line, Lines, Metadata, Model, Text
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.spec import Facets, KindSpec, named_ids, own


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode(Model):
    """One experience. Its id is a number, 1 to 2^63-1; a missing time stays missing."""

    id: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    project: Annotated[str, Line(200)] | None = None
    sensitivity: Level | None = None
    metadata: Metadata = field(default_factory=dict)
    query: Annotated[str, Text(100_000)]
    reward: Annotated[float, Field(ge=-1, le=1)]
    reflection: Annotated[str, Text(1_000_000)] | None = None
    tags: Annotated[tuple[str, ...], Lines(100, 64)] = ()
    category: Annotated[str, Line(200)] | None = None
    created_at: Instant | None = None

    def __post_init__(self) -> None:
        if not self.query.strip():
            raise PydanticCustomError("blank", "query must not be blank")


def lesson(episode: Episode) -> str:
    """What an episode is found by: what was tried and, where it is known, what was learned of it."""
    return episode.query if episode.reflection is None else f"{episode.query}\n\n{episode.reflection}"


EPISODE: Final = KindSpec(
    kind=Kind.EPISODE,
    model=Episode,
    table="episodes",
    made_prefix=None,
    spaces=("episodes",),
    embedding_text=lesson,
    facets=lambda episode: Facets(*own(episode), episode.created_at),
    aliases=named_ids("episode_id"),
    has_members=lambda names, _: names >= {"query", "reward"},
)
