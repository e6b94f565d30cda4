"""The files of the product that a query enters on its way."""

import threading
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final

from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, start
from tests.stores import Stores

ROOT: Final = Path(__file__).parents[2]
# threads that follow the records whenever they like
FOLLOWERS: Final = ("-follower", "-vectors", "filler", "watcher", "retention", "audit", "listings")
PACKAGES: Final = (str(ROOT / "a2a") + "/", str(ROOT / "skills") + "/")


def files_entered(folder: Path) -> list[str]:
    """Return the file of each call that a bare queryDecisions makes, in order, from a server over `folder`."""
    files: list[str] = []
    recording = False

    def note(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        follows = threading.current_thread().name.endswith(FOLLOWERS)
        if recording and not follows and event == "call" and path.startswith(PACKAGES):
            files.append(path.removeprefix(PACKAGES[0]).removeprefix(PACKAGES[1]))

    embedder, world = SeededEmbedder(), make_world(Random(3))
    threading.setprofile(note)  # of all threads that begin from here on
    try:
        serving, stop = start(folder, Stores(), embedder, None)
        try:
            put(serving.records, embedder, world.entries)
            serving.caught_up()
            serving.ask("queryDecisions", query="a call before, so that all is loaded")
            recording = True
            serving.ask("queryDecisions", query="window filter")
            recording = False
        finally:
            stop()
    finally:
        threading.setprofile(None)
    return files
