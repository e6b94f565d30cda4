"""`cstp move`: the records of a folder that was moved, with their ids, reviews and links."""

from pathlib import Path
from typing import Annotated

import typer

from cognition_engines.ingest.places.relocate import move_records
from cstp_server.cli.options import ConfigOption, DataDirOption, command_family, settings_for
from cstp_server.cli.store import existing_records
from cstp_server.terminal import say

app = command_family()


@app.command()
def move(
    ctx: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="Where the folder or file was.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="Where it is now.")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Delete the records that the same files have at NEW already.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would happen; change no record.")] = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Move the records of a folder that was moved: ids, reviews, links and rights stay.

    `cstp ingest NEW` does so by itself for equal files of a folder that is gone; this command does it if they differ,
    too. Read NEW afterwards: what was edited is changed then. Exit code 2 if OLD is still there or NEW is not.
    """
    with existing_records(settings_for(ctx, data_dir, config)) as records:
        moved, deleted = move_records(records, Path(old), Path(new), over=replace, dry_run=dry_run)
    would = "would be " if dry_run else ""
    say(f"{would}moved: {moved:,} records of {old} to {new}")
    if deleted:
        say(f"{would}deleted: {deleted:,} records that {new} had")
    return 0
