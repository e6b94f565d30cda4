"""Every method over records of all kinds: the same calls against servers of different sizes, in turns."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from math import log
from pathlib import Path
from random import Random
from statistics import median
from typing import Any, Final

from benchmarks.corpus import (
    CHUNKS,
    DAYS,
    FIRST_DAY,
    KINDS,
    PASSAGES,
    PROJECTS,
    TOPICS,
    TURNS,
    Corpus,
    conversation_id,
    project,
    record_id,
    topic,
)  # fmt: skip
from benchmarks.measure import Measured, Timing, Variant, take_turns
from benchmarks.options import show_progress
from benchmarks.page import table, times, verdict
from benchmarks.serving import RESIDENT, Caller, fill, metric, result_of, served, wait_until_ready
from cognition_engines.kinds.spec import Kind
from cstp.methods.registry import METHODS
from cstp_server.settings import Settings
from cstp_server.tokens import create_token

LIMIT: Final = 10
MIDDLE: Final = "half-way"
_TEN: Final = {"limit": LIMIT}
_PAGES: Final = {False: "", True: f", {MIDDLE}"}  # the ends of names, of calls with and without `middle`
_ONE_PROJECT: Final = "a token of one project"
_PATIENT: Final = {"CSTP_SERVER__IDLE_SECONDS": "600"}
_MEMBERS: Final = ("memories", "episodes", "results", "decisions", "turns", "relatedChunks", "nodes", "changes")
_ALIKE: Final = {"cstp.getDecisions", "cstp.getWarnings"}  # getPatterns with another type
_GOVERNING: Final = ("governing", "proposals", "history")
_ONES: Final = {"decision", "byDay", "reflection", "text"}  # of answers about one thing
_READING: Final = f"""\
Reading the tables:

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
    """A call to be measured, with `fixed` parameters, and `drawn` ones with another value each round.

    `middle` asks for the page half-way through; `limited` calls have a token of one project.
    """

    name: str
    method: str
    fixed: Mapping[str, Any]
    drawn: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    middle: bool = False
    limited: bool = False

    def params(self, number: int, offset: int | None) -> dict[str, Any]:
        """Return the parameters of a round."""
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
        """The ratio of the largest size's median to the smallest one's."""
        return self.timings[max(self.timings)].p50 / self.timings[min(self.timings)].p50


def allowed_growth(sizes: Sequence[int]) -> float:
    """Return the ratio of the logarithms of the largest and the smallest size."""
    return log(max(sizes)) / log(min(sizes))


@dataclass(frozen=True, slots=True)
class _Server:
    """A server over `size` records of each kind, and the calls that are made to it."""

    size: int
    caller: Caller
    limited: Caller
    calls: Sequence[Call]

    def asked_by(self, call: Call) -> Caller:
        return self.limited if call.limited else self.caller

    def name_of(self, call: Call) -> str:
        return f"{call.name}/{self.size}"


def measure_kinds(
    corpora: Sequence[Corpus], model: str, queries: Sequence[str], rounds: int, folder: Path
) -> tuple[str, list[KindRow]]:
    """Return a table of the stores, and the calls; the stores are filled in `folder`, smallest first.

    All of their servers are asked in turns. Raises NotServing.
    """
    stores = [Settings(data_dir=folder / f"kinds-{corpus.size}") for corpus in corpora]
    filled = []
    for corpus, settings in zip(corpora, stores, strict=True):
        show_progress(f"{corpus.size} records of each kind: filling the store and its indexes")
        settings.data_dir.mkdir(parents=True, exist_ok=True)
        filled.append(fill(settings, corpus, model))
    with ExitStack() as stack:
        servers = []
        for corpus, settings in zip(corpora, stores, strict=True):
            caller, limited = stack.enter_context(_callers(settings))
            for query in queries:  # known from here on: what embedding takes does not depend on the collection
                result_of(caller.send("cstp.searchKnowledge", {"query": query, "limit": 1}))
            servers.append(_Server(corpus.size, caller, limited, list(make_calls(corpus.size, queries))))
        offsets = {server.name_of(call): _offset(server, call) for server in servers for call in server.calls}
        variants = [_variant(server, call, offsets) for server in servers for call in server.calls]
        show_progress(f"measuring {len(variants)} calls in {rounds} rounds")
        measured = take_turns(variants, rounds)
        rows = []
        for server, one in zip(servers, filled, strict=True):
            megabytes = metric(server.caller.port, RESIDENT) / 1e6
            seconds = (one.records, one.columns_and_keywords + one.neighbours)
            rows.append([f"{each:,.0f}" for each in (server.size, server.size * len(KINDS), *seconds, megabytes)])
    heads = ["records of each kind", "records", "store filled in, s", "indexes filled in, s"]
    found = [_row(servers, place, offsets, measured) for place in range(len(servers[-1].calls))]
    return table([*heads, "server's memory after all calls, MB"], rows), found


def _row(
    servers: Sequence[_Server], place: int, offsets: Mapping[str, int | None], measured: Mapping[str, Measured[bytes]]
) -> KindRow:
    """Return the call at `place` of every server. Raises NotServing for an answer that is an error."""
    timings, counts = {}, [0]
    for server in servers:
        found = measured[server.name_of(server.calls[place])]
        timings[server.size] = found.timing
        counts = [_count(body) for body in found.results]
    largest = servers[-1]
    call = largest.calls[place]
    return KindRow(call.name, timings, int(median(counts)), offsets[largest.name_of(call)])


@contextmanager
def _callers(settings: Settings) -> Iterator[tuple[Caller, Caller]]:
    """Run a server, for a caller that sees everything and one that sees one project, once it is ready."""
    _, text = create_token(settings.tokens_path, "benchmark-project", lifetime=timedelta(days=1), projects=[project(0)])
    with served(settings, _PATIENT) as caller:
        wait_until_ready(caller.port)
        limited = Caller(caller.port, text)
        yield caller, limited
        limited.close()


def _variant(server: _Server, call: Call, offsets: Mapping[str, int | None]) -> Variant[bytes]:
    name, caller = server.name_of(call), server.asked_by(call)
    return Variant(name, lambda number: caller.send(call.method, call.params(number, offsets[name])))


def _offset(server: _Server, call: Call) -> int | None:
    """Return half of the total, for a call that wants the page there."""
    if not call.middle:
        return None
    result = result_of(server.asked_by(call).send(call.method, call.params(0, 0)))
    listed = result.get("metadata", result)
    total: int = listed["totalCount"] if "totalCount" in listed else listed["total"]
    return total // 2


def _count(body: bytes) -> int:
    """Return the number of items in an answer; one for a single record. Raises NotServing for an error."""
    result = result_of(body)
    listed = sum(len(result[name]) for name in (*_MEMBERS, *_GOVERNING) if result.get(name) is not None)
    return listed + len(_ONES & result.keys())


def make_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    """Yield the calls that are measured over `size` records of each kind."""
    chosen = [
        *_decision_calls(size),
        *_episode_calls(size, queries),
        *_knowledge_calls(size, queries),
        *_recall_calls(size, queries),
    ]
    yield from chosen
    yield from _other_calls({call.method for call in chosen} | _ALIKE)


def _other_calls(chosen: Collection[str]) -> Iterator[Call]:
    """Yield a call of each other method that reads records and needs no parameters."""
    for method in METHODS:
        required = any(field.is_required() for field in method.params.model_fields.values())
        if method.from_records and method.scope == "read" and method.name not in chosen and not required:
            yield Call(method.name.removeprefix("cstp."), method.name, {})


def _decision_calls(size: int) -> Iterator[Call]:
    for middle, end in _PAGES.items():
        yield Call(f"listDecisions, all{end}", "cstp.listDecisions", _TEN, middle=middle)
    ids = [record_id(Kind.DECISION, number) for number in _drawn(size)]
    yield Call("getDecision", "cstp.getDecision", {}, {"id": ids})
    yield Call("getGraph, two links", "cstp.getGraph", {}, {"nodeId": ids})
    yield Call(f"listDecisions, {_ONE_PROJECT}", "cstp.listDecisions", _TEN, limited=True)
    yield Call("getSessionContext, no task", "cstp.getSessionContext", {})


def _episode_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    early, late = (FIRST_DAY + timedelta(days=share * DAYS) for share in (0.2, 0.8))
    range_of_dates = {"dateFrom": early.isoformat(), "dateTo": late.isoformat()}
    filters: dict[str, dict[str, Any]] = {
        "no filter": {},
        "since": {"since": early.isoformat()},
        "a range of dates": range_of_dates,
        "a tag": {"tags": [topic(0)]},
        "two tags": {"tags": [topic(0), topic(1)]},
        "a category": {"category": "research"},
        "all of these": {**range_of_dates, "tags": [topic(0)], "category": "research"},
    }
    listed = "cstp.listEpisodes"
    for middle, end in _PAGES.items():
        for name, given in filters.items():
            yield Call(f"listEpisodes, {name}{end}", listed, {**given, **_TEN}, middle=middle)
        yield Call(f"listEpisodes, {_ONE_PROJECT}{end}", listed, _TEN, middle=middle, limited=True)
    yield Call("changes, a page", "cstp.changes", {"since": 0, **_TEN})
    yield Call("fetch, an episode", "cstp.fetch", {"kind": "episode"}, {"id": [number + 1 for number in _drawn(size)]})
    yield Call("getEpisode", "cstp.getEpisode", {}, {"id": [number + 1 for number in _drawn(size)]})
    asked = {"query": queries}
    yield Call("findEpisodes", "cstp.findEpisodes", _TEN, asked)
    good = {"minReward": 0.0, "tags": [topic(0)], **_TEN}
    yield Call("findEpisodes, of a tag that went well", "cstp.findEpisodes", good, asked)


def _knowledge_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    chunks = {"chunkId": [record_id(Kind.CHUNK, number) for number in _drawn(size)]}
    for middle, end in _PAGES.items():
        for name, given in (("a topic", {"topic": topic(0)}), ("all", {})):
            yield Call(f"getPatterns, {name}{end}", "cstp.getPatterns", {**given, **_TEN}, middle=middle)
    yield Call("getChunk, five related", "cstp.getChunk", {"relatedLimit": 5}, chunks)
    yield Call("getChunk, none related", "cstp.getChunk", {"includeRelated": False}, chunks)
    yield Call("getSessionContext, a task", "cstp.getSessionContext", {}, {"taskDescription": queries})
    asked = {"query": queries}
    for mode in ("hybrid", "semantic", "keyword"):
        yield Call(f"searchKnowledge, {mode}", "cstp.searchKnowledge", {"mode": mode, **_TEN}, asked)
        yield Call(f"search, {mode}", "cstp.search", {"mode": mode, **_TEN}, asked)
    by_topic = {"filters": {"type": "chunk", "topic": topic(0)}, **_TEN}
    yield Call("searchKnowledge, chunks of a topic", "cstp.searchKnowledge", by_topic, asked)
    yield Call("queryDecisions", "cstp.queryDecisions", _TEN, asked)


def _recall_calls(size: int, queries: Sequence[str]) -> Iterator[Call]:
    numbers = _drawn(size)
    query, ids = {"query": queries}, {"id": [record_id(Kind.ARTIFACT, number) for number in numbers]}
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
        yield Call(f"recall, {name}", "cstp.recall", {**fixed, **_TEN}, drawn)
    yield Call("getDecisionContext", "cstp.getDecisionContext", {"files": ["src/part_0/a.py"]})
    yield Call("listMemories", "cstp.listMemories", _TEN)
    yield Call(f"recall, {_ONE_PROJECT}", "cstp.recall", _TEN, query, limited=True)


def _drawn(size: int) -> list[int]:
    """Return numbers below `size`, in another order than the records were made."""
    return Random(4).sample(range(size), min(size, 500))


def render_kinds(stores: str, rows: Sequence[KindRow]) -> list[str]:
    """Return the parts of the page, in Markdown; `stores` is a table."""
    sizes = sorted(rows[0].timings)
    several = len(sizes) > 1
    allowed = allowed_growth(sizes)
    heads = ["call", *(f"{size:,}" for size in sizes)]
    heads += [f"growth (at most {allowed:.2f})", "kept"] if several else []
    cells = []
    for row in rows:
        cell = [row.name, *(times(row.timings[size]) for size in sizes)]
        cell += [f"{row.growth:.2f}", verdict(row.growth <= allowed)] if several else []
        cells.append([*cell, f"{row.results:,}", "" if row.offset is None else f"{row.offset:,}"])
    calls = table([*heads, "results", "offset"], cells)
    return [_READING, "## The stores", stores, "## All methods", calls]
