"""Filters answer for what is shown: each row meets them by its own members, and a list lacks no other row that does."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from cognition_engines.kinds.decisions import ENDED
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import SENSITIVITIES, STATUSES, SUPERSEDED, DecisionDetails
from cognition_engines.path_sets import includes_any
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry
from cstp.methods.registry import METHODS
from cstp.values.decisions import AffectedPart
from cstp_server.tokens import create_token
from tests.isolation.world import (
    CATEGORIES,
    CONTEXTS,
    CONVERSATIONS,
    EPOCH,
    IN_FUTURE,
    PATHS,
    PATTERNS,
    PEOPLE,
    SYSTEMS,
    TITLES,
    TOPICS,
    WORDS,
    make_world,
    put,
)
from tests.kinds import entry
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores

Members: TypeAlias = Mapping[str, Any]
AGENT: Final = "ann"
SCOPES: Final = ("read", "write", "review", "ratify", "admin")
WORDED: Final = "Approved by all"  # no status, so a filter finds a file's words
SPELLINGS: Final = (WORDED, "Accepted", "ACCEPTED ", "Proposed", None)
DAYS: Final = tuple((EPOCH + timedelta(days=day)).isoformat() for day in range(-1, 7))
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
PROJECTS: Final = ("alpha", "beta", "Alpha")
TAGS: Final = tuple([topic] for topic in TOPICS)
TIMES: Final = ("ts", "eventTime", "lastHighlightedAt", "createdAt", "extractedAt", "date")
NOW: Final = datetime.now(UTC)
# parameters that choose no rows, or one record
OTHERS: Final = frozenset(
    (
        *("abstain", "asOf", "before", "chunkId", "decisionsLimit", "depth"),
        *("direction", "expand", "expandNeighbors", "explain", "files", "format"),
        *("graphBudget", "id", "ifNoneMatch", "include", "includeEntities", "includeEvents"),
        *("includeLinks", "includeProvenance", "includeReasons", "limit", "maxTokens", "minSeq"),
        *("mode", "nodeId", "offset", "order", "packages", "query"),
        *("readyLimit", "repository", "since", "snippets", "sort", "taskDescription", "waitMs"),
    )
)
NOT_FILTERED: Final = ("fetch", "getDecision", "getChunk", "getEpisode", "getStats", "whoami", "discover")


@dataclass(frozen=True)
class Row:
    """A row of an answer: its own members, the whole record's, and those of the memory that it belongs to."""

    item: Members
    part: str
    whole: Members
    owner: Members

    def get(self, name: str) -> Any:
        return self.item.get(name, self.whole.get(name))

    def inherited(self, name: str) -> Any:
        return self.whole.get(name, self.owner.get(name))


Meets: TypeAlias = Callable[[Row, Any], bool | None]  # None: the members do not decide


@dataclass(frozen=True)
class Filter:
    """A filter's values, and the rule by shown members."""

    values: Sequence[Any]
    meets: Meets


@dataclass(frozen=True)
class Asked:
    """A method's filters, its other parameters, and the members of the answer with rows; `full` if none is cut off."""

    rows: Sequence[str]
    filters: Mapping[str, Filter]
    params: Members = field(default_factory=dict)
    full: bool = False


def fold(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split()).casefold()


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def among(name: str, row: Row, value: Any) -> bool:
    return row.get(name) is not None and fold(row.get(name)) in map(fold, listed(value))


def equal(name: str, row: Row, value: Any) -> bool:
    return bool(row.get(name) == value)


def is_in(name: str, row: Row, value: list[str]) -> bool:
    return row.item[name] in value


def is_near(row: Row, value: float) -> bool | None:
    return None if row.part != "results" else at_least("score", row, value)


def has_status(row: Row, value: Any) -> bool:
    words = row.item.get("statusText", row.item.get("provenance", {}).get("statusText"))
    stated = None if fold(words) in STATUSES else words
    return not {fold(row.get("status")), fold(stated)}.isdisjoint(map(fold, listed(value)))


def in_project(row: Row, value: str) -> bool:
    return bool(row.inherited("project") == value)


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def at_least(name: str, row: Row, value: Any) -> bool:
    found = row.get(name)
    return found is not None and (moment(found) >= moment(value) if isinstance(value, str) else found >= value)  # type: ignore[operator]


def at_most(name: str, row: Row, value: Any) -> bool:
    found = row.get(name)
    return found is not None and (moment(found) <= moment(value) if isinstance(value, str) else found <= value)  # type: ignore[operator]


def is_current(row: Row, value: bool) -> bool:
    if not value:
        return True
    if "status" in row.whole:
        ends = moment(row.whole.get("validTo"))
        return row.get("status") not in ENDED and (ends is None or ends > NOW)
    return not row.inherited("supersededBy")


def is_overdue(row: Row, value: bool) -> bool:
    due = moment(row.get("reviewBy"))
    overdue = due is not None and due < NOW and row.get("outcome") is None and row.get("status") != SUPERSEDED
    return overdue is value


def was_in_force(row: Row, value: str) -> bool | None:
    since, until, then = (
        moment(text) for text in (row.whole.get("validFrom") or row.get("date"), row.whole.get("validTo"), value)
    )
    assert then is not None
    if since is None or since > then or (until is not None and until <= then) or row.get("status") in ENDED[1:]:
        return False
    return None if row.get("status") == SUPERSEDED else True  # since when, the row does not state


def governs(row: Row, value: list[str]) -> bool:
    patterns = [each["pattern"] for each in row.whole.get("affects", ()) if each["type"] == "path"]
    return bool(patterns) and includes_any("\n".join(patterns), tuple(value))


def has_all(name: str, row: Row, value: list[str], read: Callable[[str], Any] = fold) -> bool:
    found = row.get(name) or row.get("topics") or ()
    return {*map(read, value)} <= {*map(read, found)}


def people(members: Members) -> set[str | None]:
    return {fold(members.get(name)) for name in ("author", "speaker")} | {*map(fold, members.get("participants", ()))}


def is_by(row: Row, value: str) -> bool:
    authors = [fold(members.get(name)) for members in (row.whole, row.owner) for name in ("author", "speaker")]
    return fold(value) in authors


def took_part(row: Row, value: list[str]) -> bool:
    return {*map(fold, value)} <= people(row.whole) | people(row.owner)


def context_of(row: Row, value: str) -> bool:
    if "status" in row.whole:
        return fold(value) == "decision"
    members = row.owner or row.whole
    return fold(value) == ("conversation" if "conversationId" in members else fold(members.get("context")))


def source_of(row: Row, value: str) -> bool:
    return fold(value) in (fold(row.inherited(name)) for name in ("sourceSystem", "source"))


def is_at_level(row: Row, value: str) -> bool | None:
    if row.whole.get("chunked") and "score" in row.item:
        return None  # the found passage has its own level
    levels = [SENSITIVITIES[members["sensitivity"]] for members in (row.whole, row.owner) if "sensitivity" in members]
    return max(levels) == SENSITIVITIES[value]


def is_important(row: Row, value: float) -> bool:
    has = "sourceSystem" in row.whole or "sourceSystem" in row.owner
    return value == 0 or (has and (row.inherited("importance") or 0) >= value)


def is_of_type(row: Row, value: Any) -> bool:
    found = row.item.get("extractionType") or "chunk"
    return any(name == found or (name == "extraction" and found != "chunk") for name in listed(value))


def of_source(row: Row, value: str) -> bool:
    source = row.item.get("source") or {}
    return value == row.whole.get("sourceId") or fold(value) == fold(source.get("title"))


def is_related(row: Row, value: list[str]) -> bool | None:
    if row.part != "related" or row.item["type"] != "event":
        return None
    return "*" in value or fold(row.item["metadata"]["category"]) in map(fold, value)


def of_conversation(row: Row, value: str) -> bool | None:
    return None if row.part not in ("turns", "results") else row.whole.get("conversationId") == value


def _when(first: str, last: str, name: str = "date") -> dict[str, Filter]:
    return {first: Filter(DAYS, partial(at_least, name)), last: Filter(DAYS, partial(at_most, name))}


YES: Final = (True, False)
STATUS: Final = Filter(
    ("accepted", "ACCEPTED", "proposed", "superseded", "reviewed", WORDED.upper(), "acc"), has_status
)
STAKES: Final = Filter(("LOW", "high", "none"), partial(among, "stakes"))
PATHED: Final = Filter(tuple([path] for path in PATHS), governs)
CURRENT: Final = Filter(YES, is_current)
PROJECT: Final = Filter(PROJECTS, in_project)
TAGGED: Final = Filter(TAGS, partial(has_all, "tags"))
EXACTLY_TAGGED: Final = Filter(TAGS, partial(has_all, "tags", read=str))
SCORED: Final = Filter(SHARES, partial(at_least, "score"))
TOPIC: Final = Filter((*TOPICS, "none"), lambda row, value: has_all("topics", row, [value]))


def several(one: Filter) -> Filter:
    """Return the filter for a list of values."""
    return Filter([[value, one.values[0]] for value in one.values] + [[value] for value in one.values], one.meets)


OF_DECISIONS: Final = {
    "category": Filter(("storage", "SEARCH", "none"), partial(among, "category")),
    "agent": Filter((AGENT, "Ann"), partial(equal, "recordedBy")),
    "project": PROJECT,
    "tags": TAGGED,
    "hasOutcome": Filter(YES, lambda row, value: (row.get("outcome") is not None) is value),
    "paths": PATHED,
    "current": CURRENT,
}
OF_MEMORIES: Final = {
    "context": Filter((*CONTEXTS, "conversation", "decision"), context_of),
    "source": Filter((*SYSTEMS, "sl"), source_of),
    "author": Filter((*PEOPLE[:4], "ANA"), is_by),
    "participants": Filter([[one] for one in PEOPLE[:4]] + [["bo", "Ana"]], took_part),
    "project": PROJECT,
    "sensitivity": Filter(tuple(SENSITIVITIES), is_at_level),
    "current": CURRENT,
    "minImportance": Filter(SHARES, is_important),
}
EXTRACTED: Final = Asked(["results"], {"topic": TOPIC}, {"limit": 500}, full=True)
METHODS_ASKED: Final[Mapping[str, Asked]] = {
    "listDecisions": Asked(
        ["decisions"],
        {**OF_DECISIONS, "stakes": STAKES, "status": STATUS, "overdue": Filter(YES, is_overdue)}
        | _when("dateFrom", "dateTo"),
        {"limit": 500},
        full=True,
    ),
    "queryDecisions": Asked(
        ["decisions"],
        {**OF_DECISIONS, "stakes": several(STAKES), "status": several(STATUS)}
        | {name: Filter(values, partial(among, name)) for name, values in (("feature", ["Pay", "x"]), ("pr", ["7"]))}
        | {"minConfidence": Filter(SHARES, partial(at_least, "confidence"))}
        | {"maxConfidence": Filter(SHARES, partial(at_most, "confidence"))}
        | {"asOf": Filter(DAYS, was_in_force)}
        | _when("dateAfter", "dateBefore"),
        {"query": WORDS[0], "limit": 50, "mode": "semantic", "includeProvenance": True},
        full=True,
    ),
    "listMemories": Asked(["memories"], {**OF_MEMORIES, **_when("dateFrom", "dateTo")}, {"limit": 100}, full=True),
    "listEpisodes": Asked(
        ["episodes"],
        {"tags": EXACTLY_TAGGED, "category": Filter(("coding", "Coding"), partial(equal, "category"))}
        | {"since": Filter(DAYS[:3], partial(at_least, "createdAt"))}
        | _when("dateFrom", "dateTo", "createdAt"),
        {"limit": 100},
        full=True,
    ),
    "findEpisodes": Asked(
        ["episodes"],
        {"tags": EXACTLY_TAGGED}
        | {"minReward": Filter(SHARES, partial(at_least, "reward"))}
        | {"maxReward": Filter(SHARES, partial(at_most, "reward"))},
        {"query": WORDS[0], "limit": 50, "mode": "semantic"},
        full=True,
    ),
    "getDecisions": EXTRACTED,
    "getPatterns": EXTRACTED,
    "getWarnings": EXTRACTED,
    "searchKnowledge": Asked(
        ["results"],
        {"topic": TOPIC, "minScore": SCORED}
        | {"type": Filter(("chunk", "extraction", ["pattern", "decision"], "checklist"), is_of_type)}
        | {"source": Filter((*TITLES, "none"), of_source)},
        {"query": WORDS[0], "limit": 100},
    ),
    "search": Asked(
        ["results"],
        {**OF_MEMORIES, **_when("dateFrom", "dateTo"), "tags": TAGGED, "paths": PATHED, "minScore": SCORED}
        | {"kinds": Filter((["decision"], ["turn", "event"], ["chunk"], ["artifact"]), partial(is_in, "type"))},
        {"query": WORDS[0], "limit": 50},
    ),
    "recall": Asked(
        ["results", "related", "turns"],
        {**OF_MEMORIES, "minScore": Filter(SHARES, is_near)}
        | {"graphFilters": Filter([[one] for one in CATEGORIES], is_related)}
        | {"conversationId": Filter(CONVERSATIONS, of_conversation)}
        | _when("dateFrom", "dateTo", "at"),
        {"query": WORDS[0], "limit": 50, "graphBudget": 50},
    ),
    "getSessionContext": Asked(
        ["decisions", "ready", "patterns", "warnings", "episodes"],
        {"project": PROJECT},
        {"taskDescription": WORDS[0], "maxTokens": 32_000, "decisionsLimit": 50},
    ),
    "getDecisionContext": Asked(
        ["governing", "proposals", "history"],
        {"project": PROJECT, "files": PATHED},
        {"files": [*PATHS]},
    ),
    "getGraph": Asked(
        ["edges"],
        {"edgeTypes": Filter((["supersedes"], ["refines"]), partial(is_in, "edgeType"))},
        {"nodeId": "own-1"},
    ),
    "changes": Asked(
        ["changes"],
        {"kinds": Filter((["decision"], ["turn", "event"]), partial(is_in, "kind"))},
        {"since": 0, "limit": 1000},
        full=True,
    ),
    "audit": Asked(
        ["rows"],
        {"agent": Filter((AGENT, "none"), partial(equal, "agent"))}
        | {"method": Filter(("cstp.setStatus",), partial(equal, "method"))}
        | {"id": Filter(("own-1",), lambda row, value: value in [one["id"] for one in row.item["records"]])}
        | _when("since", "until", "at"),
        {"limit": 50},
    ),
}

SEARCHES: Final = pytest.mark.long("searches under many filters")
BOUNDS: Final = (
    *(("dateFrom", "dateTo"), ("dateAfter", "dateBefore"), ("since", "dateTo"), ("since", "until")),
    *(("minConfidence", "maxConfidence"), ("minReward", "maxReward")),
)
FILTERED: Final = {method.name.removeprefix("cstp."): method for method in METHODS if not method.writes}


def inner_names(method: str) -> set[str]:
    """Return the names in a method's `filters`; none without such a parameter."""
    schema = FILTERED[method].params.model_json_schema()
    return set(next(iter(schema["$defs"].values()))["properties"]) if "filters" in schema["properties"] else set()


def _decisions(random: Random) -> Iterator[Entry]:
    """Yield decisions of files with any statuses and words, some with successors of any date."""
    for number in range(25):
        yield entry(
            Kind.DECISION,
            f"own-{number}",
            title=" ".join(random.choices(WORDS, k=2)),
            status=random.choice(STATUSES),
            status_text=random.choice(SPELLINGS),
            category=random.choice(["storage", "Storage", None]),
            stakes=random.choice(["low", "High", None]),
            confidence=random.choice([*SHARES, None]),
            outcome=random.choice(["success", None]),
            tags=tuple(random.sample(TOPICS, k=2)),
            feature=random.choice(["pay", None]),
            pr=random.choice(["7", None]),
            project=random.choice([*PROJECTS, None]),
            date=random.choice([None, *map(moment, DAYS), IN_FUTURE]),
            valid_from=random.choice([None, None, EPOCH, IN_FUTURE]),
            valid_to=random.choice([None, None, EPOCH, IN_FUTURE]),
            supersedes=tuple(f"own-{random.randrange(25)}" for _ in range(random.randrange(2))),
            affects=tuple(AffectedPart("path", one) for one in random.sample(PATTERNS, k=random.randrange(2))),
            details=None
            if number % 3 == 0
            else DecisionDetails("Decided", review_by=random.choice([None, EPOCH, IN_FUTURE])),
            date_source="git" if number % 6 == 0 else None,
        )


def _write(send: Callable[..., Any]) -> None:
    """Record decisions as an agent: pending, reviewed, accepted, and superseded."""
    ids = [
        send("recordDecision", decision=f"{WORDS[0]} {n}", confidence=0.5, category="storage", tags=["rag"])["id"]
        for n in range(5)
    ]
    send("reviewDecision", id=ids[1], outcome="success")
    for id in ids[2:]:
        send("setStatus", id=id, status="accepted", reason="agreed")
    send("linkDecisions", sourceId=ids[2], targetId=ids[3], edgeType="supersedes")
    send("reviewDecision", id=ids[4], outcome="failure")


class Asking:
    """A server with records of all kinds, whole records by id, and the rows of each answer without filters."""

    def __init__(self, serving: Serving, token: str) -> None:
        self.serving = serving
        self.token = token
        self.wholes: dict[str, Members] = {}
        self.every: dict[str, list[Row]] = {}

    def send(self, method: str, /, **params: Any) -> Any:
        return self.serving.ask(method, self.token, **params)

    def whole(self, id: str) -> Members:
        """Return the members of a whole record; none for another id."""
        if id not in self.wholes:
            self.wholes[id] = self.serving.send("fetch", self.token, id=id).get("result", {}).get("metadata", {})
        return self.wholes[id]

    def read_everything(self) -> None:
        """Read the rows of each answer without filters."""
        for one in self.send("listMemories", limit=100)["memories"]:
            self.wholes[one["id"]] = {**self.whole(one["id"]), "supersededBy": one.get("supersededBy")}
        for method in METHODS_ASKED:
            self.every[method] = self.rows(method, {})

    def rows(self, method: str, filters: Members) -> list[Row]:
        asked = METHODS_ASKED[method]
        inner = {name: value for name, value in filters.items() if name in inner_names(method)}
        outer = {name: value for name, value in filters.items() if name not in inner}
        result = self.send(method, **{**asked.params, **outer}, **({"filters": inner} if inner else {}))
        items = [(part, item) for part in asked.rows for item in result.get(part, ())]
        events = [("events", event) for _, item in items for event in item.get("events", ())]
        return [self.row(part, item) for part, item in items + events]

    def row(self, part: str, item: Members) -> Row:
        if "id" not in item or part == "changes":
            return Row(item, part, {}, {})
        whole = self.whole(str(item["id"]))
        owner = whole.get("artifactId")
        of_memory = {} if owner is None else self.whole(f"art_{owner.removeprefix('art_')}")
        if whole.get("project") not in (None, of_memory.get("project")):  # it inherits the sensitivity alone
            of_memory = {name: value for name, value in of_memory.items() if name == "sensitivity"}
        at = next((its[name] for its in (whole, of_memory) for name in TIMES if name in its), None)
        return Row({"at": at, **item}, part, whole, of_memory)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Asking]:
    embedder: Any = SeededEmbedder()
    entries = [*make_world(Random(47)).entries, *_decisions(Random(47))]

    def fill(records: Records) -> None:
        put(records, embedder, entries)

    serving, stop = start(tmp_path_factory.mktemp("filters"), lasting_stores, embedder, fill=fill)
    rights: Any = {"scopes": SCOPES, "clearance": "highly_sensitive"}
    _, token = create_token(serving.settings.tokens_path, AGENT, lifetime=timedelta(hours=1), **rights)
    asking = Asking(serving, token)
    try:
        _write(asking.send)
        serving.caught_up()
        asking.read_everything()
        yield asking
    finally:
        stop()


def test_every_parameter_that_filters_is_checked() -> None:
    assert set(METHODS_ASKED) == {name for name in FILTERED if not name.startswith("rpc.")} - {*NOT_FILTERED}
    for name, asked in METHODS_ASKED.items():
        given, inner = set(FILTERED[name].params.model_json_schema()["properties"]), inner_names(name)
        assert (given - OTHERS - {"filters"}) | inner <= set(asked.filters) <= given | inner, name


def test_each_row_of_a_decision_with_a_date_names_its_source(asking: Asking) -> None:
    rows = [row for rows in asking.every.values() for row in rows if "status" in row.whole and "date" in row.item]
    sources = {
        id: asking.send("getDecision", id=id)["decision"]["dateSource"] for id in {row.item["id"] for row in rows}
    }
    assert {"git", "file", None} == set(sources.values())
    for row in rows:
        assert row.item.get("dateSource") == sources[row.item["id"]], row


@pytest.mark.parametrize(
    "method",
    [
        pytest.param(name, marks=SEARCHES if {"query", "since"} & {*asked.params, *asked.filters} else ())
        for name, asked in METHODS_ASKED.items()
    ],
)
@settings(max_examples=20)
@given(data=st.data())
def test_filtered_answers_have_the_rows_that_meet_the_filters_as_shown(asking: Asking, method: str, data: Any) -> None:
    asked = METHODS_ASKED[method]
    names = data.draw(st.lists(st.sampled_from(sorted(asked.filters)), min_size=1, max_size=2, unique=True))
    filters = {name: data.draw(st.sampled_from(asked.filters[name].values), name) for name in names}
    for low, high in BOUNDS:
        if {low, high} <= set(filters):
            filters |= dict(zip((low, high), sorted([filters[low], filters[high]]), strict=True))
    found = asking.rows(method, filters)
    for row in found:
        for name, value in filters.items():
            assert asked.filters[name].meets(row, value) is not False, (name, value, row)
    if asked.full:
        shown = [row.item for row in found]
        for row in asking.every[method]:
            if all(asked.filters[name].meets(row, value) for name, value in filters.items()):
                assert row.item in shown, (filters, row)
