"""Random parameters for every method, naming existing, hidden and unknown records."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from cognition_engines.kinds.spec import Kind
from cstp.contract import Method
from cstp.methods.registry import METHODS
from tests.isolation.world import (
    CATEGORIES,
    CONTEXTS,
    CONVERSATIONS,
    EPOCH,
    NUMBERS,
    PATHS,
    PEOPLE,
    SYSTEMS,
    TITLES,
    TOPICS,
    WORDS,
    World,
)

Params = dict[str, Any]
MODES: Final = ("hybrid", "semantic", "keyword")


class Asker:
    """A source of drawn values; `model` states whether the server has an embedding model."""

    def __init__(self, random: Random, world: World, *, model: bool) -> None:
        self.random = random
        self.ids = world.ids
        self.model = model

    def given(self, share: float = 0.4, **makers: Callable[[], Any]) -> Params:
        """Draw each parameter with this probability."""
        return {name: make() for name, make in makers.items() if self.random.random() < share}

    def one(self, *values: Any) -> Any:
        return self.random.choice(values)

    def query(self) -> str:
        if self.random.random() < 0.1:
            return f"ADR-{self.one(*NUMBERS)}"
        words = self.random.choices(WORDS, k=self.random.choice([1, 2, 4]))
        times = ("yesterday", "last week", f"in {EPOCH.year}", f"since {EPOCH.year}-01-03", "in January")
        return " ".join(words + ([str(self.one(*times))] if self.random.random() < 0.3 else []))

    def searched(self, *limits: int) -> Params:
        """Draw a query, and a limit below the maximum for single words alone: equal sums may differ as floats."""
        query = self.query()
        return {"query": query, "limit": limits[-1] if " " in query else self.one(*limits)}

    def mode(self) -> str:
        return str(self.one(*MODES)) if self.model else "keyword"

    def reasons(self, mode: str) -> Params:
        """Draw whether ranks are explained, and whether a search by meaning may abstain."""
        abstaining = {} if mode == "keyword" else self.given(0.2, abstain=lambda: True)
        return self.given(0.3, explain=lambda: True) | abstaining

    def dated(self) -> Params:
        """Draw the question's date, which gives time words their meaning."""
        return self.given(0.3, asOf=self.day)

    def day(self) -> str:
        return str(self.one(*(f"{EPOCH.year}-01-{day:02d}" for day in range(1, 8)), f"{EPOCH.year}-01-03T12:00:00Z"))

    def days(self, first: str, last: str) -> Params:
        """Draw both bounds, a single bound or none, in order."""
        low, high = sorted([self.day(), self.day()])
        return self.given(**{first: lambda: low, last: lambda: high})

    def id(self, *kinds: Kind) -> str:
        return str(self.one("unknown", *(id for kind in kinds for id in self.ids[kind])))

    def decision(self) -> str:
        """Draw a decision's id, or a number that several decisions may have."""
        return str(self.one(self.id(Kind.DECISION), *(f"{word}{self.one(*NUMBERS)}" for word in ("", "ADR-00"))))

    def share(self) -> float:
        return float(self.one(0.0, 0.25, 0.5, 0.75))

    def some(self, *values: Any) -> list[Any]:
        return self.random.sample(values, k=self.random.randint(1, 2))


def query_decisions(ask: Asker) -> Params:
    low, high = sorted([ask.share(), ask.share()])
    filters = ask.given(
        category=lambda: ask.one("storage", "SEARCH", "none"),
        stakes=lambda: ask.some("low", "HIGH", "none"),
        status=lambda: ask.some("accepted", "Proposed"),
        project=lambda: ask.one("alpha", "beta", "none"),
        agent=lambda: ask.one("ann", "none"),
        tags=lambda: ask.some("rag", "none"),
        feature=lambda: "checkout",
        pr=lambda: "17",
        hasOutcome=lambda: ask.one(True, False),
        paths=lambda: ask.some(*PATHS),
        current=lambda: ask.one(True, False),
        asOf=ask.day,
        minConfidence=lambda: low,
        maxConfidence=lambda: high,
    ) | ask.days("dateAfter", "dateBefore")
    include = ask.some("snippet", "links", "provenance")
    rest = ask.given(
        includeReasons=lambda: True,
        filters=lambda: filters,
        include=lambda: include,
        maxTokens=lambda: ask.one(500, 700, 8000),
        includeLinks=lambda: True,
        includeProvenance=lambda: True,
    )
    mode = ask.mode()
    return {**ask.searched(1, 5, 50), "mode": mode, **rest, **ask.reasons(mode), **ask.dated()}


def get_decision(ask: Asker) -> Params:
    rest = ask.given(
        includeHistory=lambda: ask.one(True, False),
        includeReviews=lambda: ask.one(True, False),
        includeLinks=lambda: ask.one(True, False),
        knownAt=lambda: "2100-01-01",
        repository=lambda: "github.com/acme/shop",
    )
    return {"id": ask.decision(), **rest}


def list_decisions(ask: Asker) -> Params:
    rest = ask.given(
        0.3,
        limit=lambda: ask.one(1, 5, 500),
        offset=lambda: ask.one(1, 3),
        category=lambda: ask.one("storage", "SEARCH"),
        stakes=lambda: ask.one("low", "HIGH"),
        status=lambda: ask.one("accepted", "Proposed"),
        agent=lambda: "ann",
        tags=lambda: ask.some("rag", "none"),
        project=lambda: ask.one("alpha", "beta"),
        hasOutcome=lambda: ask.one(True, False),
        paths=lambda: ask.some(*PATHS),
        current=lambda: ask.one(True, False),
        overdue=lambda: ask.one(True, False),
        sort=lambda: ask.one("date", "recordedAt", "confidence", "category", "stakes", "status", "reviewBy"),
        order=lambda: ask.one("asc", "desc"),
    )
    return {**ask.days("dateFrom", "dateTo"), **rest}


def get_graph(ask: Asker) -> Params:
    rest = ask.given(
        depth=lambda: ask.one(1, 3, 5),
        edgeTypes=lambda: ask.one(["supersedes"], ["supersedes", "blocks"], ["blocks"]),
        direction=lambda: ask.one("outgoing", "incoming", "both"),
        limit=lambda: ask.one(1, 3, 200),
    )
    return {"nodeId": ask.id(Kind.DECISION), **rest}


def list_episodes(ask: Asker) -> Params:
    bounds = ask.days("dateFrom", "dateTo")
    since = {} if "dateTo" in bounds else ask.given(since=ask.day)
    rest = ask.given(
        limit=lambda: ask.one(1, 5, 100),
        offset=lambda: ask.one(1, 3),
        tags=lambda: ask.some(*TOPICS),
        category=lambda: ask.one("coding", "Coding"),
    )
    return {**bounds, **since, **rest}


def get_episode(ask: Asker) -> Params:
    return {"id": int(ask.one(7, *ask.ids[Kind.EPISODE]))}


def by_schema(method: Method[Any, Any]) -> Callable[[Asker], Params]:
    """Return questions of a simple method, with values by parameter name and type."""
    schema = method.params.model_json_schema()
    names = [name for name in schema["properties"] if name != "minSeq"]
    days = {"dateFrom", "dateTo"}.issubset(names)

    def draw(ask: Asker) -> Params:
        drawn = {name: lambda name=name: _value(ask, name, schema["properties"][name]) for name in names}
        bounds = ask.days("dateFrom", "dateTo") if days else {}
        given = ask.given(**{name: make for name, make in drawn.items() if name not in ("dateFrom", "dateTo")})
        return {**{name: drawn[name]() for name in schema.get("required", ())}, **given, **bounds}

    return draw


def _value(ask: Asker, name: str, schema: Mapping[str, Any]) -> Any:
    if name in NAMED:
        return NAMED[name](ask)
    (kind,) = [branch for branch in schema.get("anyOf", [schema]) if branch.get("type") != "null"]
    match kind:
        case {"enum": list(values)}:
            return ask.one(*values)
        case {"type": "boolean"}:
            return ask.one(True, False)
        case {"type": "integer", "minimum": int(least), "maximum": int(most)}:
            return ask.one(least, min(least + 1, most), most)
    raise AssertionError(f"a parameter {name} needs a function here that makes its values: {schema}")


def fetch(ask: Asker) -> Params:
    kind = ask.one(*ask.ids)
    id = ask.decision() if kind is Kind.DECISION else ask.one(*ask.ids[kind])
    return {"id": id, **ask.given(0.3, kind=lambda: kind.label, repository=lambda: "github.com/acme/shop")}


def find_episodes(ask: Asker) -> Params:
    low, high = sorted([ask.share(), ask.share()])
    rest = ask.given(minReward=lambda: low, maxReward=lambda: high, tags=lambda: ask.some(*TOPICS))
    mode = ask.mode()
    return {**ask.searched(1, 5, 50), "mode": mode, **rest, **ask.reasons(mode), **ask.dated()}


def search_knowledge(ask: Asker) -> Params:
    filters = ask.given(
        type=lambda: ask.one("chunk", "extraction", ["pattern", "decision"], "checklist"),
        topic=lambda: ask.one(*TOPICS),
        source=lambda: ask.one(*TITLES, ask.id(Kind.SOURCE)),
    )
    rest = ask.given(filters=lambda: filters, maxTokens=lambda: ask.one(500, 700, 8000), snippets=lambda: True)
    mode = ask.mode()
    return {
        **ask.searched(1, 5, 100),
        "mode": mode,
        **rest,
        **ask.given(0.2, minScore=ask.share),
        **ask.reasons(mode),
        **ask.dated(),
    }


def search(ask: Asker) -> Params:
    mode = ask.mode()
    kinds = ("decision", "chunk", "extraction", "episode", "artifact", "turn", "event")
    filters = ask.given(
        0.15,
        **_people(ask),
        current=lambda: True,
        tags=lambda: [ask.one(*TOPICS, "rag")],
        context=lambda: ask.one(*CONTEXTS, "conversation", "decision"),
        source=lambda: ask.one(*SYSTEMS),
        sensitivity=lambda: ask.one("normal", "sensitive"),
        minImportance=ask.share,
        paths=lambda: ask.some(*PATHS),
    )
    rest = ask.given(
        kinds=lambda: ask.some(*kinds),
        include=lambda: ["content"],
        maxTokens=lambda: ask.one(500, 1000, 8000),
        minScore=ask.share,
    )
    days = ask.days("dateFrom", "dateTo") if ask.random.random() < 0.3 else {}
    return {**ask.searched(1, 5, 50), "mode": mode, **filters, **days, **rest, **ask.reasons(mode), **ask.dated()}


def recall(ask: Asker) -> Params:
    mode = ask.mode()
    named = (Kind.ARTIFACT, Kind.ARTIFACT_CHUNK, Kind.TURN, Kind.EVENT, Kind.DECISION, Kind.CHUNK)
    selector = ask.one(
        {"query": ask.query()},
        {"query": ask.query(), "mode": mode, **ask.reasons(mode), **ask.dated()},
        {"query": ask.query(), "conversationId": ask.one(*CONVERSATIONS)},
        {"id": ask.id(*named)},
        {"id": ask.id(*named).removeprefix("art_").removeprefix("evt_")},
        {"conversationId": ask.one(*CONVERSATIONS, "none")},
        {"context": ask.one(*CONTEXTS, "conversation")},
    )
    filters = ask.given(
        0.2,
        current=lambda: True,
        **_people(ask),
        context=lambda: ask.one(*CONTEXTS, "conversation", "decision"),
        source=lambda: ask.one(*SYSTEMS),
        sensitivity=lambda: ask.one("normal", "sensitive"),
        minImportance=ask.share,
    )
    rest = ask.given(
        limit=lambda: ask.one(1, 1, 2, 4, 50),
        expand=lambda: ask.one(True, False),
        includeEvents=lambda: ask.one(True, False),
        graphBudget=lambda: ask.one(0, 1, 5, 50),
        graphFilters=lambda: ask.one(["*"], ask.some(*CATEGORIES)),
        includeEntities=lambda: ask.one(True, False),
        expandNeighbors=lambda: True,
        maxTokens=lambda: ask.one(500, 1000, 8000),
        snippets=lambda: True,
    )
    scored = ask.given(0.2, minScore=ask.share) if "query" in selector else {}
    return {**filters, **ask.days("dateFrom", "dateTo"), **selector, **rest, **scored}


def get_decision_context(ask: Asker) -> Params:
    rest = ask.given(
        repository=lambda: ask.one("github.com/acme/shop", "none"),
        project=lambda: ask.one("alpha", "beta", "none"),
        packages=lambda: ask.some("orders", "none"),
        maxTokens=lambda: ask.one(256, 500, 32_000),
        include=lambda: ask.some("snippet", "files"),
    )
    return {"files": ask.some(*PATHS), **rest}


def _people(ask: Asker) -> Mapping[str, Callable[[], Any]]:
    return {name: lambda name=name: NAMED[name](ask) for name in ("author", "participants", "project")}  # type: ignore[misc]


def changes(ask: Asker) -> Params:
    """Request all changes: those of a transaction come in any order, so no page is cut."""
    rest = ask.given(kinds=lambda: ask.some("decision", "turn", "event", "edge"), waitMs=lambda: 1)
    return {"since": ask.one(0, 0, 0, "now"), "limit": 1000, **rest}


def session_context(ask: Asker) -> Params:
    """Request changes, all as JSON: those of a transaction come in any order."""
    since = ask.given(since=lambda: ask.one(0, 0, "now"))
    rest = ask.given(
        repository=lambda: "github.com/acme/shop",
        taskDescription=ask.query,
        files=lambda: ask.some(*PATHS),
        project=lambda: ask.one("alpha", "beta", "none"),
        include=lambda: ask.some("decisions", "ready", "changes", "patterns", "warnings", "episodes"),
        decisionsLimit=lambda: ask.one(1, 50),
        readyLimit=lambda: ask.one(1, 50),
        ifNoneMatch=lambda: "unknown",
    )
    bounds = ask.given(format=lambda: "markdown", maxTokens=lambda: ask.one(256, 1000, 32_000))
    return {**rest, **since, **({"maxTokens": 32_000} if since else bounds)}


def nothing(_: Asker) -> Params:
    return {}


# values of parameters shared by several methods, by name
NAMED: Final[Mapping[str, Callable[[Asker], Any]]] = {
    "query": Asker.query,
    "project": lambda ask: ask.one("alpha", "beta", "none"),
    "tags": lambda ask: ask.some(*TOPICS),
    "topic": lambda ask: ask.one(*TOPICS, "none", ""),
    "nodeId": lambda ask: ask.id(Kind.DECISION),
    "chunkId": lambda ask: ask.id(Kind.CHUNK),
    "files": lambda ask: ask.some(*PATHS),
    "offset": lambda ask: ask.one(1, 3),
    "context": lambda ask: ask.one(*CONTEXTS, "conversation"),
    "source": lambda ask: ask.one(*SYSTEMS),
    "sensitivity": lambda ask: ask.one("normal", "sensitive"),
    "minImportance": Asker.share,
    "author": lambda ask: ask.one(*PEOPLE, "nobody"),
    "participants": lambda ask: ask.some(*PEOPLE, "nobody"),
}
_READS: Final[Mapping[str, Callable[[Asker], Params]]] = {
    "cstp.search": search,
    "cstp.fetch": fetch,
    "cstp.getSessionContext": session_context,
    "cstp.queryDecisions": query_decisions,
    "cstp.getDecision": get_decision,
    "cstp.listDecisions": list_decisions,
    "cstp.getGraph": get_graph,
    "cstp.getDecisionContext": get_decision_context,
    "cstp.listEpisodes": list_episodes,
    "cstp.getEpisode": get_episode,
    "cstp.findEpisodes": find_episodes,
    "cstp.searchKnowledge": search_knowledge,
    "cstp.recall": recall,
}


def _since(ask: Callable[[Asker], Params]) -> Callable[[Asker], Params]:
    """Return the questions with a `minSeq` that every store has reached."""
    return lambda asker: {**ask(asker), **asker.given(0.3, minSeq=lambda: asker.one(0, 1, 20))}


QUESTIONS: Final[Mapping[str, Callable[[Asker], Params]]] = {
    "cstp.changes": changes,
    **{
        method.name: _since(_READS[method.name] if method.name in _READS else by_schema(method))
        for method in METHODS
        if method.scope == "read" and method.name != "cstp.changes"
    },
    "cstp.whoami": nothing,
    "rpc.discover": nothing,
}
