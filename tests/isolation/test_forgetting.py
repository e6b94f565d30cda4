"""`cstp.forget` answers reveal nothing about hidden records: neither their existence nor their erasure."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from secrets import token_hex
from typing import Any

import pytest

from cognition_engines.kinds.spec import WRITTEN
from cognition_engines.models import SENSITIVITIES, Viewer
from cognition_engines.store.values import Entry
from tests.isolation.world import World, make_world, visible
from tests.serving import Serving, start
from tests.stores import Stores

RIGHTS = ({"clearance": "normal", "projects": None}, {"clearance": "sensitive", "projects": ["alpha"]})


@pytest.fixture(params=RIGHTS, ids=("normal", "sensitive"))
def servers(
    request: pytest.FixtureRequest, tmp_path: Path, stores: Stores
) -> Iterator[tuple[World, tuple[tuple[Serving, str], ...]]]:
    """Yield a world written by agents, a server over it and a server over a reader's view, each with a token."""
    rights = request.param
    world = make_world(Random(5))
    projects = rights["projects"]
    viewer = Viewer(SENSITIVITIES[rights["clearance"]], None if projects is None else frozenset(projects))
    stops, running = [], []
    for name, entries in (("whole", world.entries), ("part", visible(world.entries, viewer))):
        (tmp_path / name).mkdir()
        serving, stop = start(tmp_path / name, stores, None, None)
        stops.append(stop)
        serving.put([_written(one) for one in entries])
        running.append((serving, serving.token(**rights, scopes=["read", "write", "admin"])))
    yield world, tuple(running)
    for stop in stops:
        stop()


def _written(entry: Entry) -> Entry:
    origin = replace(entry.origin, source=WRITTEN, identity=token_hex(16), recorded_by="ann", via="cstp")
    return replace(entry, origin=origin)


def _answers(servers: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
    answers = []
    for serving, token in servers:
        answer = serving.send("forget", token, **params)
        for members in (answer.get("result", {}), (answer.get("result", {}).get("receipt") or {})):
            members.pop("seq", None)
            members.pop("verifiedAt", None)
        answers.append(answer)
    return answers


@pytest.mark.long("compares two stores under every method")
def test_forgetting_answers_with_hidden_records_as_without_them(servers: Any) -> None:
    world, running = servers
    forgotten = 0
    for number, (kind, ids) in enumerate(world.ids.items()):
        for place, id in enumerate([*ids[::2], "unknown"]):
            params = {"id": id, "kind": kind.label, "confirm": True, "dryRun": (number + place) % 4 > 0}
            whole, part = _answers(running, params)
            assert whole == part, params
            forgotten += "result" in part and not params["dryRun"]
    assert forgotten > 5
