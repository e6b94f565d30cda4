"""`cstp compact`: files that hold nothing of what was deleted."""

from contextlib import closing

import typer
from rich.console import Console
from rich.progress import Progress

from cognition_engines.errors import ComponentFailed
from cognition_engines.indexes.compaction import CompactionMarks, remove_set_aside, write_marks
from cognition_engines.indexes.indexes import open_indexes, remove_indexes
from cognition_engines.spaces import SEARCHED
from cstp_server.cli.options import ConfigOption, DataDirOption, command_family, settings_for
from cstp_server.cli.store import existing_records
from cstp_server.holder.taking import take_folder
from cstp_server.open_engine import relevance, vector_choice
from cstp_server.process.model import open_model
from cstp_server.terminal import say

app = command_family()


@app.command("compact")
def compact_command(ctx: typer.Context, data_dir: DataDirOption = None, config: ConfigOption = None) -> None:
    """Rewrite the database and the indexes, so that no file holds bytes of deleted or forgotten records.

    Stop the server first. PostgreSQL locks one table after the other, and its write-ahead log and replicas keep
    their data for as long as they are configured to.
    """
    loaded = settings_for(ctx, data_dir, config)
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
                raise ComponentFailed("vectors", "the index could not be built; run cstp reindex")
        finally:
            indexes.close()
    if not done.done:
        raise ComponentFailed(
            "records", f"{done.left_because}; stop the programs that use the database, and run cstp compact again"
        )
    say("the database and the indexes hold no bytes of deleted records")
