"""The files that the store has records of, and the places of those that were moved.

The records of a moved file keep the repository and the path of its first place, so their ids stay; only their source is
new. What is new in such a folder belongs to the same repository.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

from cognition_engines.ingest.report import is_gone
from cognition_engines.ingest.repository import FilePlace
from cognition_engines.store.values import StoredFile

_Place = tuple[str, str]  # repository and path


class KnownFiles:
    """Finds the place under which the records of a file are stored."""

    def __init__(self, found: Iterable[StoredFile]) -> None:
        self._found = tuple(found)
        self._resolved: dict[str, str] = {}  # folders without links, by folder
        self._places: dict[str, set[_Place]] = {}  # by source
        self._held: dict[_Place, list[StoredFile]] = {}
        self._gone: dict[str, bool] = {}  # by folder
        self._moved: dict[str, _Place] = {}  # by source
        self._folders: dict[str, _Place] = {}  # by the folder that a moved file is in
        self._roots: dict[str, str] = {}  # repositories that are named as folders, by the folder that they are in now
        for one in self._found:
            self._places.setdefault(one.source, set()).add((one.repository, one.path))
            self._held.setdefault((one.repository, one.path), []).append(one)
            if one.source != f"{one.repository.rstrip('/')}/{one.path}":
                self._note(one)
        self._taken = {name: root for root, name in self._roots.items()}

    def place_of(self, natural: FilePlace) -> FilePlace:
        """Return the place of a file: that of its records, or as its folder or checkout names it (`natural`)."""
        stored = self._places.get(natural.source, ())
        if natural.root is None or (natural.repository, natural.path) in stored:
            return natural
        if (place := self._moved.get(natural.source)) is not None:
            return replace(natural, repository=place[0], path=place[1])
        where = natural.root / natural.path
        if (place := self._folders.get(str(where.parent))) is not None:
            return replace(natural, repository=place[0], path=(PurePosixPath(place[1]) / where.name).as_posix())
        if natural.repository != natural.root.as_posix():
            return natural
        return replace(natural, repository=self._roots.get(natural.repository) or self._free(natural.repository))

    def has(self, place: FilePlace) -> bool:
        """Return whether the store has records of the file, in whatever checkout."""
        return place.source in self._places or (place.repository, place.path) in self._held

    def in_gone_folders(self) -> Iterator[StoredFile]:
        """Yield the files whose folder is not there."""
        return filter(self._is_lost, self._found)

    def lost_at(self, place: FilePlace) -> Iterator[StoredFile]:
        """Yield the files with the repository and path of this one whose folder is not there."""
        return filter(self._is_lost, self._held.get((place.repository, place.path), ()))

    def _is_lost(self, one: StoredFile) -> bool:
        folder = one.source.rpartition("/")[0]
        if folder not in self._gone:
            self._gone[folder] = is_gone(Path(folder))
        return self._gone[folder]

    def _note(self, one: StoredFile) -> None:
        """Keep where a file is that is elsewhere than its place says, which a link may be the reason of."""
        folder, _, name = one.source.rpartition("/")
        real = f"{self._without_links(folder)}/{name}"
        ending, of_folder = f"/{one.path}", one.repository.startswith("/")
        if real.endswith(ending):
            root = real.removesuffix(ending) or "/"
            if not of_folder or root == one.repository or (real != one.source and os.path.isdir(one.repository)):
                return
            self._roots[root] = one.repository
        self._moved[one.source] = one.repository, one.path
        self._folders[real.rpartition("/")[0]] = one.repository, PurePosixPath(one.path).parent.as_posix()

    def _free(self, folder: str) -> str:
        """Return a name for the files of a folder, which is not that of one that was moved away from there."""
        name, count = folder, 1
        while name in self._taken and not is_gone(Path(self._taken[name])):
            count += 1
            name = f"{folder}~{count}"
        return name

    def _without_links(self, folder: str) -> str:
        if folder not in self._resolved:
            self._resolved[folder] = str(Path(folder).resolve())
        return self._resolved[folder]
