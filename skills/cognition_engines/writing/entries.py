"""Records that agents write, on their way into the store: their origin, their digest, their vectors."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256

from cognition_engines.drafts.ids import digest, with_place
from cognition_engines.kinds.registry import OtherRecord, Record, embedding_text, kind_of
from cognition_engines.kinds.spec import WRITTEN, Origin
from cognition_engines.store.values import Entry, FloatArray, StoredRecord
from cognition_engines.writing.requests import Writer


@dataclass(frozen=True, slots=True)
class PreparedTexts:
    """The vectors of the texts of a request, by text; `model` None is a server without one."""

    model: str | None = None
    vectors: Mapping[str, FloatArray] = field(default_factory=dict)


def texts_of(records: Iterable[Record]) -> list[str]:
    """The texts of records that have to be embedded, each once."""
    return list(dict.fromkeys(text for one in records if (text := embedding_text(one)) is not None))


def content_digest(record: OtherRecord) -> str:
    """Of all that a record says, its id left out."""
    return digest(record)


def content_hash_of(record: OtherRecord) -> str:
    """Of all that a record says, 64 hexadecimal digits."""
    return sha256(content_digest(record).encode()).hexdigest()


def entry_of(
    record: OtherRecord,
    writer: Writer,
    made: PreparedTexts,
    known: StoredRecord | None = None,
    ordinal: int = 0,
    identity: str | None = None,
    given: str | None = None,
) -> Entry:
    """A record of a writer with its vectors; another content of a known one keeps that one's origin.

    `given` is the id by which the writer calls a new record, `identity` what makes it this one, if not its id alone.
    """
    text = embedding_text(record)
    vectors = None if text is None or made.model is None else made.vectors[text]
    if known is not None:
        return Entry(record, with_place(replace(known.origin, digest=content_digest(record))), vectors)
    own = sha256(f"{WRITTEN} {kind_of(record).label} {record.id}".encode()).hexdigest()[:32]
    origin = Origin(
        WRITTEN,
        ordinal,
        None,
        content_digest(record),
        given=given,
        identity=identity or own,
        recorded_by=writer.agent,
        via=writer.via,
    )
    return Entry(record, with_place(origin), vectors)


def owned_as(entry: Entry, whole: StoredRecord | None) -> Entry:
    """A passage or an event as part of a known record: its owner is the owner of that, not the agent who amends it."""
    if whole is None:
        return entry
    return replace(entry, origin=replace(entry.origin, recorded_by=whole.origin.recorded_by, via=whole.origin.via))
