"""The neighbour index alone: answers, and conditions to trust the folder."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cognition_engines.chroma_address import server_address
from cognition_engines.errors import ComponentFailed, ConfigurationError
from cognition_engines.indexes.vectors.chroma.index import ChromaIndex, close_folder, open_folder
from cognition_engines.indexes.vectors.collection import collection_name
from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Decision
from cognition_engines.set_aside import is_unexpected
from cognition_engines.spaces import DECISIONS
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry
from tests.stored import changes_of

NAME = "decisions-seeded"


@pytest.fixture
def index(records: Records, tmp_path: Path) -> Callable[..., ChromaIndex]:
    """Return `index()`: the folder's index, up to date."""

    def opened(name: str = NAME, store_id: str | None = None) -> ChromaIndex:
        found = open_folder(tmp_path / "indexes", name, store_id or records.store_id, records.last_seq())
        follow(found, records)
        return found

    return opened


def follow(index: ChromaIndex, records: Records) -> int:
    """Apply missing changes; return their number."""
    done = 0
    while page := records.changes.page(DECISIONS, index.seq, 100, "seeded-a"):
        index.apply(page)
        done += len(page)
    return done


def close(index: ChromaIndex, records: Records, name: str = NAME) -> None:
    close_folder(index, name, records.store_id)


def keys(records: Records) -> dict[str, int]:
    return {c.stored.record.id: c.stored.key for c in changes_of(records, 0, 9999, None) if hasattr(c, "stored")}


def test_the_nearest_windows_come_first_and_changes_replace_earlier_windows(
    index: Callable[..., Any], records: Records, put: Callable[..., None], seeded: Callable[..., Any], tmp_path: Path
) -> None:
    model = seeded()
    put(model, *(f"d-{n}" for n in range(50)))
    opened = index()
    by_id = keys(records)
    for id in ("d-3", "d-44"):
        assert opened.nearest(model.embed_query(f"{id}\n"), 1).tolist() == [by_id[id]]
    put(model, "d-3", text="other")
    records.delete(Kind.DECISION, ["d-44"])
    assert follow(opened, records) == 2
    assert opened.windows() == 49
    assert opened.nearest(model.embed_query("d-3\nother"), 1).tolist() == [by_id["d-3"]]
    assert by_id["d-44"] not in opened.nearest(model.embed_query("d-44\n"), 49).tolist()
    opened.close()


def test_equal_vectors_stored_apart(index: Callable[..., Any], records: Records, seeded: Callable[..., Any]) -> None:
    vector = seeded().embed_query("the same text")
    entries = [
        Entry(Decision(f"d-{n}", "d"), Origin("/x", n, None, str(n)), np.stack([vector, vector])) for n in range(150)
    ]
    records.put(entries, "seeded-a")
    opened = index()
    stored = opened._collection.get(include=["embeddings"])["embeddings"]
    assert len(np.unique(stored, axis=0)) == 300
    assert np.min(stored @ vector) > 0.999 * float(vector @ vector)
    assert len(opened.nearest(vector, 300)) == 300
    opened.close()


def test_a_failure_of_the_database_is_not_due_to_a_record(
    index: Callable[..., Any], records: Records, put: Callable[..., None], seeded: Callable[..., Any]
) -> None:
    opened = index()
    with closing(sqlite3.connect(opened.folder / "chroma.sqlite3")) as database:
        database.execute("DROP TABLE embeddings_queue")
    put(seeded(), "d-1")
    with pytest.raises(ComponentFailed, match="raised InternalError") as failed:
        follow(opened, records)
    assert not is_unexpected(failed.value)
    opened.close()


def test_lost_windows_are_removed(index: Callable[..., Any], records: Records, seeded: Callable[..., Any]) -> None:
    for windows in (64, 3, 10, 1):
        vectors = np.stack([seeded().embed_query(f"{windows} {n}") for n in range(windows)])
        origin = Origin("/x", 0, None, str(windows))
        records.put([Entry(Decision("d", "d"), origin, vectors)], "seeded-a")
        opened = index()
        assert opened.windows() == windows
        opened.close()


def test_a_clean_shutdown_is_trusted_and_nothing_is_applied_again(
    records: Records, put: Callable[..., None], seeded: Callable[..., Any], tmp_path: Path, index: Callable[..., Any]
) -> None:
    put(seeded(), "a", "b", "c")
    close(index(), records)
    last = records.last_seq()
    put(seeded(), "d")
    again = open_folder(tmp_path / "indexes", NAME, records.store_id, records.last_seq())
    assert (again.seq, again.windows()) == (last, 3)
    assert follow(again, records) == 1
    again.close()
    assert again.folder == tmp_path / "indexes/chroma-1"


def test_the_mark_counts_for_one_start_only(
    records: Records, put: Callable[..., None], seeded: Callable[..., Any], tmp_path: Path, index: Callable[..., Any]
) -> None:
    put(seeded(), "a", "b")
    close(index(), records)
    index().close()  # as killed: without leaving a mark
    again = open_folder(tmp_path / "indexes", NAME, records.store_id, records.last_seq())
    assert (again.seq, again.windows()) == (0, 0)
    assert folders(tmp_path) == ["chroma-1", "chroma-2"], "the old one is kept"
    again.close()


def folders(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "indexes").iterdir() if path.is_dir())


def damage_size(folder: Path) -> None:
    with next(folder.rglob("*.sqlite3")).open("ab") as file:
        file.write(b"\0")


def damage_bytes(folder: Path) -> None:
    with next(folder.rglob("*.sqlite3")).open("r+b") as content:
        content.seek(100)
        content.write(b"noise")


def damage_missing_file(folder: Path) -> None:
    next(folder.rglob("*.sqlite3")).unlink()


def damage_extra_file(folder: Path) -> None:
    (folder / "extra").write_text("x")


def damage_mark(folder: Path) -> None:
    (folder.parent / "chroma.clean.json").write_text("{")


def damage_mark_size(folder: Path) -> None:
    os.truncate(folder.parent / "chroma.clean.json", 1 << 40)


def damage_mark_member(folder: Path) -> None:
    mark = folder.parent / "chroma.clean.json"
    told = json.loads(mark.read_text())
    mark.write_text(json.dumps({**told, "files": {name: [size, 7] for name, (size, _) in told["files"].items()}}))


@pytest.mark.parametrize(
    "damage",
    [
        damage_size,
        damage_bytes,
        damage_missing_file,
        damage_extra_file,
        damage_mark,
        damage_mark_size,
        damage_mark_member,
    ],
)
def test_a_folder_changed_since_its_close_is_set_aside(
    records: Records,
    put: Callable[..., None],
    seeded: Callable[..., Any],
    tmp_path: Path,
    index: Callable[..., Any],
    damage: Callable[[Path], None],
) -> None:
    put(seeded(), "a", "b")
    close(index(), records)
    damage(tmp_path / "indexes/chroma-1")
    again = open_folder(tmp_path / "indexes", NAME, records.store_id, records.last_seq())
    assert (again.seq, again.windows()) == (0, 0)
    assert folders(tmp_path) == ["chroma-1", "chroma-2"], "the old one is kept"
    assert follow(again, records) == 2
    assert again.windows() == 2
    again.close()


def test_an_unwritten_file_is_not_read_at_shutdown_so_its_damage_is_found_at_the_next_start(
    records: Records, put: Callable[..., None], seeded: Callable[..., Any], tmp_path: Path, index: Callable[..., Any]
) -> None:
    put(seeded(), "a", "b")
    opened = index()
    file = opened.folder / "file"
    file.write_bytes(b"as it was written")
    close(opened, records)
    again = index()
    assert again.folder == opened.folder
    times = file.stat().st_atime_ns, file.stat().st_mtime_ns
    with file.open("r+b") as content:
        content.write(b"noise")
    os.utime(file, ns=times)
    close(again, records)
    last = open_folder(tmp_path / "indexes", NAME, records.store_id, records.last_seq())
    assert last.seq == 0
    last.close()


def test_a_folder_of_another_store_another_collection_or_a_later_history_is_set_aside(
    records: Records, put: Callable[..., None], seeded: Callable[..., Any], tmp_path: Path, index: Callable[..., Any]
) -> None:
    put(seeded(), "a", "b")
    for name, store_id, last in (
        (NAME, "0" * 32, records.last_seq()),
        ("decisions-other", records.store_id, records.last_seq()),
        (NAME, records.store_id, records.last_seq() - 1),
    ):
        close(index(), records)
        again = open_folder(tmp_path / "indexes", name, store_id, last)
        assert (again.seq, again.windows()) == (0, 0)
        again.close()
    assert folders(tmp_path) == ["chroma-5", "chroma-6"]


def test_the_name_of_a_collection_has_kind_model_and_store_and_is_valid_in_chroma(records: Records) -> None:
    longest = collection_name("decisions", "m" * 60, records.store_id)
    assert len(longest) <= 512
    assert (
        len({collection_name("decisions", model, store) for model in ("a-1", "b-1") for store in ("0" * 32, "1" * 32)})
        == 4
    )


@pytest.mark.parametrize(
    ("url", "host", "port", "ssl"),
    [
        ("http://chroma:9000", "chroma", 9000, False),
        ("http://127.0.0.1", "127.0.0.1", 8000, False),
        ("https://chroma.example/", "chroma.example", 443, True),
        ("http://[::1]:8001", "::1", 8001, False),
    ],
)
def test_the_address_of_a_server_is_read(url: str, host: str, port: int, ssl: bool) -> None:
    address = server_address(url)
    assert (address.host, address.port, address.ssl) == (host, port, ssl)


NO_ADDRESSES = ("", "chroma", "chroma:8000", "ftp://chroma", "http://", "http://h:port", "http://h:99999")


@pytest.mark.parametrize("url", [*NO_ADDRESSES, "http://h/path", "http://user:secret@h:8000", "http://[::1"])
def test_an_invalid_address_is_refused_naming_the_setting_and_not_the_value(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^vectors\.url: ") as refused:
        server_address(url)
    assert "secret" not in str(refused.value)
