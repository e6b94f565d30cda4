"""`cstp reindex`: embed what lacks vectors of the configured model, and build the indexes anew."""

import shutil
from threading import Event
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.chroma import remove_folders
from cognition_engines.indexes.following import fill_vectors, open_indexes
from cognition_engines.indexes.lock import FolderLock
from cognition_engines.indexes.neighbours import start_over
from cstp_server.cli.options import ConfigOption, DataDirOption, command_family, existing_records, settings_for
from cstp_server.knowledge import open_model

app = command_family()


@app.command("reindex")
def reindex_command(
    ctx: typer.Context,
    keep: Annotated[bool, typer.Option("--keep-vectors", help="Keep the vectors of other models too.")] = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> None:
    """Build the indexes anew. Records that have no vectors of the configured model are embedded first."""
    settings = settings_for(ctx, data_dir, config).settings
    embedder = open_model(settings)
    console = Console(stderr=True)
    with existing_records(settings) as records:
        lock = FolderLock(settings.indexes_path)
        try:
            shutil.rmtree(settings.indexes_path / "keywords", ignore_errors=True)
            remove_folders(settings.indexes_path)
        finally:
            lock.close()
        with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
            total = records.count()
            task = progress.add_task("embedding", total=total)
            embedded = fill_vectors(records, embedder, Event(), on_page=lambda done: progress.advance(task, done))
            if embedder is not None and settings.vectors.url is not None:
                start_over(records, embedder.model, embedder.dim, settings.vectors.url)
            dropped = 0 if keep or embedder is None else records.drop_vectors(embedder.model)
            progress.add_task("indexing", total=None)
            indexes = open_indexes(settings.indexes_path, records, embedder, settings.vectors.url)
            try:
                indexes.start()
                if indexes.vectors is not None and not indexes.vectors.wait_until_ready():
                    raise ComponentFailed("vectors", "the index could not be built; see the log above")
            finally:
                indexes.close()
    typer.echo(f"{total} decisions indexed, {embedded} embedded anew, {dropped} vectors of other models removed")
