"""Writes a site: the records that a token may see, read by public methods alone, as files that need no server.

The search data of a site has a title, tags and the first characters of a text for each record.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Protocol, TypeVar, get_args

from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from cstp.client.methods import Methods
from cstp.contract import Wire
from cstp.errors import NotFound
from cstp.fields import format_instant
from cstp.methods.decision_links import DecisionEdge
from cstp.methods.decision_reads import ListedDecision, WholeDecision
from cstp.methods.episodes import EpisodeSummary, GetEpisodeResult
from cstp.methods.extractions import ExtractedDecision, ExtractedPattern, ExtractedWarning
from cstp.methods.knowledge import GetChunkResult, KnowledgeFilters, SourceReference
from cstp.methods.recall import ChunkMetadata, RecallItem
from cstp_server.ui.assets import static_folder
from cstp_server.ui.site_files import DataFiles, replace_folder, script, write_page

Extracted = ExtractedDecision | ExtractedPattern | ExtractedWarning
MOST_CHARACTERS: Final = 6_000_000  # of all texts, which a browser has to read and index at the first search
LEAST_CHARACTERS: Final = 600  # of a text, however many there are


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A record in the search data of a site; members that its kind lacks are None.

    `date` is ISO 8601, `source` its place, `system` the value for filters by source, `text` not cut yet.
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

    def json(self, characters: int) -> str:
        """Return the entry as JSON with the first `characters` of its text, without members that are None."""
        members = {to_camel(name): getattr(self, name) for name in self.__slots__ if getattr(self, name) is not None}
        return to_json({**members, "text": self.text[:characters]}).decode()


def searched_characters(records: int) -> int:
    """Return the number of searched characters per text for that many records."""
    return max(LEAST_CHARACTERS, MOST_CHARACTERS // max(1, records))


def decision_entry(decision: WholeDecision) -> SearchEntry:
    """Return the entry of a decision with its reasons, alternatives and reviews."""
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
    """Return the entry of an episode with its task and lessons."""
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
    """Return the entry of an extraction with its whole text."""
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
    """Return the entry of a passage with its summary, if it has one."""
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


T = TypeVar("T")
R = TypeVar("R")
SiteKind = Literal["decision", "episode", "extraction", "chunk"]
SITE_KINDS: Final[tuple[SiteKind, ...]] = get_args(SiteKind)
_PAGE: Final = 500
_EXTRACTED: Final = 100  # of a page: the answer of a server may have 5 MB
_CHANGES: Final = 1000
_QUERY: Final = 1000  # characters of a passage that find its source
_FARTHEST: Final = 5  # links that one call follows


class Steps(Protocol):
    """Shows the progress of the reading."""

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of records of each kind; the first `searched` characters of each text are searched."""

    decisions: int
    links: int
    episodes: int
    extractions: int
    passages: int
    searched: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    """The records to read: all kinds in the order of their lists, decisions as they were recorded."""

    decisions: Sequence[ListedDecision]
    episodes: Sequence[EpisodeSummary]
    extracted: Sequence[tuple[str, Extracted]]
    passages: Sequence[str]


def write_records(methods: Methods, kinds: frozenset[SiteKind], files: DataFiles, steps: Steps) -> Counts:
    """Write all records of these kinds, except those deleted meanwhile.

    Raise CstpError, OSError, and the errors of `methods` if no answer comes.
    """
    listed = _list(methods, kinds)
    total = len(listed.decisions) + len(listed.episodes) + len(listed.extracted) + len(listed.passages)
    search = _Search(files, searched_characters(total))
    decisions = _write_decisions(methods, listed.decisions, files, search, steps)
    links = _write_links(methods, decisions, files, steps)
    return Counts(
        decisions=len(decisions),
        links=links,
        episodes=_write_episodes(methods, listed.episodes, files, search, steps),
        extractions=_write_extracted(listed.extracted, files, search),
        passages=_write_passages(methods, listed.passages, files, search, steps),
        searched=search.characters,
        cut=search.cut,
    )


class _Search:
    """Adds entries of the search, and notes whether one was cut."""

    def __init__(self, files: DataFiles, characters: int) -> None:
        self._files = files
        self.characters = characters
        self.cut = False

    def add(self, entry: SearchEntry) -> None:
        self.cut |= len(entry.text) > self.characters
        self._files.add("search", entry.json(self.characters))


def _list(methods: Methods, kinds: frozenset[SiteKind]) -> _Listed:
    extracted: list[tuple[str, Extracted]] = []
    if "extraction" in kinds:
        extracted += [("extracted", one) for one in methods.iter_decisions(page_size=_EXTRACTED)]
        extracted += [("patterns", one) for one in methods.iter_patterns(page_size=_EXTRACTED)]
        extracted += [("warnings", one) for one in methods.iter_warnings(page_size=_EXTRACTED)]
    recorded = methods.iter_recorded_decisions(sort="recordedAt", order="asc", page_size=_PAGE)
    return _Listed(
        decisions=list(recorded) if "decision" in kinds else [],
        episodes=list(methods.iter_episodes(page_size=100)) if "episode" in kinds else [],
        extracted=extracted,
        passages=list(dict.fromkeys(_chunk_ids(methods))) if "chunk" in kinds else [],
    )


def _chunk_ids(methods: Methods) -> Iterator[str]:
    """No list names all chunks, but the changes do: the last change of each existing record."""
    since, more = 0, True
    while more:
        page = methods.changes_page(since, kinds=["chunk"], limit=_CHANGES)
        yield from (change.id for change in page.changes if change.op == "put")
        since, more = page.cursor, page.more


def _read(listed: Sequence[T], read: Callable[[T], R], step: str, steps: Steps) -> Iterator[tuple[T, R]]:
    """Yield each listed record with the result of `read`, except those deleted meanwhile."""
    steps.start(step, len(listed))
    for one in listed:
        steps.advance(1)
        try:
            found = read(one)
        except NotFound:
            continue
        yield one, found


def _write_decisions(
    methods: Methods, listed: Sequence[ListedDecision], files: DataFiles, search: _Search, steps: Steps
) -> dict[str, Sequence[DecisionEdge]]:
    """Write the decisions; return the ids of those that are still there, with the links that agents made."""
    found: dict[str, Sequence[DecisionEdge]] = {}
    for one, whole in _read(listed, lambda one: methods.get_decision(one.id).decision, "decisions", steps):
        file = files.add("texts", _json(whole))
        # lists filter by the end and do not return it
        row = {"listed": one, "file": file, "validTo": whole.model_dump(mode="json", include={"valid_to"})["validTo"]}
        files.add("decisions", to_json(row, by_alias=True).decode())
        search.add(decision_entry(whole))
        found[one.id] = whole.links or []
    return found


def _write_links(
    methods: Methods, decisions: Mapping[str, Sequence[DecisionEdge]], files: DataFiles, steps: Steps
) -> int:
    """Write all links between the decisions, by as few calls as their groups allow; return their number."""
    steps.start("links", len(decisions))
    # links of agents are known already, and those stated by files are in graphs only
    edges: dict[tuple[str, str, str], Wire] = {
        (edge.source_id, edge.edge_type, edge.target_id): edge for made in decisions.values() for edge in made
    }
    known: set[str] = set()
    for id in decisions:
        steps.advance(1)
        if id in known:
            continue
        try:
            around = methods.get_graph(id, depth=_FARTHEST)
            if around.truncated:
                around = methods.get_graph(id, depth=1)
            # of the farthest ones not all links were followed
            known |= {node.id for node in around.nodes if node.depth < around.depth}
        except NotFound:
            continue
        edges |= {(edge.source_id, edge.edge_type, edge.target_id): edge for edge in around.edges}
    for name in sorted(edges):
        files.add("links", _json(edges[name]))
    return len(edges)


def _write_episodes(
    methods: Methods, listed: Sequence[EpisodeSummary], files: DataFiles, search: _Search, steps: Steps
) -> int:
    count = 0
    for _, episode in _read(listed, lambda one: methods.get_episode(one.id), "episodes", steps):
        files.add("episodes", _json(episode))
        search.add(episode_entry(episode))
        count += 1
    return count


def _write_extracted(extracted: Sequence[tuple[str, Extracted]], files: DataFiles, search: _Search) -> int:
    for name, one in extracted:
        files.add(name, _json(one))
        search.add(extraction_entry(one))
    return len(extracted)


def _write_passages(methods: Methods, ids: Sequence[str], files: DataFiles, search: _Search, steps: Steps) -> int:

    def read(id: str) -> tuple[GetChunkResult, RecallItem]:
        recalled = methods.recall(id=id, expand=False, include_events=False, include_entities=False)
        return methods.get_chunk(id, related_limit=20), recalled.results[0]

    titles: dict[str, str] = {}
    count = 0
    for id, (chunk, recalled) in _read(ids, read, "passages", steps):
        file = files.add("passageTexts", _json(chunk))
        passage = recalled.model_dump(mode="json", by_alias=True, include={"metadata", "origin", "recorded_by"})
        files.add("passages", to_json({"id": id, "file": file, **passage}).decode())
        search.add(passage_entry(chunk, _source_of(methods, chunk, recalled, titles)))
        count += 1
    return count


def _source_of(
    methods: Methods, chunk: GetChunkResult, recalled: RecallItem, titles: dict[str, str]
) -> SourceReference | None:
    """Return the source of a passage, which only a recall names by its id; `titles` are the known ones."""
    id = recalled.metadata.source_id if isinstance(recalled.metadata, ChunkMetadata) else None
    if id is None:
        return None
    if id not in titles:
        only = KnowledgeFilters(type=["chunk"], source=id)
        found = methods.search_knowledge(chunk.content[:_QUERY], filters=only, limit=1).results
        titles[id] = found[0].source.title if found and found[0].source is not None else id
    return SourceReference(source_id=id, title=titles[id])


def _json(record: Wire) -> str:
    return record.model_dump_json(by_alias=True)


@dataclass(frozen=True, slots=True)
class WrittenSite:
    """The content of a site, and its size."""

    counts: Counts
    files: int
    bytes: int


def write_site(
    methods: Methods, folder: Path, title: str | None, kinds: frozenset[SiteKind], steps: Steps
) -> WrittenSite:
    """Write the answers of `methods` into `folder`, all or nothing. The default title is the agent's name.

    With a clearance above normal, only the owner of the files can read them.

    Raise FolderRefused, CstpError, OSError, and the errors of `methods` if no answer comes.
    """
    caller = methods.whoami()
    agent = caller.server
    with replace_folder(folder, private=caller.clearance != "normal") as new:
        data = new / "data"
        data.mkdir()
        files = DataFiles(data)
        counts = write_records(methods, kinds, files, steps)
        about = {
            "title": title or agent.agent,
            "agent": agent.agent,
            "version": agent.version,
            "written": format_instant(datetime.now(UTC).replace(microsecond=0)),
            "counts": asdict(counts),
            "files": files.close(),
        }
        (data / "about.js").write_text(script("about", 0, f"[{to_json(about).decode()}]"), encoding="utf-8")
        write_page(static_folder(), new, title or agent.agent)
        sizes = [path.stat().st_size for path in new.rglob("*") if path.is_file()]
    return WrittenSite(counts, len(sizes), sum(sizes))
