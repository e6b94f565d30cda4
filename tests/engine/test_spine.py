"""The way of a query through the code is the one that the page on architecture shows."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import FrameType

import pytest

from tests.isolation.world import make_world, put
from tests.serving import SeededEmbedder, Serving, serve

__all__ = ["serve"]
ROOT = Path(__file__).parents[2]
FOLLOWERS = ("-follower", "-vectors", "filler", "watcher", "retention", "audit", "listings")
PACKAGES = (str(ROOT / "a2a") + "/", str(ROOT / "skills") + "/")


def documented() -> list[str]:
    """The files of the spine, from the page."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    listed = page.partition("<!-- spine -->")[2].partition("<!-- end of spine -->")[0]
    return re.findall(r"`([a-z_/]+\.py)`", listed)


@dataclass
class Entered:
    """The files of ours whose functions were called, in order, while `recording`."""

    files: list[str] = field(default_factory=list)
    recording: bool = False

    def note(self, frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        # those that follow the records look at them whenever they like
        follows = threading.current_thread().name.endswith(FOLLOWERS)
        if self.recording and not follows and event == "call" and path.startswith(PACKAGES):
            self.files.append(path.removeprefix(PACKAGES[0]).removeprefix(PACKAGES[1]))


@pytest.fixture
def entered() -> Iterator[Entered]:
    """What all threads enter that begin from here on."""
    found = Entered()
    threading.setprofile(found.note)
    yield found
    threading.setprofile(None)


@pytest.mark.long("computes with the packaged model, or over many records")
def test_a_query_enters_the_documented_files_one_after_the_other(
    entered: Entered, serve: Callable[..., Serving]
) -> None:
    spine = documented()
    assert len(spine) == 7
    embedder, world = SeededEmbedder(), make_world(Random(3))
    serving = serve(embedder)
    put(serving.records, embedder, world.entries)
    serving.caught_up()
    serving.ask("queryDecisions", query="a call before, so that all is loaded")
    entered.recording = True
    serving.ask("queryDecisions", query="window filter")
    entered.recording = False
    firsts = [entered.files.index(name) for name in spine]
    assert firsts == sorted(firsts)
