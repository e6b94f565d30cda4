"""A single process holds an index folder; any kind of end frees the folder."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

import pytest

from cognition_engines.errors import ComponentFailed, FolderInUse
from cognition_engines.indexes.index_folder import FolderLock, holder
from cognition_engines.indexes.indexes import open_indexes
from cognition_engines.indexes.vectors.choice import VectorChoice
from cognition_engines.store.records import Records


def test_a_second_taker_gets_a_remedy(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "deep/indexes")
    with pytest.raises(FolderInUse) as refused:
        FolderLock(tmp_path / "deep/indexes")
    assert str(tmp_path / "deep/indexes") in str(refused.value)
    assert "cstp serve" in str(refused.value)
    assert "--data-dir" in str(refused.value)
    lock.close()
    FolderLock(tmp_path / "deep/indexes").close()


def test_a_new_data_folder_is_its_owners_alone(tmp_path: Path) -> None:
    FolderLock(tmp_path / "data/indexes").close()
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "data", tmp_path / "data/indexes")] == [0o700, 0o700]


def test_looking_at_a_lock_neither_takes_nor_makes_it(tmp_path: Path) -> None:
    folder = tmp_path / "indexes"
    assert holder(folder) is None
    assert not folder.exists()
    lock = FolderLock(folder)
    assert holder(folder) == ""
    lock.name_holder("cstp reindex")
    assert holder(folder) == holder(folder) == "cstp reindex"
    lock.close()
    assert holder(folder) is None
    other = FolderLock(folder)
    assert holder(folder) == ""
    other.close()


def test_looking_at_a_lock_keeps_nobody_from_taking_it(tmp_path: Path) -> None:
    FolderLock(tmp_path).close()
    looking = os.open(tmp_path / "lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    Timer(0.15, os.close, [looking]).start()
    FolderLock(tmp_path).close()


@pytest.mark.long("makes many records, or rebuilds indexes")
def test_indexes_hold_their_folder_until_they_are_closed(
    opened: Callable[..., Any], seeded: Callable[..., Any], records: Records, tmp_path: Path
) -> None:
    indexes = opened(seeded())
    with pytest.raises(FolderInUse):
        open_indexes(tmp_path / "indexes", records, seeded(), VectorChoice("chroma", None))
    opened(seeded(), folder=tmp_path / "another")
    indexes.close()
    opened(seeded())


def test_failing_indexes_release_the_folder(records: Records, seeded: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "indexes/memory").mkdir(parents=True)
    (tmp_path / "indexes/memory/keywords").write_text("a file where a folder belongs")
    with pytest.raises(Exception, match="cannot be made") as refused:
        open_indexes(tmp_path / "indexes", records, seeded(), VectorChoice("chroma", None))
    assert not isinstance(refused.value, ComponentFailed)
    FolderLock(tmp_path / "indexes").close()
