"""Records written by soak clients, and all acknowledged writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from random import Random
from threading import Event
from time import monotonic
from typing import Any

from tests.chaos.soak.callers import Refused

Call = tuple[str, dict[str, Any]]  # a method without its prefix, and parameters
Send = Callable[[str, Mapping[str, Any]], Any]  # returns the eventual result
LIFETIME = 8.0  # seconds until an expiring record expires
# reasons to refuse a repeated call for an expiring record: too late, or stored and expired
EXPIRED = ("must be in the future", "one whose record is forgotten")
BREATHING = 4.0  # pause of a client, in durations of the last call: on a busy machine it calls less
LONGEST_BREATH = 3.0  # seconds


def pause_after(seconds: float, least: float) -> float:
    """Return the pause after a call of some seconds."""
    return max(least, min(LONGEST_BREATH, BREATHING * seconds))


@dataclass
class Item:
    """A record with unique words. `word` is in the newest acknowledged version, `former` are in earlier versions."""

    kind: str
    name: str
    word: str
    id: str | int = ""
    former: list[str] = field(default_factory=list)
    reviews: int = 0
    links: set[str | int] = field(default_factory=set)
    gone: bool = False  # whether it was forgotten, or is to expire

    @property
    def words(self) -> list[str]:
        return [*self.former, self.word]


@dataclass(frozen=True)
class Form:
    """Calls that create and change records of a kind; `found_as` is the search result kind."""

    kind: str
    create: Callable[[Item, str], Call]
    change: Callable[[Item, str], Call] | None
    found_as: str


def _decision(_: Item, word: str) -> Call:
    return "recordDecision", {"decision": f"Choose {word} of them", "confidence": 0.5}


def _changed_decision(item: Item, word: str) -> Call:
    return "updateDecision", {"id": item.id, "updates": {"decision": f"Choose {word} of them"}}


def _episode(_: Item, word: str) -> Call:
    return "storeEpisode", {"query": f"Try {word}", "reward": 0.5, "reflection": f"Learned {word} again"}


def _artifact(item: Item, word: str) -> Call:
    events = [{"category": "Note", "narrative": f"Saw {word} there"}]
    return "remember", {"content": f"Heard {word}", "source": "soak", "sourceId": item.name, "events": events}


def _turn(item: Item, word: str) -> Call:
    talk, _, index = item.name.partition("-")
    return "remember", {"content": f"Said {word}", "conversationId": talk, "turnIndex": int(index)}


def _source(item: Item, word: str) -> Call:
    return "storeKnowledge", {
        "records": [
            {"kind": "source", "id": item.name, "title": f"Tides of {word}", "content": f"# Tides\n\nRead {word} here."}
        ]
    }


def _extraction(item: Item, word: str) -> Call:
    content = {"title": f"Mind {word}", "description": "Often."}
    return "storeKnowledge", {
        "records": [{"kind": "extraction", "id": item.name, "type": "warning", "content": content}]
    }


FORMS: Mapping[str, Form] = {
    form.kind: form
    for form in (
        Form("decision", _decision, _changed_decision, "decision"),
        Form("episode", _episode, None, "episode"),
        Form("artifact", _artifact, _artifact, "artifact"),
        Form("turn", _turn, _turn, "turn"),
        Form("source", _source, _source, "chunk"),
        Form("extraction", _extraction, _extraction, "extraction"),
    )
}


class Writer:
    """A writer that sequentially creates, changes and forgets records of some kinds, and keeps up to `most`.

    Each call has a key and is retried until answered.
    """

    def __init__(self, number: int, kinds: tuple[str, ...], send: Send, most: int, pause: float) -> None:
        self._number = number
        self._kinds = kinds
        self._send = send
        self._most = most
        self._pause = pause
        self._random = Random(number)
        self._numbers = count(1)
        self.items: list[Item] = []
        self.calls = 0

    def work(self, stop: Event) -> None:
        while not stop.is_set():
            began = monotonic()
            self._step()
            stop.wait(pause_after(monotonic() - began, self._pause))

    def _step(self) -> None:
        live = [item for item in self.items if not item.gone]
        full, choice = len(live) >= self._most, self._random.random()
        if not live or (choice < 0.4 and not full):
            self._create()
        elif choice < 0.75:
            self._change(self._random.choice(live), live)
        else:
            self._forget(live[0])

    def _call(self, method: str, params: Mapping[str, Any]) -> Any:
        self.calls += 1
        return self._send(method, {**params, "idempotencyKey": f"key{self._number}x{self.calls}"})

    def _word(self) -> str:
        return f"word{self._number}x{next(self._numbers)}"

    def _create(self) -> None:
        kind, word = self._random.choice(self._kinds), self._word()
        item = Item(kind, f"n{self._number}-{next(self._numbers)}", word)
        method, params = FORMS[kind].create(item, word)
        if kind == "artifact" and self._random.random() < 0.2:
            params["expiresAt"] = (datetime.now(UTC) + timedelta(seconds=LIFETIME)).isoformat()
            item.gone = True
        try:
            result = self._call(method, params)
        except Refused as error:
            if item.gone and any(reason in str(error) for reason in EXPIRED):
                return
            raise
        item.id = result["records"][0]["id"] if kind in ("source", "extraction") else result["id"]
        self.items.append(item)

    def _change(self, item: Item, live: list[Item]) -> None:
        if item.kind == "decision" and (choice := self._random.random()) < 0.5:
            self._review(item) if choice < 0.25 else self._link(item, live)
            return
        change = FORMS[item.kind].change
        if change is None:
            return
        word = self._word()
        self._call(*change(item, word))
        item.former.append(item.word)
        item.word = word

    def _review(self, item: Item) -> None:
        self._call("reviewDecision", {"id": item.id, "outcome": "success", "notes": "Seen."})
        item.reviews += 1

    def _link(self, item: Item, live: list[Item]) -> None:
        other = self._random.choice([each for each in live if each.kind == "decision"])
        if other is item or item.id in other.links:
            return
        self._call("linkDecisions", {"sourceId": item.id, "targetId": other.id, "edgeType": "relates_to"})
        item.links.add(other.id)

    def _forget(self, item: Item) -> None:
        self._call("forget", {"id": item.id, "kind": item.kind, "confirm": True})
        item.gone = True
        for each in self.items:
            each.links.discard(item.id)
