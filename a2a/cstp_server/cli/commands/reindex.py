"""`cstp reindex` and `cstp compact`: rebuild the indexes, and remove deleted content from files."""

from collections.abc import Sequence
from contextlib import closing
from threading import Event
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.progress import Progress

from cognition_engines.embedding.base import Embedder
from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.index_folder import CompactionMarks, FolderLock, remove_set_aside, write_marks
from cognition_engines.indexes.indexes import fill_vectors, open_indexes, remove_indexes
from cognition_engines.indexes.vectors.registry import backend_of
from cognition_engines.spaces import SEARCHED
from cognition_engines.store.records import Records
from cstp_server.cli.options import FolderOptions, command_family
from cstp_server.cli.record_retries import Attempt, retry_records
from cstp_server.cli.store import existing_records
from cstp_server.holder.taking import take_folder
from cstp_server.open_engine import relevance, vector_choice
from cstp_server.process.model import open_model
from cstp_server.settings import Settings
from cstp_server.terminal import say

app = command_family()

_SEARCHED_KINDS: Final = {kind for space in SEARCHED for kind in space.kinds}


@app.command("reindex")
def reindex_command(
    folder: FolderOptions,
    keep: Annotated[bool, typer.Option("--keep-vectors", help="Keep the vectors of other models.")] = False,
    record: Annotated[
        list[str] | None, typer.Option("--record", metavar="ID", help="Only try again to index this record.")
    ] = None,
) -> int:
    """Rebuild the indexes. Records that have no vectors of the configured model are embedded first.

    With --record, a running server tries to index the record again. Exit code 1 if a part still sets the record aside.
    """
    if record and keep:
        raise typer.BadParameter("cannot be combined with --keep-vectors", param_hint="--record")
    if record is not None and not all(map(str.strip, record)):
        raise typer.BadParameter("the id is empty", param_hint="--record")
    loaded = folder.load_settings()
    settings = loaded.settings
    if record:
        with existing_records(loaded) as records:
            return _print_attempts(retry_records(settings, records, record))
    embedder, choice = open_model(settings), vector_choice(settings.vectors)
    console = Console(stderr=True)
    with (
        existing_records(loaded) as records,
        closing(take_folder(settings.indexes_path, settings.server.grace_seconds)) as lock,
    ):
        lock.name_holder("cstp reindex")
        for space in SEARCHED:
            remove_indexes(settings.indexes_path / space.name)
        with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
            counts = {kind: count for kind, count in records.counts().items() if kind in _SEARCHED_KINDS}
            task = progress.add_task("embedding", total=sum(counts.values()))
            embedded = 0
            for space in SEARCHED:
                embedded += fill_vectors(records, space, embedder, Event(), lambda done: progress.advance(task, done))
                if embedder is not None and choice.url is not None:
                    restart = backend_of(choice).load().start_over
                    restart(records, space, embedder.model, embedder.dim, choice.url)
            dropped = 0 if keep or embedder is None else records.drop_vectors(embedder.model)
            progress.add_task("indexing", total=None)
            _build_indexes(settings, records, embedder, lock, "see the log above")
    counted = ", ".join(f"{count} {kind.label.replace('_', ' ')}s" for kind, count in sorted(counts.items()))
    say(f"{counted or 'no records'} indexed, {embedded} re-embedded, {dropped} vectors of other models removed")
    return 0


def _print_attempts(attempts: Sequence[Attempt]) -> int:
    for one in attempts:
        parts = [f"{note.part.value} ({note.cause})" for note in one.left]
        done = "indexed" if one.was_set_aside else "was not set aside"
        say(f"{one.id}: still set aside by {', '.join(parts)}" if parts else f"{one.id}: {done}")
    return 1 if any(one.left for one in attempts) else 0


@app.command("compact")
def compact_command(folder: FolderOptions) -> None:
    """Rewrite the database and the indexes, so that no file holds bytes of deleted or forgotten records.

    Stop the server first. PostgreSQL locks one table after the other, and its write-ahead log and replicas keep
    their data for as long as they are configured to.
    """
    loaded = folder.load_settings()
    settings = loaded.settings
    embedder = open_model(settings)
    console = Console(stderr=True)
    with (
        existing_records(loaded) as records,
        Progress(console=console, disable=not console.is_terminal, transient=True) as progress,
        closing(take_folder(settings.indexes_path, settings.server.grace_seconds)) as lock,
    ):
        lock.name_holder("cstp compact")
        progress.add_task("compacting", total=None)
        last = records.last_seq()
        done = records.forgetting.compact()
        for space in SEARCHED:
            remove_indexes(settings.indexes_path / space.name)
        remove_set_aside(settings.indexes_path)
        write_marks(settings.indexes_path, CompactionMarks(last, last))
        progress.add_task("indexing", total=None)
        _build_indexes(settings, records, embedder, lock, "run cstp reindex")
    if not done.done:
        raise ComponentFailed(
            "records", f"{done.left_because}; stop the programs that use the database, and run cstp compact again"
        )
    say("the database and the indexes hold no bytes of deleted records")


def _build_indexes(
    settings: Settings, records: Records, embedder: Embedder | None, lock: FolderLock, remedy: str
) -> None:
    """Build all indexes from the records. Raise ComponentFailed, with this remedy."""
    indexes = open_indexes(
        settings.indexes_path,
        records,
        embedder,
        vector_choice(settings.vectors),
        relevance=relevance(settings.search),
        lock=lock,
    )
    try:
        indexes.start()
        if not indexes.wait_until_vectors_are_ready():
            raise ComponentFailed("vectors", f"the index could not be built; {remedy}")
    finally:
        indexes.close()
