"""What one call leaves in the audit, and the hash that binds it to the row before it."""

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final

import orjson

from cognition_engines.kinds.kind import Kind
from cognition_engines.store.codec import microseconds

START: Final = "0" * 64  # the hash before the first row


@dataclass(frozen=True, slots=True)
class AuditedRecord:
    """A record that an answer named, or with `written` one that the call changed; `kind` is the label of its kind."""

    kind: str
    id: str
    written: bool = False


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call: when it was answered, to whom, under which request id, and how it ended.

    `code` is 0 for a result, else the code of the error. `query` is the text asked for, None where queries are not
    kept.
    """

    at: datetime
    agent: str
    via: str
    method: str
    request_id: str
    code: int = 0
    records: tuple[AuditedRecord, ...] = ()
    query: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRow:
    """An entry with its number, from 1, and its hash, 64 hexadecimal digits."""

    number: int
    entry: AuditEntry
    hash: str


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last row of a chain, and the last that was pruned: by number and hash, 0 and START where there is none."""

    number: int = 0
    hash: str = START
    pruned: int = 0
    pruned_hash: str = START


def record_of(kind: Kind, id: object, written: bool = False) -> AuditedRecord:
    """The record of a kind and id, as the audit names it."""
    return AuditedRecord(kind.label, str(id), written)


def query_cell(query: str | None) -> str | None:
    """A query as it is stored: JSON in ASCII, for PostgreSQL keeps no NUL in a text."""
    return None if query is None else json.dumps(query)


def hash_after(previous: str, entry: AuditEntry) -> str:
    """The hash of a row: SHA-256 over the hash of the row before it and the row's content as JSON."""
    content = [
        microseconds(entry.at),
        entry.agent,
        entry.via,
        entry.method,
        entry.request_id,
        entry.code,
        query_cell(entry.query),
        [[one.kind, one.id, one.written] for one in entry.records],
    ]
    return sha256(previous.encode() + orjson.dumps(content)).hexdigest()
