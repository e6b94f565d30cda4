"""Writes of records that files own, as an ingest puts them, for a program that reads the files elsewhere."""

from dataclasses import replace

from cognition_engines.kinds.spec import INGESTED, WRITTEN
from cognition_engines.models import EVERYTHING
from cognition_engines.store.values import Entry, IdTaken
from cognition_engines.store.write_transaction import WriteTransaction
from cognition_engines.writing.entries import Prepared
from cognition_engines.writing.errors import WriteConflict, WriteRefused, WritesRefused
from cognition_engines.writing.memory_requests import PutOutcomes, PutRecords
from cognition_engines.writing.requests import WriteCaller


def check_import(writer: WriteCaller) -> None:
    """Raises WriteRefused for a token that does not see everything: taken ids would show what is hidden."""
    if writer.viewer != EVERYTHING:
        raise WriteRefused("records", "need a token of the highest clearance that has no list of projects")


def put_records(transaction: WriteTransaction, writer: WriteCaller, asked: PutRecords, made: Prepared) -> PutOutcomes:
    """Puts records as `Records.put` does; what is stored already as it is sent is left alone.

    Raises WritesRefused for a record that no file can own, and WriteConflict for an id that another origin has.
    """
    check_import(writer)
    faults = [
        (f"records[{place}].origin.source", "must be a file")
        for place, one in enumerate(asked.records)
        if one.origin.source == WRITTEN
    ]
    if faults:
        raise WritesRefused(faults)
    batch = [_entry(one, writer, made) for one in asked.records]
    try:
        outcomes = transaction.put_all(batch, made.model, asked.replaces)
    except IdTaken as error:
        held = f"a record of the kind {error.kind.label}"
        raise WriteConflict(error.id, "state", "an id of the same origin", held) from None
    except ValueError as error:
        raise WriteRefused("records", str(error)) from None
    id = str(asked.records[0].record.id) if asked.records else ""
    return PutOutcomes(id=id, seq=transaction.seq(), outcomes=outcomes)


def _entry(entry: Entry, writer: WriteCaller, made: Prepared) -> Entry:
    """An entry with its vectors, and with who sent it."""
    origin = replace(entry.origin, recorded_by=writer.agent, via=INGESTED)
    return replace(entry, origin=origin, vectors=made.vectors_of(entry.record), updated_at=None)
