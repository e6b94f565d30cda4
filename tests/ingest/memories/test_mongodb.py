"""Collections of MongoDB, read by pymongo from a server with scripted answers."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from bson import Decimal128, Int64, ObjectId
from bson.binary import STANDARD, Binary

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import checked_address
from cognition_engines.ingest.collections.open_collection import open_collection
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity
from cognition_engines.store.records import Records
from tests.ingest.conftest import CountingEmbedder
from tests.ingest.memories.mongo_server import Mongo, served
from tests.ingest.runs import Run, counts, stored
from tests.stores import free_port

PASSWORD = "a-secret-that-nothing-shows"
ID = ObjectId("65a1b2c3d4e5f60718293a4b")


@pytest.fixture
def mongo() -> Iterator[Mongo]:
    with served(Mongo({"harbour": {"notes": [], "other": []}})) as found:
        yield found


def notes(mongo: Mongo, *documents: dict[str, Any], name: str = "notes") -> None:
    mongo.databases["harbour"][name] = list(documents)


def test_documents_have_values_of_every_type(mongo: Mongo, take: Run, records: Records) -> None:
    uuid = UUID("6f1c1d52-6a0e-4c5e-9a53-0a8f3c1d2e3f")
    notes(
        mongo,
        {
            **{"_id": ID, "text": "High water at nine.", "createdAt": datetime(2025, 1, 2, 3, 4, 5, 678000, UTC)},
            **{"depth": Int64(2**40), "price": Decimal128("1.10"), "by": Binary.from_uuid(uuid, STANDARD)},
            **{"inner": {"ref": ID, "list": [1, 2.5, None, True]}},
            **{"project": "alpha", "sensitivity": "sensitive"},
        },
    )
    assert take(mongo.address()).rejected == ()
    (note,) = stored(records, Kind.ARTIFACT)
    assert (note.id, note.content, note.project, note.sensitivity) == (
        *(f"art_{ID}", "High water at nine."),
        *("alpha", Sensitivity.SENSITIVE),
    )
    assert note.ts.isoformat() == "2025-01-02T03:04:05.678000+00:00"
    assert note.metadata == {
        **{"depth": 2**40, "price": "1.10", "by": str(uuid)},
        **{"inner": {"ref": str(ID), "list": [1, 2.5, None, True]}},
    }


def test_documents_like_records_are_records(mongo: Mongo, take: Run, records: Records) -> None:
    content = {"title": "Wind against tide", "description": "Waves grow steep."}
    notes(mongo, {"_id": ID, "type": "warning", "content": content, "topics": ["sea"], "source_id": ObjectId()})
    assert take(mongo.address()).kinds == {"extraction": 1}
    assert stored(records, Kind.EXTRACTION)[0].id == str(ID)


def test_a_map_reads_members_of_any_name(mongo: Mongo, take: Run, records: Records) -> None:
    notes(mongo, {"_id": 7, "inhalt": "Hochwasser um neun."})
    assert take(mongo.address(), map="records:\n- {kind: artifact, fields: {id: _id, content: inhalt}}\n").new == 1
    assert stored(records, Kind.ARTIFACT)[0].id == "art_7"


@pytest.mark.long("reads many pages from a server")
def test_all_batches_are_read_and_reading_twice_changes_nothing(mongo: Mongo, take: Run) -> None:
    notes(mongo, *({"_id": f"n{number:04}", "text": f"Text {number}"} for number in range(1203)))
    assert take(mongo.address()).new == 1203
    assert counts(take(mongo.address())) == (0, 0, 1203, 0)
    assert mongo.commands.count("getMore") == 4


def test_nothing_but_reading_is_asked_for(mongo: Mongo, take: Run) -> None:
    notes(mongo, {"_id": ID, "text": "t"})
    take(mongo.address(), prune=True)
    assert set(mongo.commands) <= {"listCollections", "find", "getMore", "killCursors", "endSessions"}


def test_ids_are_per_collection(mongo: Mongo, take: Run, records: Records) -> None:
    for name in ("notes", "other"):
        notes(mongo, {"_id": 1, "text": f"Of {name}."}, name=name)
        assert take(mongo.address(name)).new == 1
    assert sorted(note.content for note in stored(records, Kind.ARTIFACT)) == ["Of notes.", "Of other."]


def test_an_unknown_collection_is_refused_with_the_known_names(mongo: Mongo, take: Run) -> None:
    with pytest.raises(ConfigurationError, match="no collection of this name; there are notes, other"):
        take(mongo.address("nothing"))


def test_a_user_who_may_not_list_collections_reads_them(mongo: Mongo, take: Run) -> None:
    notes(mongo, {"_id": ID, "text": "t"})
    mongo.fails["listCollections"] = {"code": 13, "codeName": "Unauthorized", "errmsg": "not authorized"}
    with open_collection(checked_address(mongo.address()), None) as collection:
        assert collection.count() == 1
    assert take(mongo.address()).new == 1


@pytest.mark.long("reads many pages from a server")
def test_a_lost_server_keeps_what_was_read(mongo: Mongo, take: Run, records: Records) -> None:
    notes(mongo, *({"_id": f"n{number:04}", "text": f"Text {number}"} for number in range(1203)))
    mongo.ends_after = 1
    with pytest.raises(ComponentFailed, match=r"mongodb://127.0.0.1:\d+/harbour.notes cannot be read \(AutoReconnect"):
        take(mongo.address(), prune=True)
    assert 0 < len(stored(records, Kind.ARTIFACT)) < 1203
    mongo.ends_after = None
    summary = take(mongo.address())
    assert summary.new + summary.unchanged == 1203


def test_a_refusal_is_named_by_its_code(mongo: Mongo, take: Run) -> None:
    notes(mongo, {"_id": ID, "text": "t"})
    mongo.fails["find"] = {"code": 50, "codeName": "MaxTimeMSExpired", "errmsg": f"of {PASSWORD}"}
    with pytest.raises(ComponentFailed, match=r"cannot be read \(refused with code 50\)") as refused:
        take(mongo.address())
    assert PASSWORD not in str(refused.value)


def test_a_wrong_password_is_refused_unshown(mongo: Mongo, take: Run) -> None:
    mongo.fails["saslStart"] = {"code": 18, "codeName": "AuthenticationFailed", "errmsg": "Authentication failed."}
    address = mongo.address(user=f"ana:{PASSWORD}@", options="?authMechanism=PLAIN")
    with pytest.raises(ComponentFailed, match=r"code 18\); check the user, the password and authSource") as refused:
        take(address)
    assert PASSWORD not in str(refused.value)


def test_the_password_is_in_no_record(mongo: Mongo, take: Run, records: Records) -> None:
    notes(mongo, {"_id": ID, "text": "t"})
    mongo.fails["saslStart"] = {"ok": 1.0, "done": True, "conversationId": 1, "payload": b""}
    address = mongo.address(user=f"ana:{PASSWORD}@", options="?authMechanism=PLAIN&authSource=$external")
    assert take(address).new == 1
    (found,) = records.reads.by_ids(Kind.ARTIFACT, [f"art_{ID}"]).values()
    assert found.origin.source == f"mongodb://127.0.0.1:{mongo.port}/harbour.notes"
    assert PASSWORD not in repr(found)


def test_password_from_environment(mongo: Mongo, take: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    notes(mongo, {"_id": ID, "text": "t"})
    mongo.fails["saslStart"] = {"ok": 1.0, "done": True, "conversationId": 1, "payload": b""}
    monkeypatch.setenv("CSTP_MONGODB_PASSWORD", PASSWORD)
    address = mongo.address(user="ana@", options="?authMechanism=PLAIN&authSource=$external")
    assert take(address).new == 1
    assert PASSWORD.encode() in mongo.payloads[0]


def test_unknown_options_are_refused_without_the_password(take: Run) -> None:
    with pytest.raises(ConfigurationError, match="an option or the password of the address is not read") as refused:
        take(f"mongodb://ana:{PASSWORD}%zz@127.0.0.1:1/harbour.notes?authMechanism=none")
    assert PASSWORD not in str(refused.value)


def test_an_absent_server_is_named(embedder: CountingEmbedder) -> None:
    address = checked_address(f"mongodb://127.0.0.1:{free_port()}/harbour.notes")
    with (
        pytest.raises(ComponentFailed, match=r"ServerSelectionTimeoutError\); check that it is up"),
        open_collection(address, embedder, 0.2),
    ):
        pass
