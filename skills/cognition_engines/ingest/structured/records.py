"""From objects to checked records, documents and refusals."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from pydantic import JsonValue, ValidationError

from cognition_engines.drafts.chunking import is_long, pieces_of
from cognition_engines.drafts.plain_values import (
    LABELS,
    RefusedValue,
    Unacceptable,
    Value,
    join_reasons,
    labels,
    list_names,
    misspelled_right,
    safe_name,
    unsound,
    whole,
)
from cognition_engines.drafts.refusal_messages import kinds, reasons, with_article
from cognition_engines.ingest.items import DocumentDraft, Item, RecordDraft, rejected, warned
from cognition_engines.ingest.structured.aliases import (
    KIND,
    VECTORS,
    DuplicateField,
    Members,
    kind_of_members,
    named_kind,
    read_members,
    snake,
)
from cognition_engines.ingest.structured.decisions import ReadRecord, read_decision
from cognition_engines.kinds.artifacts import Artifact
from cognition_engines.kinds.extractions import EXTRACTION_TYPES, content_lists
from cognition_engines.kinds.knowledge import Source
from cognition_engines.kinds.registry import ID_SPACE, OtherRecord, Record, validate_record
from cognition_engines.kinds.spec import KIND_NAMES, Kind

_MARK: Final = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# The member for an extraction's content given as a mere text, by type.
AS_TEXT: Final[Mapping[str, tuple[Mapping[str, str], str]]] = {
    "decision": ({}, "question"),
    "pattern": ({"name": "Pattern"}, "solution"),
    "warning": ({"title": "Warning"}, "description"),
}


def read_other(kind: Kind, given: Mapping[str, Value], *, named_kind: bool) -> ReadRecord[OtherRecord]:
    """Check the members of a record. Raise `Unacceptable` with all faults.

    Members unknown to the kind are refused if the record names its kind, else kept in the metadata.
    """
    bad = unsound(given)
    wrong = [*bad.values(), *filter(None, map(misspelled_right, given))]
    members, twice = _rename_members(kind, {name: value for name, value in given.items() if name not in bad})
    wrong += twice.values()
    if named_kind:
        unknown = [name for name in members.others if name not in members.storage and misspelled_right(name) is None]
        wrong += [f"{safe_name(name, 'an unknown member')} is not a field of {with_article(kind)}" for name in unknown]
    known = {name: value if name == "metadata" else whole(value) for name, value in members.known.items()}
    text = known.pop("content", None) if kind is Kind.SOURCE else None
    if text is not None and not isinstance(text, str):
        wrong.append("content must be text")
    try:
        kept = () if wrong else into_metadata(known, members.others)
    except Unacceptable as error:
        wrong.append(str(error))
    try:
        record = cast("OtherRecord", validate_record(kind, cast("Mapping[str, JsonValue]", _make_strict(kind, known))))
    except ValidationError as error:
        found = reasons(error, kind, known, absent={*map(snake, bad), *twice})
        if kind is Kind.EXTRACTION and known.get("type") not in EXTRACTION_TYPES:
            found += _wrong_beside_type(known)
        raise Unacceptable(join_reasons([*wrong, *found])) from None
    if wrong:
        raise Unacceptable(join_reasons(wrong))
    left_out = tuple(name for name in members.others if name in VECTORS)
    return ReadRecord(record, tuple(kept), left_out, text if isinstance(text, str) else None)


def _rename_members(kind: Kind, given: Mapping[str, Value]) -> tuple[Members, dict[str, str]]:
    """Return the members by our names, and the rejections of duplicate members, by name.

    The first of two is kept, so other faults are found.
    """
    rest, twice = dict(given), dict[str, str]()
    while True:
        try:
            return read_members(kind, rest), twice
        except DuplicateField as error:
            twice[error.name] = str(error)
            spellings = [spelling for spelling in rest if snake(spelling) == error.name]
            if not spellings:
                twice["content"] = str(error)  # it has both
            del rest[spellings[-1] if spellings else "content"]


def _wrong_beside_type(known: Mapping[str, Value]) -> list[str]:
    """Return other flaws of an extraction of no known type; its content could be anything."""
    others: dict[str, Value] = {**known, "type": "warning", "content": {"title": "-", "description": "-"}}
    try:
        validate_record(Kind.EXTRACTION, cast("Mapping[str, JsonValue]", others))
    except ValidationError as error:
        return reasons(error, Kind.EXTRACTION, others)
    return []


def check_rights(names: Iterable[str]) -> None:
    """Raise `Unacceptable` for the name of a right in an unknown spelling."""
    for reason in filter(None, map(misspelled_right, names)):
        raise Unacceptable(reason)


def into_metadata(known: dict[str, Value], others: Mapping[str, Value]) -> Iterable[str]:
    """Move members without a field into the metadata; return their names. Raise `Unacceptable`."""
    kept = {name: value for name, value in others.items() if name not in VECTORS}
    metadata = known.get("metadata", {})
    if not kept or not isinstance(metadata, dict):
        return ()
    if both := sorted(kept.keys() & metadata.keys()):
        raise Unacceptable(f"{safe_name(both[0], 'an unknown member')} is given in metadata and outside it")
    known["metadata"] = {**metadata, **kept}
    return kept


def _make_strict(kind: Kind, known: dict[str, Value]) -> dict[str, Value]:
    """Return the members with their lenient forms made strict; see docs/record-files.md."""
    known |= {name: labels(known[name]) for name in LABELS & known.keys()}
    if isinstance(card := known.get("knowledge_card"), dict) and "tags" in card:
        known["knowledge_card"] = {**card, "tags": labels(card["tags"])}
    if kind is Kind.EXTRACTION:
        return known | {"content": _wrap_text(known.get("type"), known.get("content"))}
    if kind is Kind.ARTIFACT and isinstance(participants := known.get("participants"), str):
        known["participants"] = [name.strip() for name in participants.split(",") if name.strip()]
    if kind is Kind.EVENT:
        if isinstance(known.get("actors"), str | dict):
            known["actors"] = [known["actors"]]
        evidence = known.get("evidence")
        given = evidence if isinstance(evidence, list) else [] if evidence is None else [evidence]
        known["evidence"] = [{"quote": quote} if isinstance(quote, str) else quote for quote in given]
    return known


def _wrap_text(type: Value, content: Value) -> Value:
    if isinstance(content, str) and isinstance(type, str) and type in AS_TEXT:
        others, name = AS_TEXT[type]
        return {**others, name: content}
    if not isinstance(content, dict) or not isinstance(type, str):
        return content
    lists = content_lists(type)
    return {name: _items(value) if name in lists else value for name, value in content.items()}


def _items(value: Value) -> Value:
    """Return a text as a list: a single item, or an item for each line, without list marks."""
    if not isinstance(value, str):
        return value
    if "\n" not in value:
        return [value]
    return [_MARK.sub("", line).strip() for line in value.split("\n") if line.strip()]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible record, and its 1-based line. `broken` if it could not be parsed: then `text` is the source."""

    value: Value
    line: int
    broken: bool = False
    text: str = ""


class ObjectReader:
    """Reader of a file's objects. Objects whose members imply no kind are read as decisions."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: defaultdict[Kind, set[str]] = defaultdict(set)  # ids, by the first of the kinds that share ids
        # members moved to metadata, and dropped vectors, by kind
        self._kept: dict[Kind, dict[str, None]] = {}
        self._vectors: dict[Kind, dict[str, None]] = {}

    def read(self, candidates: Iterable[Candidate]) -> Iterator[Item]:
        """Yield the item of each candidate, in order; then a warning for each kind with unknown members."""
        for ordinal, candidate in enumerate(candidates):
            try:
                yield self._read_candidate(candidate, ordinal)
            except Unacceptable as error:
                yield rejected(self._path, str(error), candidate.line)
        for kind, names in self._kept.items():
            yield warned(self._path, f"members kept in the metadata of {kinds(kind)}: {list_names(names)}")
        for kind, names in self._vectors.items():
            yield warned(self._path, f"members of {kinds(kind)} that are not read: {list_names(names)}")

    def _read_candidate(self, candidate: Candidate, ordinal: int) -> Item:
        """Return the draft of a candidate. Raise `Unacceptable`."""
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
        named = name is not None
        read: ReadRecord[Record] = (
            read_decision(members, named_kind=named, titled=True)
            if kind is Kind.DECISION
            else read_other(kind, members, named_kind=named)
        )
        draft = draft_object(read, ordinal, candidate.line)
        if read.record.id is not None:
            seen, id = self._seen[ID_SPACE[kind]], str(read.record.id)
            if id in seen:
                raise Unacceptable("id is the id of an earlier record of this file")
            seen.add(id)
        for noted, names in ((self._kept, read.kept), (self._vectors, read.vectors)):
            if names:
                noted.setdefault(kind, {}).update(dict.fromkeys(names))
        return draft


def draft_object(read: ReadRecord[Record], ordinal: int, line: int) -> RecordDraft | DocumentDraft:
    """Return a record, or a document if its text must be cut. Raise `Unacceptable` if no chunk can hold a part."""
    record = read.record
    if isinstance(record, Source) and read.text is not None:
        return DocumentDraft(record, pieces_of(read.text.replace("\r\n", "\n")), ordinal, line)
    if isinstance(record, Artifact) and is_long(record):
        return DocumentDraft(replace(record, chunked=True), pieces_of(record.content), ordinal, line)
    return RecordDraft(record, ordinal, line)
