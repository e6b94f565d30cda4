"""Addresses of collections: malformed, of absent servers, and as shown."""

import pytest

from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.ingest.collections.addresses import checked_address, shown_address
from cognition_engines.ingest.collections.open_collection import open_collection
from tests.ingest.conftest import CountingEmbedder
from tests.stores import free_port


@pytest.mark.parametrize(
    "text",
    [
        "chroma:docs",
        "chroma:/",
        "chroma:http://host:8000",
        "chroma:http://a:secret@host/docs",
        "chroma:http://a:secret@host",
        "chroma:http://h:x/d",
        "qdrant:notes",
        "qdrant:http://host:6333",
        "qdrant:http://host:6333/a/b",
        "qdrant:http://user:secret@host:6333/notes",
        "qdrant:http://host:port/notes",
        "qdrant:ftp://host/notes",
        "qdrant:http://host/notes?api-key=secret",
        "qdrant:http://host/..",
        "firestore:http://host:8080/project",
        "firestore:http://host:8080/project/users/ana",
        "mongodb://host/db",
        "mongodb://host/.notes",
        "mongodb://user:se/cret@host/db.notes",
        "mongodb://user:secret/db.notes",
        "mongodb:notes",
    ],
)
def test_a_malformed_address_is_refused_without_its_password(text: str) -> None:
    with pytest.raises(ConfigurationError, match="must read like") as refused:
        checked_address(text)
    assert "cret" not in str(refused.value)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("chroma:http://{}/docs", ""),
        ("qdrant:http://{}/notes", " cannot be read"),
        ("mongodb://{}/harbour.notes", r" cannot be read \(ServerSelectionTimeoutError\); check that it is up"),
    ],
)
def test_an_absent_server_is_named(embedder: CountingEmbedder, address: str, reason: str) -> None:
    checked = checked_address(address.format(f"127.0.0.1:{free_port()}"))
    with pytest.raises(ComponentFailed, match=checked + reason), open_collection(checked, embedder, 0.2):
        pass


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mongodb://u:p%2Fw@a:1,b:2/db.c.d?replicaSet=r", "mongodb://a:1,b:2/db.c.d"),
        ("mongodb+srv://u:pw@cluster.example/db.c", "mongodb+srv://cluster.example/db.c"),
        ("mongodb:mongodb://[::1]:27017/db.c", "mongodb://[::1]:27017/db.c"),
    ],
)
def test_an_address_is_shown_without_user_password_and_options(text: str, shown: str) -> None:
    assert shown_address(checked_address(text)) == shown
