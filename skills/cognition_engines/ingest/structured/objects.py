"""Objects, one after the other, to what they are: decisions, records of other kinds, documents, refusals."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from cognition_engines.drafts.chunking import is_long, pieces_of
from cognition_engines.drafts.plain_values import RefusedValue, Unacceptable, Value, listed
from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, RejectedRecord, Warned
from cognition_engines.ingest.structured.decisions import read_decision
from cognition_engines.ingest.structured.detect_kind import KIND, kind_of_members, named_kind
from cognition_engines.ingest.structured.records import ReadRecord, read_other
from cognition_engines.kinds.artifacts import Artifact
from cognition_engines.kinds.kind import KIND_NAMES, Kind
from cognition_engines.kinds.knowledge import Source
from cognition_engines.kinds.registry import NAMESAKES
from cognition_engines.models import Problem


@dataclass(frozen=True, slots=True)
class Candidate:
    """What may be a record, and its 1-based line. `broken` when it could not be parsed at all: then `text` is it."""

    value: Value
    line: int
    broken: bool = False
    text: str = ""


class ObjectReader:
    """Reads the objects of one file. Those that are of no kind by their members are taken for decisions."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: defaultdict[Kind, set[str]] = defaultdict(set)  # ids, by the first of the kinds that share theirs
        # what went to metadata, and the vectors that were left out, by kind
        self._kept: dict[Kind, dict[str, None]] = {}
        self._vectors: dict[Kind, dict[str, None]] = {}

    def read(self, candidates: Iterable[Candidate]) -> Iterator[Item]:
        """What each one is, in order; in the end one warning for each kind whose members are not all known."""
        for ordinal, candidate in enumerate(candidates):
            try:
                yield from self._items(candidate, ordinal)
            except Unacceptable as error:
                yield RejectedRecord(Problem(self._path, candidate.line, str(error)))
        for kind, names in self._kept.items():
            yield Warned(Problem(self._path, None, f"members kept in the metadata of {kinds(kind)}: {listed(names)}"))
        for kind, names in self._vectors.items():
            yield Warned(Problem(self._path, None, f"members of {kinds(kind)} that are not read: {listed(names)}"))

    def _items(self, candidate: Candidate, ordinal: int) -> Iterator[Item]:
        """Raises `Unacceptable`."""
        value = candidate.value
        if isinstance(value, RefusedValue):
            raise Unacceptable(value.reason)
        if not isinstance(value, dict):
            raise Unacceptable("a record must be an object with a title, or one that names its kind")
        name = named_kind(value)
        if (name is not None and name not in KIND_NAMES) or (name is None and value.get(KIND) is not None):
            raise Unacceptable(f"kind must be one of {', '.join(kind.label for kind in Kind)}")
        kind = KIND_NAMES[name] if name is not None else kind_of_members(value) or Kind.DECISION
        members = {spelling: member for spelling, member in value.items() if spelling != KIND or name is None}
        if kind is Kind.DECISION:
            yield from self._decision(members, candidate.line, ordinal, named_kind=name is not None)
        else:
            read = read_other(kind, members, named_kind=name is not None)
            draft = drafted(read, ordinal, candidate.line)
            self._first(kind, None if read.record.id is None else str(read.record.id))
            self._note(kind, read.kept, read.vectors)
            yield draft

    def _first(self, kind: Kind, id: str | None) -> None:
        if id is None:
            return
        seen = self._seen[NAMESAKES[0] if kind in NAMESAKES else kind]
        if id in seen:
            raise Unacceptable("id is the id of an earlier record of this file")
        seen.add(id)

    def _note(self, kind: Kind, kept: Sequence[str], vectors: Sequence[str]) -> None:
        if kept:
            self._kept.setdefault(kind, {}).update(dict.fromkeys(kept))
        if vectors:
            self._vectors.setdefault(kind, {}).update(dict.fromkeys(vectors))

    def _decision(self, members: dict[str, Value], line: int, ordinal: int, *, named_kind: bool) -> Iterator[Item]:
        read = read_decision(members, named_kind=named_kind, titled=True)
        self._first(Kind.DECISION, read.decision.id)
        self._note(Kind.DECISION, read.kept, read.vectors)
        yield RecordDraft(read.decision, ordinal, line)


def drafted(read: ReadRecord, ordinal: int, line: int) -> RecordDraft | DocumentDraft:
    """A record; or a document, where its text is to be cut. Raises `Unacceptable` for what no chunk can hold."""
    record = read.record
    if isinstance(record, Source) and read.text is not None:
        return DocumentDraft(record, pieces_of(read.text.replace("\r\n", "\n")), ordinal, line)
    if isinstance(record, Artifact) and is_long(record):
        return DocumentDraft(replace(record, chunked=True), pieces_of(record.content), ordinal, line)
    return RecordDraft(record, ordinal, line)
