"""Clients that write while a test breaks something, and know their acknowledged and possible writes."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection
from threading import Event, Lock, Thread
from typing import Any

from cognition_engines.kinds.registry import embedding_text
from cognition_engines.models import EVERYTHING, Decision
from cognition_engines.store.reads.decisions import DecisionHistory
from cognition_engines.store.records import Records
from tests.chaos.asking import Answer, ask
from tests.stored import Upsert, changes_of

UNANSWERED = 10.0  # seconds before a client gives a call up
CODES_OF_NOTHING = (-32003, -32010)  # of retryable calls


@dataclass
class Deed:
    """A write by a client: the key if any, the number of sends, and the first answer."""

    method: str
    params: Mapping[str, Any]
    sent: int = 0
    answer: Mapping[str, Any] | None = None
    refused: int | None = None
    done: bool = False  # whether it is sent no more

    @property
    def keyed(self) -> bool:
        return "idempotencyKey" in self.params

    @property
    def mark(self) -> str:
        """Return the unique word of this write in the store."""
        texts = (self.params.get("decision"), self.params.get("notes"), self.params.get("updates", {}).get("context"))
        return next(text for text in texts if text).split()[1]


@dataclass
class Written:
    """All writes requested by clients so far; complete once the clients have stopped."""

    deeds: list[Deed] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def note(self, deed: Deed) -> Deed:
        with self.lock:
            self.deeds.append(deed)
        return deed

    def acknowledged(self) -> list[Deed]:
        return [deed for deed in self.deeds if deed.answer is not None]


class Client:
    """A client that sequentially writes new decisions, and reviews and updates of them.

    An unanswered call with a key is retried; without a key it is dropped.
    """

    def __init__(self, number: int, port: Callable[[], int], token: str, written: Written) -> None:
        self._random = random.Random(number)
        self._number = number
        self._port = port
        self._token = token
        self._written = written
        self._own: list[str] = []
        self._count = 0
        self._connection: HTTPConnection | None = None

    def work(self, stop: Event) -> None:
        while not stop.is_set():
            deed = self._written.note(self._next())
            self._send(deed, stop)
            deed.done = True
        self._close()

    def _next(self) -> Deed:
        self._count += 1
        mark = f"mark{self._number}x{self._count}"
        keyed = {"idempotencyKey": mark} if self._random.random() < 0.7 else {}
        choice = self._random.random()
        if not self._own or choice < 0.6:
            params: Mapping[str, Any] = {"decision": f"Choose {mark} of them", "confidence": 0.5}
            return Deed("recordDecision", {**params, **keyed})
        id = self._random.choice(self._own)
        if choice < 0.8:
            return Deed("reviewDecision", {"id": id, "outcome": "success", "notes": f"Seen {mark}", **keyed})
        return Deed("updateDecision", {"id": id, "updates": {"context": f"Since {mark}"}, **keyed})

    def _send(self, deed: Deed, stop: Event) -> None:
        """Send until answered; without a key send once."""
        while deed.answer is None and deed.refused is None:
            deed.sent += 1
            answer = self._ask({"method": f"cstp.{deed.method}", "params": deed.params})
            error = (answer.body or {}).get("error") if isinstance(answer.body, dict) else None
            if answer.result is not None:
                deed.answer = answer.result
                if deed.method == "recordDecision":
                    self._own.append(answer.result["id"])
            elif error is not None and error["code"] not in CODES_OF_NOTHING:
                deed.refused = error["code"]
            elif not deed.keyed or stop.wait(0.05):
                return

    def _ask(self, request: Mapping[str, Any]) -> Answer:
        if self._connection is None:
            self._connection = HTTPConnection("127.0.0.1", self._port(), timeout=UNANSWERED)
        try:
            answer = ask(self._connection, request, self._token)
        except ValueError:  # the head of the answer was cut at a possible end
            answer = Answer(0.0, 0.0, 0, None, request)
        if answer.status == 0:
            self._close()
        return answer

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def writing(count: int, port: Callable[[int], int], token: str, written: Written) -> Iterator[None]:
    """Run `count` clients that write until the block ends; `port` returns the current port of a client by number."""
    stop = Event()
    clients = [Client(number, partial(port, number), token, written) for number in range(count)]
    threads = [Thread(target=client.work, args=(stop,), daemon=True) for client in clients]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(3 * UNANSWERED)
    assert not any(thread.is_alive() for thread in threads)


class Ledger:
    """Content of the store, read after each change as a server follows it."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._seq = 0
        self.texts: dict[str, str] = {}  # embedded text, by the mark of the decision
        self._found: dict[tuple[str, str], list[str]] = {}  # ids, by method and mark
        self._by_id: dict[str, list[tuple[str, str]]] = {}

    def read_on(self) -> None:
        """Read changes since the last call; fail if a decision is incomplete."""
        while changes := changes_of(self._records, self._seq, 1000, None):
            for change in changes:
                if isinstance(change, Upsert):
                    self._take(str(change.stored.record.id))
            self._seq = changes[-1].seq

    def mark_of(self, id: str) -> str:
        """Return the mark under which a decision was recorded."""
        return self._by_id[id][0][1]

    def times(self, deed: Deed) -> list[str]:
        """Return ids of decisions with this write, repeated per occurrence."""
        return self._found.get((deed.method, deed.mark), [])

    def _take(self, id: str) -> None:
        found = self._records.decisions.history(id, EVERYTHING)
        assert found is not None
        for check in WHOLE:
            check(found)
        for name in self._by_id.get(id, ()):
            self._found[name] = [one for one in self._found[name] if one != id]
        self._by_id[id] = list(marks(found))
        for name in self._by_id[id]:
            self._found.setdefault(name, []).append(id)
        record = found.stored.record
        self.texts[self.mark_of(id)] = str(embedding_text(record))

    def compare(self, deeds: Sequence[Deed]) -> None:
        """Check that acknowledged writes exist once, others at most once, and none changed another decision."""
        for deed in deeds:
            ids = self.times(deed)
            assert len(ids) <= 1, f"{deed} is there {len(ids)} times"
            if deed.answer is not None:
                assert ids == [deed.answer["id"]], f"{deed} was acknowledged, and there is {ids}"
                assert deed.answer.get("created", True) or deed.sent > 1, f"{deed} was sent once"


def marks(found: DecisionHistory) -> Iterator[tuple[str, str]]:
    """Yield method and mark of each write in a decision."""
    for revision in found.revisions:
        assert isinstance(revision.record, Decision)
        if revision.number == 1:
            yield "recordDecision", revision.record.title.split()[1]
        else:
            yield "updateDecision", revision.record.text.split()[-1]
    for review in found.reviews:
        yield "reviewDecision", str(review.content.notes).split()[1]


def revisions_are_whole(found: DecisionHistory) -> None:
    """Assert consecutive revisions, the last of which is shown."""
    numbers = [one.number for one in found.revisions]
    assert numbers == list(range(1, found.stored.revision + 1)), found
    last, shown = found.revisions[-1].record, found.stored.record
    assert isinstance(last, Decision)
    assert isinstance(shown, Decision)
    assert (last.title, last.text) == (shown.title, shown.text), found


def reviews_are_whole(found: DecisionHistory) -> None:
    """Assert consecutive reviews, each knowing the previous review; the last is shown."""
    assert [one.number for one in found.reviews] == list(range(1, len(found.reviews) + 1)), found
    outcomes = [None, *(one.outcome for one in found.reviews)]
    assert [one.previous_outcome for one in found.reviews] == outcomes[:-1], found
    shown = found.stored.record
    assert isinstance(shown, Decision)
    assert shown.outcome == outcomes[-1], found
    assert shown.status == ("reviewed" if found.reviews else "pending"), found


# Invariants of each decision; effects of other writes join here.
WHOLE: tuple[Callable[[DecisionHistory], None], ...] = (revisions_are_whole, reviews_are_whole)
