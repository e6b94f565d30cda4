"""`cstp watch`: keeps the records in step with folders and files until it is stopped."""

import gc
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import FrameType
from typing import Annotated, Final

import typer

from cognition_engines.errors import EngineError
from cognition_engines.ingest.follow import ChangeEvents, WatchedPaths
from cognition_engines.ingest.options import Options, Progress, Stopped, Summary, UntilStopped
from cstp.errors import CstpError
from cstp_server.cli import reading
from cstp_server.cli.conventions import Unreachable
from cstp_server.cli.options import command_family, print_store
from cstp_server.cli.progress import reading_progress
from cstp_server.cli.read_report import print_summary
from cstp_server.cli.remote import print_error
from cstp_server.cli.remote_records import METHOD
from cstp_server.process.model import open_model
from cstp_server.terminal import say

app = command_family()
_LOOK_SECONDS: Final = 30.0  # between two checks without events, as on network drives
_STOPS: Final = (signal.SIGINT, signal.SIGTERM)
_Run = Callable[[Options, Progress], Summary]


@app.command("watch")
def watch_command(
    place: reading.WrittenPlace,
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Folders and files to watch.")],
    project: reading.ProjectOption = None,
    sensitivity: reading.LevelOption = None,
    repository: reading.RepositoryOption = None,
    kind: reading.AsOption = None,
    decision_folder: reading.FoldersOption = reading.FOLDERS,
    include: reading.IncludeOption = [],  # noqa: B006 - typer copies it
    exclude: reading.ExcludeOption = [],  # noqa: B006
    map: reading.MapOption = None,
    bots: reading.BotsOption = False,
    system_messages: reading.SystemOption = False,
    day_first: reading.DayOption = None,
    prune: reading.PruneOption = False,
    yes: reading.SureOption = False,
) -> int:
    """Read folders and files as `cstp ingest` does, and read them again when they change, until stopped.

    Each run that finds a change prints a summary; with --json, one line. Records of deleted files stay unless --prune
    is given. If a folder is missing, the command waits for it and deletes nothing.
    """
    given = reading.options_of(project, sensitivity, repository, kind, decision_folder, include, exclude, map)
    given = reading.with_messages(given, bots, system_messages, day_first)
    options = replace(given, prune=prune, sure=yes)
    files = [path.absolute() for path in reading.existing_files(paths)]
    target = place.server
    if target is None:
        loaded = place.load_settings()
        print_store(loaded)
        embedder = open_model(loaded.settings)

        def run(options: Options, shown: Progress) -> Summary:
            return reading.run_here(reading.Sources(files), options, loaded, embedder, shown, named=True)
    else:
        secrets = place.load_settings().settings.secrets.files

        def run(options: Options, shown: Progress) -> Summary:
            return reading.run_elsewhere(reading.Sources(files), replace(options, secrets=secrets), target, shown)

    try:
        with _stopped_by_signals() as stop:
            _follow_changes(WatchedPaths(files, options), run, files, stop, as_json=place.as_json)
    except CstpError as refused:
        return print_error(refused, METHOD, as_json=place.as_json)
    return 0


@contextmanager
def _stopped_by_signals() -> Iterator[Event]:
    """Yield an event set by the first SIGINT or SIGTERM; the next signal ends the process."""
    stop = Event()
    before = {number: signal.getsignal(number) for number in _STOPS}

    def handle(number: int, _: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in _STOPS:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number in _STOPS:
            signal.signal(number, before[number])


def _follow_changes(watched: WatchedPaths, run: _Run, files: Sequence[Path], stop: Event, *, as_json: bool) -> None:
    """Read the changes. Fail in the first run as `cstp ingest` does; treat later failures as outages."""
    whole = _read_changes(watched, run, stop, as_json=as_json)
    if whole is not None:
        print_summary(whole, as_json=as_json)
    events = ChangeEvents(files, stop, _LOOK_SECONDS)
    failure: str | None = None
    gc.freeze()  # permanent objects, so a collection takes a millisecond
    while not stop.is_set():  # changes during a run have no event
        try:
            while (summary := _read_changes(watched, run, stop, as_json=as_json)) is not None:
                # skipped and ignored are of all files, and were printed at first
                print_summary(replace(summary, skipped={}, ignored=0), as_json=as_json)
            failure = None
        except (EngineError, Unreachable, CstpError, OSError) as error:
            if (reason := _describe_error(error)) != failure:
                failure = reason
                say(f"cannot read changes, retrying: {reason}", err=True)
        gc.collect()  # a run leaves thousands of objects in cycles, which Python would keep for hundreds of runs
        events.wait()


def _read_changes(watched: WatchedPaths, run: _Run, stop: Event, *, as_json: bool) -> Summary | None:
    """Return the summary of a run over changes; None without changes, or if stopping."""
    with reading_progress(quiet=as_json) as shown:
        until = UntilStopped(stop, shown)
        try:
            return watched.read_changes(lambda options: run(options, until))
        except Stopped:
            return None


def _describe_error(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{error.filename} not found"
    return error.message if isinstance(error, CstpError) else str(error)
