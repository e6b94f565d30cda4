"""Records of a server elsewhere, as used by ingest: looked up and put by calls."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from cognition_engines.errors import ComponentFailed
from cognition_engines.exchange.lines import object_of, origin_from
from cognition_engines.kinds.spec import KINDS, Kind
from cognition_engines.models import SENSITIVITIES, Viewer
from cognition_engines.store.values import (
    PART,
    DanglingReferences,
    Entry,
    ExposedRecords,
    GuardedFile,
    IdTaken,
    KnownRecord,
    Outcome,
    Replaces,
    StoredRecord,
)
from cstp.call import raw_call
from cstp.errors import Conflict
from cstp_server.cli.remote import Remote

METHOD: Final = "cstp.putRecords"
LARGEST: Final = 900_000  # bytes of the records of a call; a server takes 1 MiB unless it is set otherwise
_Object = Mapping[str, Any]


class RemoteOrigins:
    """Origins of a server's records. Raises CstpError, and Unreachable without an answer.

    Reports about the whole store, dangling references and exposed records, are not requested.
    """

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def guarded_files(self) -> list[GuardedFile]:
        """Do as `Origins.guarded`."""
        found = self.call({"lookUp": {"guards": True}})["guarded"]
        return [GuardedFile(one["source"], one["path"], one["scope"], SENSITIVITIES[one["level"]]) for one in found]

    def find_known(self, names: Sequence[tuple[Kind, str]], identities: Sequence[str]) -> list[KnownRecord]:
        """Do as `Origins.known`."""
        found: dict[int, KnownRecord] = {}
        for some in _split_pages([{"kind": kind.label, "id": id} for kind, id in dict.fromkeys(names)]):
            found |= {one.key: one for one in self._find_known({"ids": some})}
        for some in _split_pages([one for one in dict.fromkeys(identities) if one]):
            found |= {one.key: one for one in self._find_known({"identities": some})}
        return [found[key] for key in sorted(found)]

    def of_place(self, place: tuple[str, str]) -> list[KnownRecord]:
        """Do as `Origins.of_place`."""
        return self._find_known({"places": [{"repository": place[0], "path": place[1]}]})

    def dangling_references(self, places: Sequence[tuple[str, str]]) -> list[DanglingReferences]:
        """Return nothing: the server is not asked."""
        return []

    def exposed_records(self, places: Sequence[tuple[str, str]]) -> list[ExposedRecords]:
        """Return nothing: the server is not asked."""
        return []

    def find_meant(self, kinds: Sequence[Kind], id: str, viewer: Viewer | None) -> list[tuple[str, StoredRecord]]:
        """Return nothing: the server is not asked."""
        return []

    def _find_known(self, asked: _Object) -> list[KnownRecord]:
        return [
            KnownRecord(one["key"], KINDS[one["kind"]], one["id"], one["project"], origin_from(one["origin"]))
            for one in self.call({"lookUp": asked})["known"]
        ]

    def call(self, params: _Object) -> Any:
        """Return a call's result; send again if the server asks to wait."""
        try:
            return self._remote.send_patiently(raw_call(METHOD, params))
        except Conflict as error:
            if error.reason != "state":
                raise
            raise IdTaken(Kind.DECISION, str(error.id), "the server") from None


class RemoteRecords:
    """Records looked up and put on a server; see `RemoteOrigins`."""

    def __init__(self, remote: Remote) -> None:
        self.origins: Final = RemoteOrigins(remote)

    def put(self, batch: Sequence[Entry], model: str | None, replaces: Sequence[Replaces] = ()) -> tuple[Outcome, ...]:
        """Put records as `Records.put` does, without vectors; large documents are sent in separate calls."""
        assert model is None
        outcomes: list[Outcome] = []
        calls = list(_calls(batch))
        left = list(replaces)
        for entries in calls:
            ids = {str(one.record.id) for one in entries}
            # the rest belongs to documents sent as passages only
            mine = [one for one in left if one.id in ids or entries is calls[-1]]
            left = [one for one in left if one not in mine]
            params = {"records": [_encode_entry(one) for one in entries], "replaces": list(map(_replaces_params, mine))}
            outcomes += [Outcome(one) for one in self.origins.call(params)["outcomes"]]
        return tuple(outcomes)


def _encode_entry(entry: Entry) -> dict[str, Any]:
    return object_of(replace(entry, vectors=None), datetime.now(UTC))


def _replaces_params(one: Replaces) -> dict[str, Any]:
    kept = [{"kind": kind.label, "id": id} for kind, id in sorted(one.kept)]
    return {"kind": one.kind.label, "id": one.id, "kept": kept}


def _calls(batch: Sequence[Entry]) -> Iterator[list[Entry]]:
    """Group the entries into calls up to LARGEST bytes, a document with all parts in the same call."""
    call: list[Entry] = []
    size = 0
    for document in _documents(batch):
        bytes_ = sum(len(json.dumps(_encode_entry(one))) for one in document)
        if bytes_ > LARGEST:
            id = document[0].record.id
            raise ComponentFailed(
                "records", f"{id} has more than {LARGEST:,} bytes: run cstp ingest on the server's machine"
            )
        if call and size + bytes_ > LARGEST:
            yield call
            call, size = [], 0
        call += document
        size += bytes_
    if call:
        yield call


def _documents(batch: Sequence[Entry]) -> Iterator[list[Entry]]:
    held: list[Entry] = []
    for entry in batch:
        if held and entry.origin.ordinal != PART:
            yield held
            held = []
        held.append(entry)
    if held:
        yield held


def _split_pages(values: Sequence[Any], size: int = 500) -> Iterator[list[Any]]:
    for start in range(0, len(values), size):
        yield list(values[start : start + size])
