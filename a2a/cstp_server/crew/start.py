"""`cstp serve` with several workers: what the command calls, in the parent and in each worker."""

import gc
import socket
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from cstp_server.crew.crew import Crew
from cstp_server.crew.folder import shared_folder
from cstp_server.crew.output import DirectOutput
from cstp_server.crew.worker import Worker
from cstp_server.observe.log import configure_logging
from cstp_server.process.malloc import share_arenas
from cstp_server.process.model import open_model
from cstp_server.process.stop import Watchdog
from cstp_server.serve import serve
from cstp_server.settings import LogSettings, Settings
from cstp_server.workers.shares import share_of

__all__ = ["log_without_threads", "shared_folder", "start", "work"]


def log_without_threads(settings: LogSettings) -> None:
    """Log in a process that is to be forked."""
    configure_logging(settings, cast(TextIO, DirectOutput(sys.stderr)))


def start(settings: Settings, folder: Path, listener: socket.socket, announce: Callable[[], object]) -> Worker | int:
    """Return in each worker, and in the parent when all of them have ended, with the exit code.

    `announce` is called in the parent when all workers answer. `folder` is theirs alone.
    """
    server = settings.server
    gc.freeze()  # a collection in a worker would write into pages that all share
    return Crew(server.workers, folder, server.grace_seconds, announce, listener.close).run()


def work(worker: Worker, settings: Settings, listener: socket.socket, watchdog: Watchdog) -> None:
    """Serve as one of several workers until it is stopped, inside `ended_by_signals`. Raises as `serve` does."""
    worker.begin(watchdog, settings.server.grace_seconds)
    share_arenas()
    share = share_of(settings, worker.member.count)
    serve(share, listener, worker.announce, watchdog, partial(open_model, share), worker.member)
