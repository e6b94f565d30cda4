"""Runs over what is to be read: into a store here, or to a server elsewhere."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import typer

from cognition_engines.embedding.base import Embedder
from cognition_engines.ingest.collections.addresses import checked_address, is_address
from cognition_engines.ingest.collections.open_collection import opened
from cognition_engines.ingest.formats.reader import FormatReader
from cognition_engines.ingest.items import Collection
from cognition_engines.ingest.options import Options, Progress, Summary, Texts
from cognition_engines.ingest.run import ingest
from cognition_engines.ingest.streams import Stream, opened_stream
from cognition_engines.kinds.fields import is_line
from cognition_engines.store.records import Records
from cstp_server.cli.remote import connected
from cstp_server.cli.remote_records import RemoteRecords
from cstp_server.cli.spooling import copied
from cstp_server.cli.store import compared_records, opened_records
from cstp_server.loaded_settings import LoadedSettings

STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Sources:
    """What is to be read: files and folders, addresses of collections, and standard input, which `name` may name."""

    files: Sequence[Path]
    addresses: Sequence[str] = ()
    stream: bool = False
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """A server that records are put on: `base` has no `/cstp` at its end, `timeout` is in seconds."""

    base: str
    token: str
    timeout: float


def sources_of(paths: Sequence[str], name: str | None, *, prune: bool) -> Sources:
    """Return the sources that the paths name. Raises BadParameter."""
    if name is not None and (STDIN not in paths or not is_line(name, 1000)):
        raise typer.BadParameter("must be a file name, and requires - among the paths", param_hint="--name")
    if prune and STDIN in paths and name is None:
        raise typer.BadParameter(
            "requires --name, to know which stream the deleted records came from", param_hint="--prune"
        )
    named = [path for path in paths if path != STDIN and not is_address(path)]
    files = [Path(path) for path in named] if prune else existing_files(named)
    addresses = dict.fromkeys(checked_address(path) for path in paths if is_address(path))
    return Sources(files, tuple(addresses), STDIN in paths, name)


def existing_files(paths: Sequence[str]) -> Sequence[Path]:
    """Return the paths. Raises BadParameter if one does not exist."""
    files = [Path(path) for path in paths]
    if missing := [path for path in files if not os.path.lexists(path)]:
        raise typer.BadParameter(f"{missing[0]} does not exist", param_hint="PATH")
    return files


def run_here(
    sources: Sources,
    options: Options,
    loaded: LoadedSettings,
    embedder: Embedder | None,
    shown: Progress,
    *,
    named: bool = False,
) -> Summary:
    """Ingest into the store of the settings, which is opened, named unless `named`, and closed."""
    with ExitStack() as stack:
        formats = stack.enter_context(FormatReader())
        collections = stack.enter_context(_collections(sources, options.texts, embedder, formats))
        store = compared_records(loaded) if options.dry_run else opened_records(loaded, named=named)
        records = stack.enter_context(store)
        _require_records_of(sources.files, records)
        threads = loaded.settings.embedding.threads
        return ingest(sources.files, options, records, embedder, shown, threads, collections, formats)


def _require_records_of(files: Sequence[Path], records: Records) -> None:
    """Raise BadParameter for a path that is not there and that no record is from."""
    for path in files:
        if not os.path.lexists(path) and not records.origins.read_below(os.path.abspath(path)):
            raise typer.BadParameter(f"{path} does not exist, and has no records", param_hint="PATH")


def run_elsewhere(sources: Sources, options: Options, target: Target, shown: Progress) -> Summary:
    """Ingest into another server. Raises BadParameter for options that need the store itself."""
    if options.prune:
        raise typer.BadParameter("cannot be combined with --url", param_hint="--prune")
    if options.strict:
        raise typer.BadParameter("needs one transaction, which --url cannot give", param_hint="--strict")
    with ExitStack() as stack:
        formats = stack.enter_context(FormatReader())
        collections = stack.enter_context(_collections(sources, options.texts, None, formats))
        records = RemoteRecords(stack.enter_context(connected(target.base, target.token, target.timeout)))
        return ingest(sources.files, options, records, None, shown, 1, collections, formats)


@contextmanager
def _collections(
    sources: Sources, texts: Texts, embedder: Embedder | None, formats: FormatReader
) -> Iterator[Sequence[Collection]]:
    """All but the files, opened; standard input last."""
    with ExitStack() as stack:
        collections: list[Collection] = [
            stack.enter_context(opened(address, embedder, map=texts.map)) for address in sources.addresses
        ]
        if sources.stream:
            collections.append(stack.enter_context(_standard_input(sources.name, texts, formats)))
        yield collections


@contextmanager
def _standard_input(name: str | None, texts: Texts, formats: FormatReader) -> Iterator[Stream]:
    """Standard input as a file."""
    with copied(sys.stdin.buffer, STDIN, "PATH") as path, path.open("rb") as copy:
        yield opened_stream(name, copy, texts, formats)
