"""Assigns ids, projects, sensitivities and digests to read records.

A given id is kept; else it is computed from the identifying members, so reading again finds the record again.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, TypeAlias, TypeVar

from cognition_engines.drafts.chunking import chunks_of
from cognition_engines.drafts.ids import (
    artifact_chunk_id,
    content_identity,
    conversation_id,
    digest,
    episode_identity,
    episode_number,
    episode_text,
    given_identity,
    made_id,
    path_identity,
    sha256_hex,
    turn_identity,
    with_place,
)
from cognition_engines.ingest.items import DocumentDraft, Entries, Identity, ReadEntry, RecordDraft
from cognition_engines.ingest.repository import FilePlace
from cognition_engines.ingest.rights import Rights, RunOptions, rights_of
from cognition_engines.kinds.artifacts import ArtifactChunk, Turn
from cognition_engines.kinds.extractions import Extraction
from cognition_engines.kinds.graph import Edge, Event
from cognition_engines.kinds.knowledge import Chunk, Episode, Source
from cognition_engines.kinds.registry import PARENTS, Record, add_prefix, kind_of
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision, Sensitivity
from cognition_engines.store.origins import full_id
from cognition_engines.store.values import PART, KnownRecord

AnyDraft: TypeAlias = RecordDraft | DocumentDraft
# Stored records by identity.
LookUp: TypeAlias = Callable[[Sequence[str]], Mapping[str, Sequence[KnownRecord]]]
R = TypeVar("R", bound=Record)
_TITLE: Final = 500  # characters


@dataclass(frozen=True, slots=True)
class EarlierOption:
    """An option of an earlier run that still applies: name, value, and scope."""

    option: str
    value: str
    scope: str | None


class RecordIdentifier:
    """Identities, ids and rights for the records of a file or collection, in order.

    `asked` are the run's options, for records without rights of their own. With `local`, ids in the file are names
    within its repository, so records get full ids: see `origins.full_id`. `kept` counts the records to which an earlier
    run's options apply. `guard` is the sensitivity given by such options to new records.
    """

    def __init__(
        self,
        place: FilePlace,
        asked: RunOptions,
        look_up: LookUp,
        guard: tuple[Sensitivity, str] | None = None,
        *,
        local: bool,
    ) -> None:
        self._place = place
        self._repository = place.repository
        self._asked = asked
        self._look_up = look_up
        self._guard = guard
        self._local = local
        self.kept: Counter[EarlierOption] = Counter()
        self._before: Mapping[str, Sequence[KnownRecord]] = {}
        self._turns: Counter[str] = Counter()  # by conversation
        self._turn_ids: dict[str, bool] = {}  # identities made, and whether from a stated index
        self._episodes: Counter[str] = Counter()  # equal ones
        self._file_sources: set[str | None] = set()  # by project, the computed identities
        # the projects of the artifacts and turns of the file, if options give projects
        self._projects: dict[str, str | None] = {}
        # children whose artifact may still come, with their identities, by artifact id
        self._waiting: dict[str, list[tuple[RecordDraft, str]]] = {}

    def identify_next(self, drafts: Sequence[AnyDraft]) -> list[str]:
        """Return the identities of the file's next records, in order, and look up their stored versions."""
        found = [self._identity(draft) for draft in drafts]
        waiting = {identity: self._before[identity] for each in self._waiting.values() for _, identity in each}
        self._before = {**waiting, **self._look_up(found)}
        return found

    def entries(self, draft: AnyDraft, identity: str) -> Iterator[Entries]:
        """Yield the record; before the first extraction without a source, the source of the file itself.

        A child that may get a project from an option waits for the artifact, and comes after it or with the `rest`.
        Raise `rights.Ambiguous` for an unknown project.
        """
        rights = rights_of(self._asked, self._before[identity], self._guard)
        if isinstance(draft, RecordDraft) and (artifact := _deciding_artifact(draft.record, rights)) is not None:
            if artifact in self._projects:
                inherits = self._projects[artifact] != rights.project
                yield from self._make_entries(draft, identity, rights, inherits=inherits)
            else:
                self._waiting.setdefault(artifact, []).append((draft, identity))
            return
        for made in self._make_entries(draft, identity, rights, inherits=False):
            yield made
            kind, id = made[0].name
            if rights.project is not None and kind in PARENTS:
                self._projects[id] = made[0].record.project
                for child in self._waiting.pop(id, ()):
                    yield from self.entries(*child)

    def rest(self) -> Iterator[Entries]:
        """Yield the children whose artifact is elsewhere, at the end of the file."""
        for draft, identity in chain.from_iterable(self._waiting.values()):
            rights = rights_of(self._asked, self._before[identity], self._guard)
            yield from self._make_entries(draft, identity, rights, inherits=False)
        self._waiting.clear()

    def _make_entries(self, draft: AnyDraft, identity: str, rights: Rights, *, inherits: bool) -> Iterator[Entries]:
        """Yield a draft's entries; with `inherits`, a record has the artifact's project and is given no other."""
        if isinstance(draft, DocumentDraft):
            self._note(rights, draft.head.project, draft.head.sensitivity)
            yield self._document(draft, identity, rights)
        else:
            self._note(rights, draft.record.project, draft.record.sensitivity)
            record = _with_rights(draft.record, rights, inherits=inherits, guard=draft.guard)
            if isinstance(record, Extraction) and record.source_id is None:
                yield from self._file_source(record.project, rights, draft.line)
                record = replace(record, source_id=self._file_id(record.project))
            elif isinstance(record, Turn) and draft.of_file:
                record = replace(record, conversation_id=self._conversation(record, record.project))
            settled, full, given = self._settle(record, identity, draft.record.id, draft.export)
            origin = self._origin(draft.ordinal, digest(settled, draft.ordinal), identity, rights, given)
            source = _id_source(draft)
            made = ReadEntry(settled, origin, draft.vectors, line=draft.line, identity=source, full=full)
            yield (made if draft.exported is None else replace(made, handover=draft.exported),)

    def _identity(self, draft: AnyDraft) -> str:
        """Return the identity of a draft in any project; equal turns and episodes are counted."""
        record: Record = draft.head if isinstance(draft, DocumentDraft) else draft.record
        kind = kind_of(record)
        if isinstance(draft, RecordDraft) and draft.export is not None:
            return given_identity(kind, draft.export, add_prefix(kind, str(record.id)))
        if isinstance(record, Turn):
            return self._turn_identity(record, of_file=isinstance(draft, RecordDraft) and draft.of_file)
        if record.id is not None:
            return given_identity(kind, self._repository, add_prefix(kind, str(record.id)))
        if isinstance(record, Decision):
            return path_identity(kind, self._repository, self._place.path, draft.ordinal)
        if isinstance(draft, DocumentDraft) and draft.is_file:
            return self._file_identity(draft.member)
        if isinstance(record, Episode):
            text = episode_text(record)
            self._episodes[text] += 1
            return episode_identity(self._repository, text, self._episodes[text] - 1)
        if isinstance(record, ArtifactChunk):
            return given_identity(kind, self._repository, artifact_chunk_id(record))
        if isinstance(record, Extraction) and record.source_id is None:
            record = replace(record, source_id=self._file_id(None))
        return content_identity(replace(record, project=None), self._repository)

    def _turn_identity(self, turn: Turn, *, of_file: bool) -> str:
        """Return a turn's identity; equal turns without an index differ by their number in the file's conversation.

        A turn at the index stated by an equal turn is another turn: the second of them has another identity.
        """
        if of_file:
            turn = replace(turn, conversation_id=self._conversation(turn, None))
        place = self._turns[turn.conversation_id]
        self._turns[turn.conversation_id] += 1
        if turn.id is not None:
            return given_identity(Kind.TURN, self._repository, add_prefix(Kind.TURN, turn.id))
        stated = turn.turn_index is not None
        index = turn.turn_index if stated else place
        identity = turn_identity(turn, self._repository, index)
        if self._turn_ids.setdefault(identity, stated) is stated:
            return identity
        return turn_identity(turn, self._repository, index, distinguished=True)

    def _conversation(self, turn: Turn, project: str | None) -> str:
        return conversation_id(self._repository, project, self._place.path, turn.conversation_id)

    def _file_identity(self, member: str | None = None) -> str:
        return path_identity(Kind.SOURCE, self._repository, self._path(member), 0)

    def _path(self, member: str | None) -> str:
        return self._place.path if member is None else f"{self._place.path}/{member}"

    def _file_id(self, project: str | None) -> str:
        return made_id(Kind.SOURCE, self._file_identity(), project)

    def _note(self, rights: Rights, project: str | None, sensitivity: Sensitivity | None) -> None:
        """Count a record without stated rights to which an earlier run's rights apply."""
        if project is None and rights.project is not None and rights.project != self._asked.project:
            self.kept[EarlierOption("project", rights.project, rights.project_scope)] += 1
        level = rights.sensitivity
        if sensitivity is None and level is not None and level > (self._asked.sensitivity or Sensitivity.NORMAL):
            self.kept[EarlierOption("sensitivity", level.name.lower(), rights.guard_scope)] += 1

    def _document(self, draft: DocumentDraft, identity: str, rights: Rights) -> Entries:
        head = _with_rights(draft.head, rights)
        if draft.is_file and isinstance(head, Source) and head.path is None:
            head = replace(head, path=self._path(draft.member))
        head, full, given = self._settle(head, identity, draft.head.id)
        # with the text, which a source does not hold: another text under the same id is another document
        of_all = sha256_hex("\0".join([digest(head), *(piece.text for piece in draft.pieces)]))[:32]
        origin = self._origin(draft.ordinal, of_all, identity, rights, given)
        entry = ReadEntry(head, origin, line=draft.line, identity=_id_source(draft), full=full)
        chunks = chunks_of(head, draft.pieces, self._repository)
        return entry, *(self._part(chunk, draft.line, rights) for chunk in chunks)

    def _part(self, part: Chunk | ArtifactChunk, line: int, rights: Rights) -> ReadEntry:
        # as if the id were given: a record stating it is the same record
        identity = given_identity(kind_of(part), self._repository, str(part.id))
        origin = self._origin(PART, digest(part), identity, rights, None)
        return ReadEntry(part, origin, line=line, identity=Identity.CONTENT)

    def _file_source(self, project: str | None, rights: Rights, line: int) -> Iterator[Entries]:
        """Yield the source of the file itself, once."""
        if project in self._file_sources:
            return
        self._file_sources.add(project)
        identity = self._file_identity()
        guarded = rights_of(self._asked, self._look_up([identity])[identity])
        rights = replace(guarded, project=rights.project, project_scope=rights.project_scope)
        title = self._place.path.rpartition("/")[2][:_TITLE]
        source = Source(title=title, path=self._place.path, project=project, sensitivity=_level(None, rights))
        settled, full, given = self._settle(source, identity)
        origin = self._origin(0, digest(settled, 0), identity, rights, given)
        yield (ReadEntry(settled, origin, line=line, identity=Identity.PATH, full=full),)

    def _settle(
        self, record: R, identity: str, given: str | int | None = None, export: str | None = None
    ) -> tuple[R, str | None, str | None]:
        """Return a record with the final id, a full id if another origin may have the id, and the id in the file."""
        kind, short = kind_of(record), _short(record, given)
        full = None if short is None else full_id(short, export or self._repository, record.project)
        if isinstance(record, Episode):
            full = None if full is None else str(episode_number(full))
            number = episode_number(f"{identity} {record.project}") if given is None else int(given)
            return replace(record, id=number), full, short
        if short is None:
            return replace(record, id=made_id(kind, identity, record.project)), full, None
        return replace(record, id=full if self._local else short), full, short

    def _origin(self, ordinal: int, digest: str, identity: str, rights: Rights, given: str | None) -> Origin:
        origin = Origin(
            source=self._place.source,
            ordinal=ordinal,
            ingested_as=rights.project,
            digest=digest,
            repository=self._repository,
            path=self._place.path,
            given=given,
            identity=identity,
            project_scope=rights.project_scope,
            guarded_as=rights.sensitivity,
            guard_scope=rights.guard_scope,
        )
        return with_place(origin)


def _deciding_artifact(record: Record, rights: Rights) -> str | None:
    """Return the id of the artifact that decides whether the option gives a record a project."""
    if rights.project is None or not isinstance(record, ArtifactChunk | Event | Edge) or record.project is not None:
        return None
    return None if record.artifact_id is None else add_prefix(Kind.ARTIFACT, record.artifact_id)


def _with_rights(record: R, rights: Rights, *, inherits: bool = False, guard: Sensitivity | None = None) -> R:
    project = rights.project if record.project is None and not inherits else record.project
    return replace(record, project=project, sensitivity=_level(record.sensitivity, rights, guard))


def _level(stated: Sensitivity | None, rights: Rights, guard: Sensitivity | None = None) -> Sensitivity:
    return next((level for level in (stated, rights.sensitivity, guard) if level is not None), Sensitivity.NORMAL)


def _id_source(draft: AnyDraft) -> Identity:
    """Return the source of a draft's id."""
    if isinstance(draft, DocumentDraft):
        made = Identity.PATH if draft.is_file else Identity.TITLE
        return made if draft.head.id is None else Identity.GIVEN
    if draft.record.id is None:
        return Identity.PATH if isinstance(draft.record, Decision) else Identity.CONTENT
    return Identity.GIVEN if draft.export is None else Identity.EXPORT


def _short(record: Record, given: str | int | None) -> str | None:
    """Return a record's id in the file; an artifact chunk's comes from the artifact's."""
    if given is not None:
        return add_prefix(kind_of(record), str(given))
    return artifact_chunk_id(record) if isinstance(record, ArtifactChunk) else None
