"""cstp.recall against a slow reference: filters and isolation in every part of every answer, over random records."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from cognition_engines.kinds.artifacts import Artifact, ArtifactChunk, Turn
from cognition_engines.kinds.fields import normal
from cognition_engines.kinds.graph import Edge, Entity, Event
from cognition_engines.kinds.registry import kind_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES, Decision, Sensitivity, Viewer
from tests.indexes import made

NUMBERS = {
    Kind.ARTIFACT: 40,
    Kind.ARTIFACT_CHUNK: 25,
    Kind.TURN: 30,
    Kind.EVENT: 80,
    Kind.DECISION: 20,
    Kind.CHUNK: 20,
    Kind.EXTRACTION: 5,
}
LEVELS = tuple(SENSITIVITIES)
DEFAULT = {"decision", "commitment", "qualityrisk"}


@dataclass(frozen=True)
class Fact:
    """A record as known to the reference: artifact, and basis of isolation and filters."""

    record: Any
    project: str | None
    sensitivity: int
    context: str | None = None
    system: str | None = None
    importance: float | None = None
    at: datetime | None = None
    parent: str | None = None

    def passes(self, params: Mapping[str, Any], viewer: Viewer) -> bool:
        if not made.may_see(viewer, self.project, self.sensitivity):
            return False
        for name, own in (("context", self.context), ("source", self.system)):
            if name in params and (own is None or own.casefold() != params[name].casefold()):
                return False
        if "sensitivity" in params and LEVELS[self.sensitivity] != params["sensitivity"]:
            return False
        if params.get("minImportance") and (self.importance is None or self.importance < params["minImportance"]):
            return False
        low, high = (
            datetime.fromisoformat(params[name]) if name in params else None for name in ("dateFrom", "dateTo")
        )
        if self.at is None:
            return low is None and high is None
        return (low is None or self.at >= low) and (high is None or self.at <= high)


def own_fact(record: Any) -> Fact:
    rights = (record.project, int(record.sensitivity or 0))
    match record:
        case Artifact():
            return Fact(record, *rights, record.context, record.source_system, record.importance, record.ts)
        case Turn():
            return Fact(record, *rights, "conversation", record.source_system, record.importance, record.ts)
        case Decision():
            return Fact(record, *rights, context="decision", at=record.date)
        case ArtifactChunk() | Event():
            return Fact(record, *rights, at=getattr(record, "event_time", None))
        case _:
            return Fact(record, *rights, system=getattr(record, "source", None), at=getattr(record, "created_at", None))


def facts_of(records: list[Any]) -> dict[str, Fact]:
    facts = {str(record.id): own_fact(record) for record in records}
    for id, fact in facts.items():
        owner = facts.get(getattr(fact.record, "artifact_id", None) or "")
        if not isinstance(fact.record, Event | ArtifactChunk) or owner is None:
            continue
        if fact.project not in (None, owner.project):  # readers of either may not see the other
            facts[id] = replace(fact, sensitivity=max(fact.sensitivity, owner.sensitivity))
        else:
            facts[id] = Fact(
                fact.record,
                owner.project,
                max(fact.sensitivity, owner.sensitivity),
                owner.context,
                owner.system,
                owner.importance,
                fact.at or owner.at,
                owner.record.id,
            )
    return facts


def names_of(record: Any) -> set[str]:
    match record:
        case Event():
            refs = [actor.ref for actor in record.actors] + ([record.subject.ref] if record.subject else [])
        case Artifact():
            refs = [*record.participants, *record.mentions]
        case Turn():
            refs = [*([record.speaker] if record.speaker else []), *record.mentions]
        case Entity():
            refs = [record.id, record.name, *record.aliases]
        case _:
            refs = []
    return set(map(normal, refs))


def entities(maker: made.Maker) -> list[Any]:
    people = [("ent_ana", "Ana Ruiz", ("ana",)), ("ent_bo", "Bo", ()), ("ent_str", "STRASSE", ("straße",))]
    found: list[Any] = [
        Entity(id=id, name=name, aliases=aliases, sensitivity=level)
        for (id, name, aliases), level in zip(people, [Sensitivity.NORMAL, Sensitivity.SENSITIVE, None], strict=True)
    ]
    found.append(Entity(id="ent_none", name="named by nobody"))
    return [*found, Edge(id="e1", source_id="ent_ana", target_id="bo", type="KNOWS")]


def random_params(random: Random) -> dict[str, Any]:
    params: dict[str, Any] = {"limit": random.choice([1, 3, 10, 50]), "graphBudget": random.choice([0, 1, 10, 50])}
    early, late = sorted(made.EPOCH + timedelta(days=random.randrange(5)) for _ in range(2))
    filters = {
        "context": random.choice(["meeting", "EMAIL", "conversation", "decision", "unknown"]),
        "source": random.choice(["manual", "SLACK", "kindle", "unknown"]),
        "sensitivity": random.choice(LEVELS),
        "minImportance": random.choice([0.0, 0.3, 0.5, 1.0]),
        "dateFrom": early.isoformat(),
        "dateTo": late.isoformat(),
    }
    params |= {name: value for name, value in filters.items() if random.random() < 0.25}
    params |= {"graphFilters": random.choice([["*"], ["DECISION"], None])}
    params |= {"expandNeighbors": random.random() < 0.3, "includeEvents": random.random() < 0.7}
    return params


@pytest.fixture(scope="module", params=[True, False], ids=["model", "no-model"])
def world(request: pytest.FixtureRequest, remembering: Callable[..., Any]) -> Any:
    maker = made.Maker(7)
    records = [maker.record(kind) for kind, number in NUMBERS.items() for _ in range(number)]
    named = entities(maker)
    everything = [made.entry(record) for record in [*records, *named]]
    memory = remembering(everything) if request.param else remembering(everything, None)
    return memory, facts_of(records), {one.id: one for one in named if isinstance(one, Entity)}, request.param


def token_of(memory: Any, viewer: Viewer) -> str:
    projects = None if viewer.projects is None else sorted(viewer.projects)
    text: str = memory.token(clearance=LEVELS[viewer.clearance], projects=projects)
    return text


@pytest.mark.long("makes many records")
@pytest.mark.parametrize("seed", range(10))
def test_each_filter_and_isolation_hold_in_every_part_of_every_answer(world: Any, seed: int) -> None:
    random = Random(seed)
    for _ in range(40):
        ask_and_check(random, *world)


def ask_and_check(
    random: Random, memory: Any, facts: dict[str, Fact], known: dict[str, Entity], has_model: bool
) -> None:
    viewer, params = made.random_viewer(random), random_params(random)
    token = token_of(memory, viewer)
    selector = random.choice(["query", "query", "context", "id", "conversationId"])
    if selector == "id":
        params["id"] = random.choice(sorted(facts) + sorted(id for id in facts if id.startswith("art_")))
    elif selector == "conversationId":
        params["conversationId"] = random.choice(["c-1", "c-2"])
    elif selector == "query":
        params["query"] = random.choice(["database queue", "Ana Ruiz decided", "token index deploy"])
    else:
        params.setdefault("context", "email")
    reply = memory.send("recall", token, **params)
    if "error" in reply:
        assert selector == "id"
        hidden = not facts[params["id"]].passes({}, viewer) or kind_of(facts[params["id"]].record) is Kind.EXTRACTION
        assert hidden
        assert reply["error"]["code"] == -32007
        return
    answer = reply["result"]
    passing = {id: fact for id, fact in facts.items() if fact.passes(params, viewer)}
    check_parts(answer, params, passing)
    check_entities(answer, known, passing, viewer)
    check_total(answer, params, passing, has_model)


def check_parts(answer: dict[str, Any], params: dict[str, Any], passing: dict[str, Fact]) -> None:
    results = {result["id"]: result for result in answer["results"]}
    attached = {event["id"]: id for id, result in results.items() for event in result["events"]}
    related = {item["id"]: item for item in answer["related"]}
    assert results.keys() | attached.keys() | related.keys() <= passing.keys()
    assert not related.keys() & (results.keys() | attached.keys())
    assert not attached.keys() & results.keys()
    assert len(results) + len(attached) <= params["limit"]
    assert len(related) <= params["graphBudget"]
    for event, id in attached.items():
        owner = passing[id].parent if isinstance(passing[id].record, ArtifactChunk) else id
        assert passing[event].parent == owner
    if not params["includeEvents"]:
        assert not attached
    for id, item in related.items():
        record = passing[id].record
        if item["type"] == "event" and params["graphFilters"] != ["*"]:
            wanted = DEFAULT if params["graphFilters"] is None else {"decision"}
            assert record.category.casefold() in wanted
        told = [fact.record for fact in passing.values() if fact.parent == id and isinstance(fact.record, Event)]
        assert any(names_of(each) for each in [record, *told])


def check_entities(answer: dict[str, Any], known: Any, passing: dict[str, Fact], viewer: Viewer) -> None:
    for entity in answer["entities"]:
        record = known[entity["id"]]
        assert made.may_see(viewer, record.project, int(record.sensitivity or 0))
        named = [fact for fact in passing.values() if names_of(fact.record) & names_of(record)]
        assert entity["mentionCount"] == len(named) > 0
    counts = [entity["mentionCount"] for entity in answer["entities"]]
    assert counts == sorted(counts, reverse=True)


def check_total(answer: dict[str, Any], params: dict[str, Any], passing: dict[str, Fact], has_model: bool) -> None:
    ids = [result["id"] for result in answer["results"]]
    match answer["selector"]:
        case "id":
            assert (answer["totalCount"], len(ids)) == ((1, 1) if params["id"] in passing else (0, 0))
        case "conversationId":
            turns = [
                fact.record
                for fact in passing.values()
                if getattr(fact.record, "conversation_id", None) == params["conversationId"]
            ]
            assert answer["totalTurns"] == answer["totalCount"] == len(turns)
            latest = sorted(turns, key=lambda turn: turn.turn_index)[-params["limit"] :]
            assert [turn["id"] for turn in answer["turns"]] == [turn.id for turn in latest]
        case "context":
            listed = [fact for fact in passing.values() if isinstance(fact.record, Artifact | Turn | Decision)]
            zero = datetime.min.replace(tzinfo=UTC)
            listed.sort(key=lambda fact: (-((fact.at or zero) - zero).total_seconds(), fact.record.id))
            assert ids == [fact.record.id for fact in listed][: params["limit"]]
            assert answer["totalCount"] == len(listed)
        case "query" if has_model:
            kinds = (Kind.ARTIFACT, Kind.ARTIFACT_CHUNK, Kind.TURN, Kind.DECISION, Kind.CHUNK)
            sought = [
                fact
                for fact in passing.values()
                if kind_of(fact.record) in kinds or (isinstance(fact.record, Event) and params["includeEvents"])
            ]
            # a chunked artifact is found by its chunks alone
            told = {group(fact) for fact in sought if not getattr(fact.record, "chunked", False)}
            assert answer["totalCount"] == len(told)
            events = [event["id"] for result in answer["results"] for event in result["events"]]
            assert len(ids) + len(events) == min(params["limit"], len(told))
            documents = {group(fact) for fact in sought if not isinstance(fact.record, Event)} & told
            assert len(events) <= max(params["limit"] // 3, params["limit"] - len(documents))
            check_documents(ids, passing)


def check_documents(ids: list[str], passing: Mapping[str, Fact]) -> None:
    """Check that each document is a single result, and no event of a result is another result."""
    groups = [group(passing[id]) for id in ids]
    assert len(set(groups)) == len(groups)
    assert not [id for id in ids if isinstance(passing[id].record, Event) and passing[id].parent in groups]


def group(fact: Fact) -> str:
    return fact.parent if isinstance(fact.record, ArtifactChunk) and fact.parent else str(fact.record.id)


@pytest.mark.long("makes many records")
def test_every_condition_was_met_by_some_record_and_not_by_another(world: Any) -> None:
    """Check that no condition above was trivial."""
    _, facts, _, _ = world
    everyone = Viewer(Sensitivity.HIGHLY_SENSITIVE)
    for seed in range(60):
        params = random_params(Random(seed))
        for name in ("context", "source", "sensitivity", "minImportance", "dateFrom", "dateTo"):
            if params.get(name) and params[name] != "unknown":
                met = [fact.passes({name: params[name]}, everyone) for fact in facts.values()]
                assert any(met)
                assert not all(met)
