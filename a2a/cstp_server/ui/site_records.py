"""Sites: records visible to a token, read only by public methods, as files for use without a server."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, get_args

from pydantic_core import to_json

from cognition_engines.errors import StatedError
from cognition_engines.set_aside import Part, RecordVersion, SetAside
from cstp.client.methods import Methods
from cstp.errors import InternalError, NotFound, QueryFailed
from cstp.values.base import Wire
from cstp.values.decision_links import DecisionEdge, GetGraphResult
from cstp.values.decision_reads import ListedDecision, WholeDecision
from cstp.values.episodes import EpisodeSummary, GetEpisodeResult
from cstp.values.fields import format_instant
from cstp.values.knowledge import GetChunkResult, KnowledgeFilters, SourceReference
from cstp.values.recall import ChunkMetadata, RecallItem
from cstp_server.ui.assets import static_folder
from cstp_server.ui.site_entries import (
    CutEntry,
    Extracted,
    decision_entry,
    episode_entry,
    extraction_entry,
    passage_entry,
    searched_characters,
)
from cstp_server.ui.site_files import DataFiles, replace_folder, script, write_page

T = TypeVar("T")
R = TypeVar("R")
SiteKind = Literal["decision", "episode", "extraction", "chunk"]
SITE_KINDS: Final[tuple[SiteKind, ...]] = get_args(SiteKind)
_PAGE: Final = 500
_EXTRACTED: Final = 100  # of a page: a server's answer may have 5 MB
_Name: TypeAlias = tuple[str, str]  # a kind and an id
_LISTED_TYPES: Final = ("decision", "pattern", "warning")  # of extractions
_CHANGES: Final = 1000
_QUERY: Final = 1000  # characters of a passage for finding its source
_FARTHEST: Final = 5  # links followed by a single call


class Steps(Protocol):
    """Progress of reading."""

    def start(self, step: str, records: int) -> None: ...

    def advance(self, records: int) -> None: ...


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of records per kind; the first `searched` characters of each text are searched."""

    decisions: int
    links: int
    episodes: int
    extractions: int
    passages: int
    searched: int
    cut: bool


@dataclass(frozen=True, slots=True)
class _Listed:
    """Records to read: all kinds in list order, decisions as recorded."""

    decisions: Sequence[ListedDecision]
    episodes: Sequence[EpisodeSummary]
    extracted: Sequence[tuple[str, Extracted]]
    passages: Sequence[str]


def write_records(
    methods: Methods, kinds: frozenset[SiteKind], files: DataFiles, steps: Steps, set_aside: SetAside
) -> Counts:
    """Write all records of these kinds, except records deleted meanwhile, and records then in `set_aside`.

    Raise CstpError, OSError, and errors from `methods` if no answer comes.
    """
    before = _changed(methods, kinds)
    listed = _list_records(methods, kinds, before)
    total = len(listed.decisions) + len(listed.episodes) + len(listed.extracted) + len(listed.passages)
    writer = _SiteWriter(methods, files, steps, set_aside, searched_characters(total))
    writer.note_unlisted(before, listed)
    decisions = writer.write_decisions(listed.decisions)
    links = writer.write_links(decisions)
    return Counts(
        decisions=len(decisions),
        links=links,
        episodes=writer.write_episodes(listed.episodes),
        extractions=writer.write_extracted(listed.extracted),
        passages=writer.write_passages(listed.passages),
        searched=writer.characters,
        cut=writer.cut,
    )


def _list_records(methods: Methods, kinds: frozenset[SiteKind], before: Sequence[_Name]) -> _Listed:
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
        passages=[id for kind, id in before if kind == "chunk"],
    )


def _changed(methods: Methods, kinds: frozenset[SiteKind]) -> list[_Name]:
    """Return all records by last change: no list names chunks, or records the server cannot show."""
    found: dict[_Name, None] = {}
    since, more = 0, True
    while more:
        page = methods.changes_page(since, kinds=sorted(kinds), limit=_CHANGES)
        found |= {(change.kind, change.id): None for change in page.changes if change.op == "put"}
        since, more = page.cursor, page.more
    return list(found)


@dataclass(frozen=True, slots=True)
class _Texts:
    """A record's JSON texts: the record, the list row without the file number, and the search entry."""

    whole: str
    row: str
    entry: CutEntry


class _SiteWriter:
    """Writer of records into a site's files; `cut` is true if a search entry's text was too long.

    A record impossible to read or write as JSON is omitted, and is in `set_aside`.
    """

    def __init__(self, methods: Methods, files: DataFiles, steps: Steps, set_aside: SetAside, characters: int) -> None:
        self._methods = methods
        self._files = files
        self._steps = steps
        self._set_aside = set_aside
        self._numbers = count()
        self.characters: Final = characters
        self.cut = False

    def note_unlisted(self, before: Sequence[_Name], listed: _Listed) -> None:
        """Note existing records missing in all lists."""
        known: set[_Name] = {("decision", one.id) for one in listed.decisions}
        known |= {("episode", str(one.id)) for one in listed.episodes}
        known |= {("extraction", one.id) for _, one in listed.extracted}
        for kind, id in before:
            if kind == "chunk" or (kind, id) in known:
                continue
            version = self._version(kind, id)
            whole = self._read_record(version, partial(self._methods.fetch, id, kind=kind))
            if whole is not None and (kind != "extraction" or whole.metadata.get("type") in _LISTED_TYPES):
                self._set_aside.note(Part.PAGE, version, StatedError("the server cannot list it"))

    def write_decisions(self, listed: Sequence[ListedDecision]) -> dict[str, Sequence[DecisionEdge]]:
        """Write the decisions; return the ids of existing decisions, with agents' links."""
        found: dict[str, Sequence[DecisionEdge]] = {}
        read = self._methods.get_decision
        for one, version in self._each("decisions", "decision", listed, [one.id for one in listed]):
            if (answer := self._read_record(version, partial(read, one.id))) is None:
                continue
            work = partial(_decision_texts, one, answer.decision, self.characters)
            if (texts := self._attempt(version, work)) is not None:
                self._add("texts", "decisions", texts)
                found[one.id] = answer.decision.links or []
        return found

    def write_links(self, decisions: Mapping[str, Sequence[DecisionEdge]]) -> int:
        """Write all links between the decisions, by as few calls as their groups allow; return their number."""
        # links of agents are known already, and those stated by files are in graphs only
        edges: dict[tuple[str, str, str], Wire] = {
            (edge.source_id, edge.edge_type, edge.target_id): edge for made in decisions.values() for edge in made
        }
        known: set[str] = set()
        for id, version in self._each("links", "links of decision", [*decisions], [*decisions]):
            around = None if id in known else self._read_record(version, partial(self._read_graph, id))
            if around is not None:
                # for the farthest decisions not all links were followed
                known |= {node.id for node in around.nodes if node.depth < around.depth}
                edges |= {(edge.source_id, edge.edge_type, edge.target_id): edge for edge in around.edges}
        for name in sorted(edges):
            self._files.add("links", _json(edges[name]))
        return len(edges)

    def _read_graph(self, id: str) -> GetGraphResult:
        around = self._methods.get_graph(id, depth=_FARTHEST)
        return self._methods.get_graph(id, depth=1) if around.truncated else around

    def write_episodes(self, listed: Sequence[EpisodeSummary]) -> int:
        """Write the episodes; return their number."""
        written = 0
        for one, version in self._each("episodes", "episode", listed, [str(one.id) for one in listed]):
            episode = self._read_record(version, partial(self._methods.get_episode, one.id))
            if episode is not None:
                work = partial(_episode_texts, episode, self.characters)
                written += self._add_row("episodes", self._attempt(version, work))
        return written

    def write_extracted(self, extracted: Sequence[tuple[str, Extracted]]) -> int:
        """Write the extractions into their lists; return their number."""
        written = 0
        for name, one in extracted:
            work = partial(_extraction_texts, one, self.characters)
            written += self._add_row(name, self._attempt(self._version("extraction", one.id), work))
        return written

    def write_passages(self, ids: Sequence[str]) -> int:
        """Write the passages; return their number."""
        titles: dict[str, str] = {}
        written = 0
        for id, version in self._each("passages", "chunk", ids, ids):
            found = self._read_record(version, partial(_read_passage, self._methods, id, titles))
            if found is None:
                continue
            texts = self._attempt(version, partial(_passage_texts, found, self.characters))
            if texts is not None:
                self._add("passageTexts", "passages", texts)
                written += 1
        return written

    def _each(self, step: str, kind: str, listed: Sequence[T], ids: Sequence[str]) -> Iterator[tuple[T, RecordVersion]]:
        """Yield each record with a version, and show the progress."""
        self._steps.start(step, len(listed))
        for one, id in zip(listed, ids, strict=True):
            self._steps.advance(1)
            yield one, self._version(kind, id)

    def _version(self, kind: str, id: str) -> RecordVersion:
        return RecordVersion(next(self._numbers), 0, kind, id)  # a caller knows no keys

    def _read_record(self, version: RecordVersion, read: Callable[[], R]) -> R | None:
        """Return the answer about a record; None if it was deleted meanwhile, or if the server cannot answer.

        Raise QueryFailed if the server cannot answer about other records, either.
        """
        try:
            return read()
        except NotFound:
            return None
        except (InternalError, QueryFailed) as error:
            if isinstance(error, QueryFailed):
                self._methods.list_decisions(limit=1)
            self._set_aside.note(Part.PAGE, version, error)
            return None

    def _attempt(self, version: RecordVersion, work: Callable[[], R]) -> R | None:
        return self._set_aside.attempt(Part.PAGE, version, work, None)

    def _add(self, bundle: str, name: str, texts: _Texts) -> None:
        """Write a record into a bundle, and the row with the bundle's file number."""
        file = self._files.add(bundle, texts.whole)
        self._files.add(name, f'{texts.row[:-1]},"file":{file}}}')
        self._add_entry(texts.entry)

    def _add_row(self, name: str, texts: _Texts | None) -> int:
        """Write a record into a list; return how many were written."""
        if texts is None:
            return 0
        self._files.add(name, texts.whole)
        self._add_entry(texts.entry)
        return 1

    def _add_entry(self, entry: CutEntry) -> None:
        self.cut |= entry.was_longer
        self._files.add("search", entry.json)


def _decision_texts(listed: ListedDecision, whole: WholeDecision, characters: int) -> _Texts:
    # lists filter by the end and do not return it
    row = {"listed": listed, "validTo": whole.model_dump(mode="json", include={"valid_to"})["validTo"]}
    return _Texts(_json(whole), to_json(row, by_alias=True).decode(), decision_entry(whole).cut(characters))


def _episode_texts(episode: GetEpisodeResult, characters: int) -> _Texts:
    return _Texts(_json(episode), "", episode_entry(episode).cut(characters))


def _extraction_texts(one: Extracted, characters: int) -> _Texts:
    return _Texts(_json(one), "", extraction_entry(one).cut(characters))


@dataclass(frozen=True, slots=True)
class _Passage:
    """A passage, its recall result, and its source if known."""

    chunk: GetChunkResult
    recalled: RecallItem
    source: SourceReference | None


def _passage_texts(found: _Passage, characters: int) -> _Texts:
    passage = found.recalled.model_dump(mode="json", by_alias=True, include={"metadata", "origin", "recorded_by"})
    row = to_json({"id": found.chunk.chunk_id, **passage}).decode()
    return _Texts(_json(found.chunk), row, passage_entry(found.chunk, found.source).cut(characters))


def _read_passage(methods: Methods, id: str, titles: dict[str, str]) -> _Passage:
    recalled = methods.recall(id=id, expand=False, include_events=False, include_entities=False).results[0]
    chunk = methods.get_chunk(id, related_limit=20)
    return _Passage(chunk, recalled, _source_of(methods, chunk, recalled, titles))


def _source_of(
    methods: Methods, chunk: GetChunkResult, recalled: RecallItem, titles: dict[str, str]
) -> SourceReference | None:
    """Return a passage's source: only recall names it by id; `titles` are the known titles."""
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
    """Content and size of a site."""

    counts: Counts
    files: int
    bytes: int


def write_site(
    methods: Methods,
    folder: Path,
    title: str | None,
    kinds: frozenset[SiteKind],
    steps: Steps,
    set_aside: SetAside,
) -> WrittenSite:
    """Write the answers of `methods` into `folder`, all or nothing except the records then in `set_aside`.

    The default title is the agent's name. With a clearance above normal, only the files' owner can read them.

    Raise FolderRefused, CstpError, OSError, and the errors of `methods` if no answer comes.
    """
    caller = methods.whoami()
    agent = caller.server
    with replace_folder(folder, private=caller.clearance != "normal") as new:
        data = new / "data"
        data.mkdir()
        files = DataFiles(data)
        counts = write_records(methods, kinds, files, steps, set_aside)
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
