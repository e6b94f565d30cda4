"""Links of found decisions: supersessions stated by files, and links made by agents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cognition_engines.kinds.decisions import DecisionLink
from cognition_engines.models import Viewer
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.row_reader import RowReader
from cognition_engines.store.reads.supersession import Supersession
from cognition_engines.store.records import Records
from cognition_engines.store.values import StoredRecord

MOST_EDGES: Final = 100  # per decision


@dataclass(frozen=True, slots=True)
class FoundLinks:
    """Ids of superseded and superseding decisions, from files and agents, and the first links made by agents."""

    supersedes: tuple[str, ...]
    superseded_by: tuple[str, ...]
    edges: tuple[DecisionLink, ...]


def links_of(records: Records, found: Sequence[StoredRecord], viewer: Viewer) -> dict[int, FoundLinks]:
    """Return the links of decisions by key. An agent's supersession counts once it is in effect."""
    stated = records.decisions.supersessions(found, viewer)
    made = records.decisions.links([str(one.record.id) for one in found], viewer)
    return {one.key: joined_links(str(one.record.id), stated[one.key], made) for one in found}


def read_links(
    records: Records, found: Sequence[StoredRecord], viewer: Viewer, set_aside: SetAside
) -> Mapping[int, FoundLinks]:
    """Do as `links_of`, without decisions whose links cannot be read."""
    rows = RowReader(set_aside, Part.SNIPPETS)
    return rows.read_each(found, lambda stored: links_of(records, stored, viewer))


def joined_links(id: str, stated: Supersession, made: Sequence[DecisionLink]) -> FoundLinks:
    """Return a decision's links, by files and agents; an agent's supersession counts once in effect."""
    edges = tuple(link for link in made if id in (link.source, link.target))
    effective = [link for link in edges if link.type == "supersedes" and link.effective_at is not None]
    return FoundLinks(
        tuple(dict.fromkeys([*stated.supersedes, *(one.target for one in effective if one.source == id)])),
        tuple(dict.fromkeys([*stated.superseded_by, *(one.source for one in effective if one.target == id)])),
        edges[:MOST_EDGES],
    )
