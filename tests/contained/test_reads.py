"""A record that breaks part of a read: all others are answered as without the fault, and the record is noted."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from cognition_engines.embedding.base import FloatArray
from cognition_engines.kinds.registry import embedding_text
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import DecisionDetails
from cognition_engines.set_aside import Part
from cognition_engines.store.values import Entry
from cstp.values.decisions import AffectedPart
from tests.contained.conftest import ERRORS, MARK
from tests.kinds import entry
from tests.serving import SeededEmbedder, Serving, start
from tests.stores import Stores

Breaking = Callable[..., list[int]]
ENGINE = "cognition_engines.queries"
SEARCH = "cognition_engines.search"
BRIEFING = "cognition_engines.queries.briefing.session_context"
LONG = " ".join(f"The harbour has {number} berths for the ferry." for number in range(60))
NOTE = "Tides are noted by the day."
SPOKEN = "I painted the harbour wall yellow."
numbers = count()


@dataclass(frozen=True)
class Windowed(SeededEmbedder):
    """A model with two windows in every text."""

    def spans(self, text: str) -> Sequence[tuple[int, int]]:
        half = len(text) // 2
        return [(0, half), (half, len(text))]


def stored(kind: Kind, id: str | int, **members: Any) -> Entry:
    made = entry(kind, id, **members)
    text = embedding_text(made.record)
    assert text is not None
    vector = Windowed().embed_text(text)
    vectors: FloatArray = vector.repeat(2, axis=0) if kind is Kind.DECISION else vector
    return replace(made, vectors=vectors)


def library() -> list[Entry]:
    """Store three records of each kind cut or shown by a read; the second has MARK in all texts."""
    found: list[Entry] = []
    past = datetime(2026, 1, 1, tzinfo=UTC)
    for place, word in enumerate(("Alga", MARK, "Coral")):
        text = f"{word}. {LONG}"
        affects = (AffectedPart("path", f"src/ferry/{word.lower()}*"), AffectedPart("path", "src/*.py"))
        at = past + timedelta(days=place)
        found += [
            stored(Kind.DECISION, f"d-{place}", title=f"Ferry {word}", text=text, affects=affects, date=at),
            stored(
                Kind.DECISION,
                f"old-{place}",
                title=f"Ferry {word} of old",
                text=text,
                status="superseded",
                date=at,
            ),
            stored(Kind.ARTIFACT, f"a-{place}", content=text, title=f"Ferry {word}"),
            stored(
                Kind.DECISION,
                f"due-{place}",
                title=f"Review {word}",
                text=word,
                date=at,
                details=DecisionDetails("", review_by=at),
            ),
            stored(
                Kind.CHUNK,
                f"c-{place}",
                content=text,
                source_id="source:book",
                chunk_index=2 * place,
                total_chunks=6,
            ),
            stored(
                Kind.CHUNK,
                f"n-{place}",
                content=NOTE,
                source_id="source:book",
                chunk_index=2 * place + 1,
                total_chunks=6,
            ),
            stored(
                Kind.EXTRACTION,
                f"e-{place}",
                type="warning",
                content={"title": f"Ferry {word}", "description": text},
            ),
            stored(Kind.EPISODE, 1 + place, query=f"Moor the ferry {word}", reward=0.5, reflection=text),
            stored(
                Kind.TURN,
                f"t-{place}",
                conversation_id="quay",
                turn_index=place,
                speaker="Ana" if place != 2 else "Ben",
                role="user",
                content=f"{SPOKEN} {text}",
            ),
        ]
    return found


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("harbour")
    serving, stop = start(folder / "data", lasting_stores, Windowed(), fill=_fill, search={"least_cosine": -1.0})
    serving.caught_up()
    yield serving
    stop()


def _fill(records: Any) -> None:
    records.put(library(), Windowed().model)


@dataclass(frozen=True)
class Fault:
    """A raising function, and a call that reaches it; `changed` are the record's members that differ then.

    `changed` None leaves the record out; GONE is an absent member. A `boosted` record loses a boost.
    """

    target: str
    method: str
    params: Mapping[str, Any]
    items: str
    part: Part = Part.SNIPPETS
    place: int = 0
    changed: Mapping[str, Any] | None = field(default_factory=dict)
    boosted: bool = False

    def __str__(self) -> str:
        return f"{self.target.rpartition(':')[2]}-{self.method}-{self.items}"


GONE = object()
DECISIONS = {"query": "ferry berths {}", "include": ["snippet"]}
KINDS = {"query": "ferry berths {}", "limit": 30}
SAID = {"query": "What did Ana paint of the harbour? {}", "kinds": ["turn"], "abstain": True}
TASK = {"taskDescription": "ferry berths {}", "decisionsLimit": 20, "readyLimit": 20, "maxTokens": 32000}
FILES = {"files": ["src/ferry/kelpmarks", "src/a.py"], "maxTokens": 32000, "include": ["decisions"]}
CUT = {"content": "", "truncated": True}
PHRASES = f"{SEARCH}.signals.phrases:share_of"
PASSAGE = f"{ENGINE}.passages:passage"
BOOST = {"boosted": True}
BRIEFED: dict[str, Any] = {"part": Part.BRIEFING, "changed": None}
LEFT_OUT: dict[str, Any] = {"part": Part.ANSWERS, "changed": None}
UNLISTED: dict[str, Any] = {"part": Part.LISTS, "changed": None}
STORE = "cognition_engines.store.reads"
BOUND = {"maxTokens": 32000}
GOVERNED = {"files": ["src/a.py"]}
LISTED = "cognition_engines.queries.decision_reads:_to_listed"
GOVERNING = "cognition_engines.queries.decision_context:_record"
SUMMARISE = "cognition_engines.queries.decisions:summarise"
FAULTS = [
    Fault(PASSAGE, "queryDecisions", DECISIONS, "decisions", changed={"snippet": GONE}),
    Fault(
        "cognition_engines.embedding.cache:QueryCache.spans",
        "queryDecisions",
        DECISIONS,
        "decisions",
        place=1,
        changed={"snippet": GONE},
    ),
    Fault(f"{ENGINE}.passages:embedding_text", "queryDecisions", DECISIONS, "decisions", changed={"snippet": GONE}),
    Fault(PASSAGE, "search", KINDS, "results", changed={"snippet": None}),
    Fault(f"{ENGINE}.everything:text_of", "search", KINDS, "results", changed={"snippet": None}),
    Fault(
        f"{ENGINE}.everything:text_of",
        "search",
        KINDS | {"include": ["content"]},
        "results",
        changed={"snippet": None, "content": GONE},
    ),
    Fault(PASSAGE, "searchKnowledge", {"query": "ferry {}", "snippets": True, "limit": 30}, "results", changed=CUT),
    Fault(PASSAGE, "recall", {"query": "ferry {}", "snippets": True, "limit": 30}, "results", changed=CUT),
    Fault(PASSAGE, "recall", {"conversationId": "quay", "snippets": True}, "turns", changed=CUT),
    Fault(
        "cognition_engines.queries.decision_context:summarize_decision",
        "getDecisionContext",
        {"files": ["src/a.py"], "include": ["snippet"]},
        "governing",
        changed={"snippet": GONE},
    ),
    Fault(
        f"{ENGINE}.recall.recall:with_neighbours",
        "recall",
        {"query": "ferry {}", "expandNeighbors": True, "limit": 30},
        "results",
        changed={"content": f"{MARK}. {LONG}"},
    ),
    Fault(PHRASES, "queryDecisions", {"query": "the ferry harbour has {}"}, "decisions", **BOOST, place=1),
    Fault(PHRASES, "search", {"query": "the ferry harbour has {}", "limit": 30}, "results", **BOOST, place=1),
    Fault(PHRASES, "recall", {"query": "the ferry harbour has {}", "limit": 30}, "results", **BOOST, place=1),
    Fault(PHRASES, "searchKnowledge", {"query": "how should the ferry {}", "limit": 30}, "results", **BOOST, place=1),
    Fault(PHRASES, "queryDecisions", {"query": "`Ferry Kelpmark` {}"}, "decisions", **BOOST, place=1),
    Fault(f"{SEARCH}.abstention:_is_person", "search", SAID, "results", boosted=True),
    Fault(f"{SEARCH}.abstention:SpeakerSupport._words_of", "search", SAID, "results", place=1, boosted=True),
    Fault(f"{BRIEFING}:summarize_decision", "getSessionContext", TASK, "decisions", **BRIEFED),
    Fault(PASSAGE, "getSessionContext", TASK, "warnings", **BRIEFED),
    Fault(PASSAGE, "getSessionContext", TASK, "episodes", **BRIEFED),
    Fault(f"{BRIEFING}:summarize_decision", "getSessionContext", FILES, "decisions", **BRIEFED),
    Fault(f"{BRIEFING}:_beginning", "getSessionContext", TASK, "decisions", **BRIEFED),
    Fault(f"{BRIEFING}:decision_item", "getSessionContext", TASK, "decisions", **BRIEFED),
    Fault(f"{BRIEFING}:action_item", "getSessionContext", TASK, "ready", **BRIEFED),
    Fault(f"{BRIEFING}:change_item", "getSessionContext", TASK | {"since": 0}, "changes", **BRIEFED),
    Fault(f"{BRIEFING}:lesson_item", "getSessionContext", TASK, "warnings", **BRIEFED),
    Fault(f"{BRIEFING}:lesson_item", "getSessionContext", TASK, "episodes", **BRIEFED),
    Fault(f"{BRIEFING}:measure", "getSessionContext", TASK, "decisions", **BRIEFED),
    Fault(SUMMARISE, "queryDecisions", DECISIONS, "decisions", **LEFT_OUT),
    Fault(SUMMARISE, "queryDecisions", DECISIONS | BOUND, "decisions", **LEFT_OUT),
    Fault(f"{ENGINE}.everything:searched_record", "search", KINDS, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.everything:searched_record", "search", KINDS | BOUND, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.knowledge:_to_found", "searchKnowledge", KINDS, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.knowledge:_to_found", "searchKnowledge", KINDS | {"snippets": True}, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.episodes:_to_found", "findEpisodes", KINDS, "episodes", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.answer:recall_item", "recall", KINDS, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.answer:recall_item", "recall", KINDS | BOUND, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.answer:related_item", "recall", {"id": "t-0"}, "related", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.answer:turn_item", "recall", {"conversationId": "quay"}, "turns", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.answer:turn_item", "recall", {"conversationId": "quay"} | BOUND, "turns", **LEFT_OUT),
    Fault(
        "cognition_engines.queries.decision_context:_record",
        "getDecisionContext",
        {"files": ["src/a.py"]},
        "governing",
        **LEFT_OUT,
    ),
    Fault(LISTED, "listDecisions", {}, "decisions", **UNLISTED),
    Fault(f"{ENGINE}.episodes:_summary", "listEpisodes", {}, "episodes", **UNLISTED),
    Fault(f"{ENGINE}.extractions:_common_members", "getWarnings", {}, "results", **UNLISTED),
    Fault(f"{ENGINE}.memories:_memory", "listMemories", {}, "memories", **UNLISTED),
    Fault(f"{ENGINE}.recall.results:content_of", "recall", KINDS, "results", **LEFT_OUT),
    Fault(f"{ENGINE}.recall.recall:refs_of", "recall", KINDS, "results"),
    Fault(f"{ENGINE}.recall.recall:refs_of", "recall", KINDS | {"expand": False}, "results"),
    Fault(f"{ENGINE}.recall.recall:via", "recall", {"id": "t-0"}, "related", place=1, changed=None),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_a_raising_record_changes_nothing_of_the_others(
    harbour: Serving, broken: Breaking, monkeypatch: pytest.MonkeyPatch, fault: Fault, error: type[BaseException]
) -> None:
    word = f"x{next(numbers)}"  # no part has an answer to the query cached
    params = {name: value.format(word) if isinstance(value, str) else value for name, value in fault.params.items()}
    raised = broken(fault.target, error, fault.place)
    faulty = harbour.ask(fault.method, **params)
    notes = harbour.indexes.set_aside.records
    monkeypatch.undo()
    for note in notes:
        harbour.indexes.set_aside.clear(note.part, [(note.key, note.seq + 1)])
    whole = harbour.ask(fault.method, **params)
    assert len(raised) >= 2  # it was tried again alone
    assert {(one.part, one.cause) for one in notes} == {(fault.part, error.__name__)}
    aside = {one.id for one in notes}
    before, after = by_id(whole[fault.items]), by_id(faulty[fault.items])
    assert [one for id, one in after.items() if id not in aside] == [
        one for id, one in before.items() if id not in aside
    ]
    expected = {id: one for id, one in before.items() if id in aside}
    assert expected
    left = {id: one for id, one in after.items() if id in aside}
    if fault.boosted or fault.changed is None:
        assert left.keys() == (set() if fault.changed is None else expected.keys())
    else:
        assert left == {id: with_members(one, fault.changed) for id, one in expected.items()}


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_a_record_with_unreadable_successors_keeps_its_place(
    harbour: Serving, broken: Breaking, error: type[BaseException]
) -> None:
    harbour.ask("recordDecision", decision="Paint the quay", confidence=0.5)  # so that no successors are cached
    harbour.caught_up()
    raised = broken("cognition_engines.store.reads.decisions:DecisionReads._links", error, 1)
    found = [one["id"] for one in harbour.ask("queryDecisions", query="ferry of old")["decisions"]]
    set_aside = harbour.indexes.set_aside
    notes = [(one.id, one.part, one.cause) for one in set_aside.records]
    set_aside.clear(Part.SNIPPETS, [(one.key, one.seq + 1) for one in set_aside.records])
    assert len(raised) == 2
    assert {"old-0", "old-1", "old-2"} <= {*found}
    assert notes == [("old-1", Part.SNIPPETS, error.__name__)]


@pytest.mark.parametrize(
    ("method", "items", "function"),
    [
        ("listDecisions", "decisions", LISTED),
        ("listEpisodes", "episodes", f"{ENGINE}.episodes:_summary"),
        ("getWarnings", "results", f"{ENGINE}.extractions:_common_members"),
        ("listMemories", "memories", f"{ENGINE}.memories:_memory"),
    ],
)
def test_a_page_of_a_list_stays_full_if_a_record_cannot_be_shown(
    harbour: Serving, broken: Breaking, method: str, items: str, function: str
) -> None:
    whole = [one["id"] for one in harbour.ask(method)[items]]
    broken(function, ValueError)
    most = len(whole) - 1
    shown = harbour.ask(method, limit=most)[items]
    notes = harbour.indexes.set_aside.records
    harbour.indexes.set_aside.clear(Part.LISTS, [(one.key, one.seq + 1) for one in notes])
    aside = {one.id for one in notes}
    assert aside
    assert [one["id"] for one in shown] == [id for id in whole if str(id) not in aside][:most]


def test_a_search_counts_unshowable_records(harbour: Serving, broken: Breaking) -> None:
    assert "omitted" not in harbour.ask("queryDecisions", query="ferry berths")
    broken(SUMMARISE, ValueError)
    faulty = harbour.ask("queryDecisions", query="ferry berths", limit=50)
    notes = harbour.indexes.set_aside.records
    harbour.indexes.set_aside.clear(Part.ANSWERS, [(one.key, one.seq + 1) for one in notes])
    assert faulty["omitted"] == len(notes) > 0


def by_id(items: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(one["id"]): one for one in items}


def with_members(item: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in {**item, **changed}.items() if value is not GONE}


@pytest.mark.parametrize("format", ["json", "markdown"])
def test_a_briefing_counts_unshowable_records_and_names_none(
    harbour: Serving, broken: Breaking, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    whole = harbour.ask("getSessionContext", **TASK, format=format)
    broken(f"{BRIEFING}:decision_item", ValueError)
    faulty = harbour.ask("getSessionContext", **TASK, format=format)
    monkeypatch.undo()
    notes = harbour.indexes.set_aside.records
    harbour.indexes.set_aside.clear(Part.BRIEFING, [(one.key, one.seq + 1) for one in notes])
    assert whole["omitted"] == {}
    assert faulty["omitted"] == {"decisions": 2}  # the decision for review is among the ready decisions, too
    assert faulty["expand"] == []
    shown = json.dumps([faulty.get(name) for name in ("decisions", "markdown")])
    assert not [one.id for one in notes if f'"{one.id}"' in shown or f"[{one.id}; s" in shown]


def test_a_briefing_does_not_end_before_its_shown_changes(harbour: Serving, broken: Breaking) -> None:
    newest = harbour.ask("getSessionContext", since=0, include=["changes"], maxTokens=32000)
    broken(f"{BRIEFING}:change_item", ValueError)
    pages = [harbour.ask("getSessionContext", since=0, include=["changes"], maxTokens=600)]
    while pages[-1]["more"]:
        assert pages[-1]["changes"]
        pages.append(harbour.ask("getSessionContext", since=pages[-1]["cursor"], include=["changes"], maxTokens=600))
    aside = {one.id for one in harbour.indexes.set_aside.records}
    harbour.indexes.set_aside.clear(
        Part.BRIEFING, [(one.key, one.seq + 1) for one in harbour.indexes.set_aside.records]
    )
    shown = [str(one["id"]) for page in pages for one in page["changes"]]
    assert shown == [id for one in newest["changes"] if (id := str(one["id"])) not in aside]


KEPT = "Keep the ferry mail for {} days"
STATED = KEPT.format(30)


def _similar(kind: Kind, id: str, days: int, **members: Any) -> Entry:
    """Return a record whose vector equals the vector of STATED, in the kind's form."""
    text = KEPT.format(days)
    named = {"title": text, "text": ""} if kind is Kind.DECISION else {"content": text}
    made = entry(kind, id, **named, **members)
    same = f"{STATED}\n" if kind is Kind.DECISION else STATED
    return replace(made, vectors=Windowed().embed_text(same))


@pytest.fixture(scope="module")
def mail(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[Serving]:
    similar = [
        _similar(kind, id, days, **({"metadata": {"by": MARK}} if id == "b" else {}))
        for kind in (Kind.DECISION, Kind.ARTIFACT)
        for id, days in (("a", 60), ("b", 90), ("c", 120))
    ]

    def fill(records: Any) -> None:
        records.put(similar, Windowed().model)

    serving, stop = start(tmp_path_factory.mktemp("mail") / "data", lasting_stores, Windowed(), fill=fill)
    serving.caught_up()
    yield serving
    stop()


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_a_new_record_is_compared_with_all_others(mail: Serving, broken: Breaking, error: type[BaseException]) -> None:
    decision: dict[str, Any] = {"decision": STATED, "confidence": 0.5, "dryRun": True}
    memory: dict[str, Any] = {"content": STATED, "source": "wiki", "dryRun": True}
    assert _conflicts(mail.ask("recordDecision", **decision)) == ["a", "b", "c"]
    assert _conflicts(mail.ask("remember", **memory)) == ["art_a", "art_b", "art_c"]
    broken(f"{ENGINE}.conflicts:read_statement", error)
    recorded = mail.ask("recordDecision", **decision)
    assert _conflicts(recorded) == ["a", "c"]
    message = "possibleConflicts may lack some: 1 similar record could not be compared with this one"
    assert recorded["warnings"] == [{"code": "notCompared", "message": message}]
    assert _conflicts(mail.ask("remember", **memory)) == ["art_a", "art_c"]
    set_aside = mail.indexes.set_aside
    assert [(one.id, one.part, one.cause) for one in set_aside.records] == [
        (id, Part.SNIPPETS, error.__name__) for id in ("b", "art_b")
    ]
    set_aside.clear(Part.SNIPPETS, [(one.key, one.seq + 1) for one in set_aside.records])


@pytest.mark.parametrize("error", ERRORS, ids=lambda one: one.__name__)
def test_a_new_record_with_an_incomparable_text_is_stored(
    mail: Serving, broken: Breaking, error: type[BaseException]
) -> None:
    broken(f"{ENGINE}.conflicts:read_statement", error)
    recorded = mail.ask("recordDecision", decision=STATED, confidence=0.5, tags=[MARK])
    assert (recorded["success"], recorded["possibleConflicts"]) == (True, [])
    assert [one["code"] for one in recorded["warnings"]] == ["notCompared"]
    assert mail.indexes.set_aside.records == ()
    assert mail.ask("fetch", id=recorded["id"])["title"] == STATED
    mail.ask("forget", id=recorded["id"], reason="no longer needed", confirm=True)


def _conflicts(answer: Mapping[str, Any]) -> list[str]:
    return sorted(one["id"] for one in answer["possibleConflicts"])
