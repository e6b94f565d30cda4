"""A store with hidden records answers as without them: every method, filter, record and token at random."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cognition_engines.embedding.base import Embedder
from cognition_engines.models import SENSITIVITIES, Viewer
from cognition_engines.store.records import open_records
from cognition_engines.store.values import Entry
from cstp.methods.registry import METHODS
from tests.isolation.questions import QUESTIONS, Asker
from tests.isolation.world import World, make_world, put, visible
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores, wait_for

MORE = (
    pytest.mark.long("asks every pair of stores, five times as much"),
    pytest.mark.embedded_only("asks more, where SQL is known to agree"),
)
RIGHTS: Sequence[dict[str, Any]] = (
    {"clearance": "normal", "projects": None},
    {"clearance": "normal", "projects": ["alpha"]},
    {"clearance": "sensitive", "projects": None},
    {"clearance": "sensitive", "projects": ["alpha", "beta"]},
    {"clearance": "highly_sensitive", "projects": ["beta"]},
    {"clearance": "highly_sensitive", "projects": ["alpha", "unknown"]},
)
MASKED = {"queryTimeMs", "expiresAt", "agent", "recordedAt", "cursor"}


@dataclass(frozen=True)
class Pair:
    """A server over a whole world and a server over a reader's view, with the reader's token for each."""

    world: World
    whole: Serving
    part: Serving
    tokens: tuple[str, str]
    model: bool

    def answers(self, method: str, params: Mapping[str, Any]) -> tuple[Any, Any]:
        name = method.removeprefix("cstp.")
        whole, part = self.whole.send(name, self.tokens[0], **params), self.part.send(name, self.tokens[1], **params)
        if method == "cstp.getSessionContext" and "since" in params:
            return briefed(whole), briefed(part)
        return (told(whole), told(part)) if method == "cstp.changes" else (whole, part)


def _pair(number: int, rounds: int) -> Any:
    """Return a number of `RIGHTS` and each method's calls as parameters; one pair also runs on servers."""
    marks = MORE if rounds > 5 else () if number == 1 else MORE[1:]
    return pytest.param(number, rounds, marks=marks, id=f"{tuple(RIGHTS[number].values())}-{rounds}")


ASKED = pytest.mark.parametrize(
    ("pair", "rounds"),
    [_pair(1, 5), _pair(3, 5), *(_pair(number, 25) for number in range(len(RIGHTS)))],
    indirect=["pair"],
    scope="module",  # or each test would make a separate pair
)


@pytest.fixture(scope="module")
def pair(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores
) -> Iterator[Pair]:
    rights = RIGHTS[request.param]
    embedder = SeededEmbedder() if request.param % 3 else None  # every third pair has no model
    world = make_world(Random(request.param))
    projects = rights["projects"]
    viewer = Viewer(SENSITIVITIES[rights["clearance"]], None if projects is None else frozenset(projects))
    seen = visible(world.entries, viewer)
    assert 20 < len(seen) < len(world.entries) - 20

    folders = tmp_path_factory.mktemp("pair")
    with (
        _serving(folders / "whole", lasting_stores, embedder, world.entries) as whole,
        _serving(folders / "part", lasting_stores, embedder, seen) as part,
    ):
        tokens = (whole.token(**rights), part.token(**rights))
        yield Pair(world, whole, part, tokens, embedder is not None)


def told(answer: dict[str, Any]) -> dict[str, Any]:
    """Return an answer about changes without write times, sorted."""
    changes = sorted((one["op"], one["kind"], one["id"]) for one in answer["result"]["changes"])
    return answer | {"result": {"changes": changes, "more": answer["result"]["more"]}}


def briefed(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a briefing with changes, a part of all if there are more, without write times."""
    result = {name: value for name, value in answer["result"].items() if name not in ("changes", "etag", "tokens")}
    changes = sorted((one["op"], one["kind"], one["id"]) for one in answer["result"].get("changes", ()))
    return answer | {"result": result | {"changes": len(changes) if result.get("more") else changes}}


@contextmanager
def _serving(folder: Path, stores: Stores, embedder: Embedder | None, entries: Sequence[Entry]) -> Iterator[Serving]:
    """Start a server that finds everything stored at the start: nothing is indexed twice."""
    folder.mkdir()
    records = open_records(stores.records(folder))
    put(records, embedder, entries)
    records.close()
    serving, stop = start(folder, stores, embedder, None, search={"least_cosine": 0.2})
    try:
        wait_for(lambda: all(index.snapshot.seq == serving.records.last_seq() for index in serving.indexes.all_spaces))
        yield serving
    finally:
        stop()


def alike(one: Any, other: Any) -> bool:
    """Return whether two answers are equal except times."""
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(name in MASKED or alike(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return bool(one == other)


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """Yield the differences of two answers, for failure messages."""
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        for name in one:
            if name not in MASKED:
                yield from differences(one[name], other[name], f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{number}]")
    elif not alike(one, other):
        yield f"{place}: {one!r} with the hidden records, {other!r} without"


def test_questions_cover_every_method_and_every_parameter() -> None:
    world = make_world(Random(5))
    reads = [method for method in METHODS if method.scope in (None, "read")]
    assert set(QUESTIONS) == {method.name for method in reads}
    for method in reads:
        ask = Asker(Random(1), world, model=True)
        asked = [QUESTIONS[method.name](ask) for _ in range(200)]
        given = {name for params in asked for name in params}
        assert given == {field.alias for field in method.params.model_fields.values()}
        if "filters" in given:
            model = next(iter(method.params.model_json_schema()["$defs"].values()))
            assert {name for params in asked for name in params.get("filters", ())} == set(model["properties"])


@ASKED
@pytest.mark.parametrize("method", QUESTIONS)
def test_a_store_with_hidden_records_answers_as_without_them(pair: Pair, method: str, rounds: int) -> None:
    ask = Asker(Random(method), pair.world, model=pair.model)
    takes_parameters = any(QUESTIONS[method](ask) for _ in range(10))
    for _ in range(rounds if takes_parameters else 1):
        params = QUESTIONS[method](ask)
        whole, part = pair.answers(method, params)
        several = "one of several decisions" in str(part)  # have the number
        assert "result" in part or several or part["error"]["code"] == -32007, (params, part)
        assert alike(whole, part), (params, list(differences(whole, part)))


@ASKED
@pytest.mark.parametrize("method", [name for name in QUESTIONS if name not in ("cstp.whoami", "rpc.discover")])
def test_hidden_records_would_be_in_the_answers_to_a_permitted_reader(pair: Pair, method: str, rounds: int) -> None:
    ask = Asker(Random(method), pair.world, model=pair.model)
    questions = [QUESTIONS[method](ask) for _ in range(5 * rounds)]
    name = method.removeprefix("cstp.")
    assert any(not alike(pair.whole.send(name, **params), pair.part.send(name, **params)) for params in questions)
