"""Every method over records of all kinds: the same calls against servers of different sizes, in turns."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from math import log
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

from benchmarks.corpus import DAYS, FIRST_DAY
from benchmarks.kinds import (
    CHUNKS,
    KINDS,
    PASSAGES,
    PROJECTS,
    TOPICS,
    TURNS,
    KindsCorpus,
    artifact_id,
    chunk_id,
    conversation_id,
    decision_id,
    project,
    topic,
)  # fmt: skip
from benchmarks.measure import Measured, Timing, Variant, take_turns
from benchmarks.page import Run, page, table, times, verdict
from benchmarks.serving import Caller, fill, metric, result_of, served, wait_until_ready
from benchmarks.starting import RESIDENT
from cstp_server.settings import Settings
from cstp_server.tokens import create_token

LIMIT: Final = 10
MIDDLE: Final = "half-way"
_ONE_PROJECT: Final = "a token of one project"
_PATIENT: Final = {"CSTP_SERVER__IDLE_SECONDS": "600"}
_MEMBERS: Final = ("memories", "episodes", "results", "decisions", "turns", "relatedChunks", "nodes", "changes")
_ONES: Final = {"decision", "byDay", "reflection"}  # of answers about one thing
_READING: Final = f"""\
How to read it:

- A time is `p50 / p95` in milliseconds: a whole call over HTTP on loopback, one connection, with limit {LIMIT}, the
  real server in a process of its own. One server for each size ran all the time, and all calls to all of them took
  turns, in another order each round, so that whatever else the machine did met all sizes alike.
- A size is the number of records of each of {len(KINDS)} kinds. A source has {CHUNKS} chunks, a conversation {TURNS}
  turns, one artifact in {PASSAGES} is cut into {PASSAGES} passages. Topics, tags and people are sampled unevenly: a few
  are frequent; there are {TOPICS} topics and {PROJECTS} projects, and as many people as the size.
- *{MIDDLE}* is the page that begins at half of what matches; *offset* is where that is at the largest size.
- *growth* is the median at the largest size over that at the smallest. It is to be at most the ratio of the logarithms
  of the two sizes.
- Query texts are known to the server, which has their vectors in its cache: what embedding takes does not depend on
  the size. Masks of filters that were asked for before are cached until a record changes, as for any caller who
  asks again; masks of filters that are new in each round are computed.
- Texts and vectors are those of real texts, extended by copies with seeded noise and other words in another order."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call to be measured; `params` of a round. `limited` calls are made with a token of one project."""

    name: str
    method: str
    params: "Params"
    limited: bool = False


@dataclass(frozen=True, slots=True)
class Params:
    """`fixed` members, and of the others another value each round. `middle` asks for the page half-way through."""

    fixed: Mapping[str, Any]
    drawn: Mapping[str, Sequence[Any]]
    middle: bool = False

    def of(self, number: int, offset: int | None) -> dict[str, Any]:
        drawn = {name: values[number % len(values)] for name, values in self.drawn.items()}
        return {**self.fixed, **drawn, **({} if offset is None else {"offset": offset})}


@dataclass(frozen=True, slots=True)
class KindRow:
    """One call at every size. At the largest: how many `results` came back (median), and where the page began."""

    name: str
    timings: Mapping[int, Timing]
    results: int
    offset: int | None

    @property
    def growth(self) -> float:
        """How many times the smallest size's median the largest one's is."""
        return self.timings[max(self.timings)].p50 / self.timings[min(self.timings)].p50


@dataclass(frozen=True, slots=True)
class KindSize:
    """A store of `size` records of each kind, how long it took to fill, and what its server has resident."""

    size: int
    store_seconds: float
    indexes_seconds: float
    megabytes: float


def allowed_growth(sizes: Sequence[int]) -> float:
    """The ratio of the logarithms of the largest and the smallest size."""
    return log(max(sizes)) / log(min(sizes))


@dataclass(frozen=True, slots=True)
class _Server:
    """A server over so many records of each kind, and the calls that are made to it."""

    size: int
    caller: Caller
    limited: Caller
    calls: Sequence[Call]

    def asked_by(self, call: Call) -> Caller:
        return self.limited if call.limited else self.caller


def measure_kinds(
    corpora: Sequence[KindsCorpus],
    model: str,
    queries: Sequence[str],
    rounds: int,
    folder: Path,
    say: Callable[[str], None],
) -> tuple[list[KindSize], list[KindRow]]:
    """Fills a store in `folder` for each corpus, smallest first, and asks all of their servers in turns.

    Raises NotServing.
    """
    filled = []
    for corpus in corpora:
        say(f"{corpus.size} records of each kind: filling the store and its indexes")
        filled.append(_filled(corpus, model, folder / f"kinds-{corpus.size}"))
    with ExitStack() as stack:
        servers = []
        for corpus, (settings, _, _) in zip(corpora, filled, strict=True):
            caller, limited = stack.enter_context(_callers(settings))
            _warm(caller, queries)
            servers.append(_Server(corpus.size, caller, limited, list(make_calls(corpus.size, queries))))
        offsets = {_name(server, call): _offset(server, call) for server in servers for call in server.calls}
        variants = [_variant(server, call, offsets) for server in servers for call in server.calls]
        say(f"measuring {len(variants)} calls in {rounds} rounds")
        measured = take_turns(variants, rounds)
        megabytes = [metric(server.caller.port, RESIDENT) / 1e6 for server in servers]
    sizes = [
        KindSize(server.size, stored, indexed, resident)
        for server, (_, stored, indexed), resident in zip(servers, filled, megabytes, strict=True)
    ]
    return sizes, [_row(servers, place, offsets, measured) for place in range(len(servers[-1].calls))]


def _row(
    servers: Sequence[_Server], place: int, offsets: Mapping[str, int | None], measured: Mapping[str, Measured[bytes]]
) -> KindRow:
    """The call at `place` of every server. Raises NotServing for an answer that is an error."""
    timings, counts = {}, [0]
    for server in servers:
        found = measured[_name(server, server.calls[place])]
        timings[server.size] = found.timing
        counts = [_count(body) for body in found.results]
    largest = servers[-1]
    call = largest.calls[place]
    return KindRow(call.name, timings, int(median(counts)), offsets[_name(largest, call)])


def _name(server: _Server, call: Call) -> str:
    return f"{call.name}/{server.size}"


def _filled(corpus: KindsCorpus, model: str, folder: Path) -> tuple[Settings, float, float]:
    settings = Settings(data_dir=folder)
    folder.mkdir(parents=True, exist_ok=True)
    filled = fill(settings, corpus, model)
    filled.knowledge.close()
    return settings, filled.records, filled.columns_and_keywords + filled.neighbours


@contextmanager
def _callers(settings: Settings) -> Iterator[tuple[Caller, Caller]]:
    """One that sees everything and one that sees one project, once the server is ready."""
    _, text = create_token(settings.tokens_path, "benchmark-project", lifetime=timedelta(days=1), projects=[project(0)])
    with served(settings, _PATIENT) as caller:
        wait_until_ready(caller.port)
        limited = Caller("127.0.0.1", caller.port, text)
        yield caller, limited
        limited.close()


def _warm(caller: Caller, queries: Sequence[str]) -> None:
    """Every query is known to the server from here on: what embedding takes does not depend on the collection."""
    for query in queries:
        result_of(caller.send("cstp.searchKnowledge", {"query": query, "limit": 1}))


def _variant(server: _Server, call: Call, offsets: Mapping[str, int | None]) -> Variant[bytes]:
    name, caller = _name(server, call), server.asked_by(call)
    return Variant(name, lambda number: caller.send(call.method, call.params.of(number, offsets[name])))


def _offset(server: _Server, call: Call) -> int | None:
    """Half of what there is, for a call that wants the page there."""
    if not call.params.middle:
        return None
    result = result_of(server.asked_by(call).send(call.method, call.params.of(0, 0)))
    listed = result.get("metadata", result)
    total: int = listed["totalCount"] if "totalCount" in listed else listed["total"]
    return total // 2


def _count(body: bytes) -> int:
    """How many items an answer has; one for a single record. Raises NotServing for an error."""
    result = result_of(body)
    listed = sum(len(result[name]) for name in _MEMBERS if result.get(name) is not None)
    return listed + len(_ONES & result.keys())


def make_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    """Yield the calls that are measured over `size` records of each kind."""
    yield from _decision_calls(size)
    yield from _episode_calls(size, queries)
    yield from _knowledge_calls(size, queries)
    yield from _recall_calls(size, queries)


def _decision_calls(size: int) -> Iterator[Call]:
    for middle in (False, True):
        where = f", {MIDDLE}" if middle else ""
        yield Call(f"listDecisions, all{where}", "cstp.listDecisions", Params({"limit": LIMIT}, {}, middle))
    ids = [decision_id(number) for number in _drawn(size)]
    yield Call("getDecision", "cstp.getDecision", Params({}, {"id": ids}))
    yield Call("getStats, all", "cstp.getStats", Params({}, {}))
    yield Call("getGraph, two links", "cstp.getGraph", Params({}, {"nodeId": ids}))
    limited = Params({"limit": LIMIT}, {})
    yield Call(f"listDecisions, {_ONE_PROJECT}", "cstp.listDecisions", limited, limited=True)


def _episode_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    early, late = (FIRST_DAY + timedelta(days=share * DAYS) for share in (0.2, 0.8))
    filters: dict[str, dict[str, Any]] = {
        "no filter": {},
        "since": {"since": early.isoformat()},
        "a range of dates": {"dateFrom": early.isoformat(), "dateTo": late.isoformat()},
        "a tag": {"tags": [topic(0)]},
        "two tags": {"tags": [topic(0), topic(1)]},
        "a category": {"category": "research"},
    }
    filters["all of these"] = {
        **filters["a range of dates"],
        **filters["a tag"],
        **filters["a category"],
    }
    for middle in (False, True):
        where = f", {MIDDLE}" if middle else ""
        for name, given in filters.items():
            yield Call(
                f"listEpisodes, {name}{where}", "cstp.listEpisodes", Params({**given, "limit": LIMIT}, {}, middle)
            )
        name = f"listEpisodes, {_ONE_PROJECT}{where}"
        yield Call(name, "cstp.listEpisodes", Params({"limit": LIMIT}, {}, middle), limited=True)
    yield Call("changes, a page", "cstp.changes", Params({"since": 0, "limit": LIMIT}, {}))
    yield Call("getEpisode", "cstp.getEpisode", Params({}, {"id": [number + 1 for number in _drawn(size)]}))
    asked = {"query": queries}
    yield Call("findEpisodes", "cstp.findEpisodes", Params({"limit": LIMIT}, asked))
    good = {"limit": LIMIT, "minReward": 0.0, "tags": [topic(0)]}
    yield Call("findEpisodes, of a tag that went well", "cstp.findEpisodes", Params(good, asked))


def _knowledge_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    chunks = [chunk_id(number) for number in _drawn(size)]
    for middle in (False, True):
        where = f", {MIDDLE}" if middle else ""
        for name, given in (("a topic", {"topic": topic(0)}), ("all", {})):
            yield Call(f"getPatterns, {name}{where}", "cstp.getPatterns", Params({**given, "limit": LIMIT}, {}, middle))
    yield Call("getChunk, five related", "cstp.getChunk", Params({"relatedLimit": 5}, {"chunkId": chunks}))
    yield Call("getChunk, none related", "cstp.getChunk", Params({"includeRelated": False}, {"chunkId": chunks}))
    asked = {"query": queries}
    for mode in ("hybrid", "semantic", "keyword"):
        yield Call(f"searchKnowledge, {mode}", "cstp.searchKnowledge", Params({"limit": LIMIT, "mode": mode}, asked))
        yield Call(f"search, {mode}", "cstp.search", Params({"limit": LIMIT, "mode": mode}, asked))
    by_topic = {"limit": LIMIT, "filters": {"type": "chunk", "topic": topic(0)}}
    yield Call("searchKnowledge, chunks of a topic", "cstp.searchKnowledge", Params(by_topic, asked))
    yield Call("queryDecisions", "cstp.queryDecisions", Params({"limit": LIMIT}, asked))


def _recall_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    numbers = _drawn(size)
    query, ids = {"query": queries}, {"id": [artifact_id(number) for number in numbers]}
    conversations = {"conversationId": [conversation_id(number) for number in _drawn(size // TURNS)]}
    named: dict[str, tuple[dict[str, Any], Mapping[str, Sequence[Any]]]] = {
        "a query, without expansion": ({"expand": False}, query),
        "a query, with expansion": ({}, query),
        "a query, budget 50 of every category": ({"graphBudget": 50, "graphFilters": ["*"]}, query),
        "a query in a context": ({"context": "meeting"}, query),
        "by id, without expansion": ({"expand": False}, ids),
        "by id, with expansion": ({}, ids),
        "a conversation": ({}, conversations),
        "a context": ({"context": "meeting"}, {}),
    }
    for name, (fixed, drawn) in named.items():
        yield Call(f"recall, {name}", "cstp.recall", Params({**fixed, "limit": LIMIT}, drawn))
    yield Call("listMemories", "cstp.listMemories", Params({"limit": LIMIT}, {}))
    yield Call(f"recall, {_ONE_PROJECT}", "cstp.recall", Params({"limit": LIMIT}, query), limited=True)


def _drawn(size: int) -> list[int]:
    """Numbers below `size`, in another order than the records were made."""
    return Random(4).sample(range(size), min(size, 500))


def render_kinds(run: Run[tuple[Sequence[KindSize], Sequence[KindRow]]]) -> str:
    """The whole page, in Markdown."""
    sizes, rows = run.found
    parts = ["## The stores", _stores(sizes), "## All methods", _table(rows, [one.size for one in sizes])]
    return page("Speed of every method", "python -m benchmarks --kinds", run, _READING, *parts)


def _stores(sizes: Sequence[KindSize]) -> str:
    heads = ["records of each kind", "records", "store filled in, s", "indexes filled in, s"]
    rows = [[f"{each:,.0f}" for each in _figures(one)] for one in sizes]
    return table([*heads, "server's memory after all calls, MB"], rows)


def _figures(one: KindSize) -> tuple[float, ...]:
    return one.size, one.size * len(KINDS), one.store_seconds, one.indexes_seconds, one.megabytes


def _table(rows: Sequence[KindRow], sizes: Sequence[int]) -> str:
    several = len(sizes) > 1
    allowed = allowed_growth(sizes)
    heads = ["call", *(f"{size:,}" for size in sizes)]
    heads += [f"growth (at most {allowed:.2f})", "kept"] if several else []
    cells = []
    for row in rows:
        cell = [row.name, *(times(row.timings[size]) for size in sizes)]
        cell += [f"{row.growth:.2f}", verdict(row.growth <= allowed)] if several else []
        cells.append([*cell, f"{row.results:,}", "" if row.offset is None else f"{row.offset:,}"])
    return table([*heads, "results", "offset"], cells)
