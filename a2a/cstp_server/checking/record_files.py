"""Decision files as records, cached for the user: a check of them needs no data folder."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import file_digest, sha256
from importlib import import_module
from pathlib import Path
from shutil import rmtree
from typing import Final

from platformdirs import user_cache_path

import cognition_engines
from cognition_engines.errors import EngineError
from cognition_engines.ingest.options import Options, Selection, Silent
from cognition_engines.models import Problem
from cognition_engines.store.database import failures
from cognition_engines.store.opening import open_store
from cognition_engines.store.record_reads import RecordReads

_INGEST: Final = "cognition_engines.ingest.run"  # these are loaded by name: unchanged files need neither
_RECORDS: Final = "cognition_engines.store.records"
_PROGRAM: Final = cognition_engines.__file__
# a secret is in the repository already, and the environment of a hook lacks the scanner
_OPTIONS: Final = Options(prune=True, sure=True, gone=True, secrets="allow")


@contextmanager
def file_records(folders: Sequence[Path]) -> Iterator[tuple[RecordReads, Sequence[Problem]]]:
    """Yield the records of the files in folders, and the problems of refused files; only changed files are read.

    Raise OSError for a file that cannot be read, or a cache that cannot be written, EngineError for a damaged cache,
    which the next call makes again.
    """
    folders = [Path(os.path.realpath(folder)) for folder in folders]
    cache = user_cache_path("cstp") / "checks" / sha256(os.fsencode("\0".join(map(str, folders)))).hexdigest()[:16]
    url, digests = f"sqlite:///{cache / 'records.sqlite3'}", cache / "read.json"  # of read files, by path
    found = {_PROGRAM: str(os.stat(_PROGRAM).st_mtime_ns), **dict(_digests(folders))}
    try:
        known = json.loads(digests.read_bytes())
    except (OSError, ValueError):
        known = {}
    if any(known.get(path) != found.get(path) for path in known.keys() | found.keys() if _decides_all(path)):
        known = {}
        rmtree(cache, ignore_errors=True)
    try:
        refused = () if known == found else _read_changes(folders, known, found, url, digests)
        with failures():
            store = open_store(url, named=str(cache))
        with closing(RecordReads(store)) as records:
            yield records, refused
    except EngineError:
        rmtree(cache, ignore_errors=True)
        raise


def _digests(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for parent, names, files in (each for folder in folders for each in os.walk(folder)):
        names[:] = [name for name in names if not name.startswith(".")]
        for path in filter(os.path.isfile, (os.path.join(parent, file) for file in files)):
            with open(path, "rb") as opened:
                yield path, file_digest(opened, "sha256").hexdigest()


def _decides_all(path: str) -> bool:
    """Return whether a change of the file, the program or a list of excluded files, may change all records."""
    return path == _PROGRAM or path.endswith(".cstpignore")


def _read_changes(
    folders: Sequence[Path], known: Mapping[str, str], found: Mapping[str, str], url: str, digests: Path
) -> Sequence[Problem]:
    """Bring the records in line with the files; return the problems of refused files, read again next time."""
    changed = frozenset(Path(path) for path, digest in found.items() if known.get(path) != digest)
    options = replace(_OPTIONS, selection=Selection(only=changed))
    with closing(import_module(_RECORDS).open_records(url, named=str(digests.parent))) as records:
        refused: Sequence[Problem] = import_module(_INGEST).ingest(folders, options, records, None, Silent()).rejected
    draft = digests.with_suffix(f".{os.getpid()}")
    draft.write_text(json.dumps({path: found[path] for path in found.keys() - {one.file for one in refused}}))
    draft.replace(digests)
    return refused
