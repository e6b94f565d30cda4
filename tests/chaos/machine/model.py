"""Writes of agents as plain values, and expected answers by the rules of docs/writing.md."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

from cstp_server.tokens import Token
from tests.chaos.machine.memories import Memory

LEVELS = ("normal", "sensitive", "highly_sensitive")
OWN_STATUSES = ("draft", "proposed", "pending")
STATUSES = (*OWN_STATUSES, "accepted", "accepted", "rejected", "deprecated", "superseded")
ENDED = ("superseded", "deprecated", "rejected")
SETTLED = ("accepted", *ENDED)  # unchanged by a review
ACYCLIC = ("supersedes", "depends_on")
PAST, EXPIRED, FUTURE = "2020-01-01T00:00:00Z", "2021-01-01T00:00:00Z", "2999-01-01T00:00:00Z"
INVALID, FAILED, NOT_FOUND, FORBIDDEN, CONFLICT = -32602, -32003, -32007, -32009, -32011


@dataclass
class Known:
    """A decision: own statements, and additions by others. `owner` None is a file."""

    id: str
    word: str  # in its text; other decisions have it only with equal content
    stated: dict[str, Any]
    project: str | None
    level: int
    owner: str | None
    date: str | None
    status: str = "pending"
    outcome: str | None = None  # stated by a file
    revision: int = 1
    reviews: list[Mapping[str, Any]] = field(default_factory=list)
    history: list[tuple[str, list[str]]] = field(default_factory=list)  # agent, and changed fields
    ratified_by: str | None = None
    file: str | None = None
    contexts: list[str] = field(default_factory=list)  # words of its present and former contexts
    known: list[tuple[datetime, Mapping[str, Any], str]] = field(default_factory=list)  # see `Model.note`

    kind = "decision"

    @property
    def words(self) -> list[str]:
        return [self.word, *self.contexts]

    @property
    def last_outcome(self) -> str | None:
        return self.reviews[-1]["outcome"] if self.reviews else self.outcome


@dataclass
class Link:
    """A link; `effective` is whether a supersession is in effect."""

    by: str
    weight: float | None = None
    context: str | None = None
    effective: bool = False


Stored: TypeAlias = Known | Memory


@dataclass
class Model:
    """All decisions and memories by id, all links by (source, type, target), and the answers by key."""

    decisions: dict[str, Known] = field(default_factory=dict)
    memories: dict[str, Memory] = field(default_factory=dict)
    links: dict[tuple[str, str, str], Link] = field(default_factory=dict)
    answered: dict[tuple[str, str, str], tuple[Any, Any]] = field(default_factory=dict)  # params and result
    gone: set[str] = field(default_factory=set)  # ids and words of forgotten, replaced or removed records
    forgotten: dict[str, str] = field(default_factory=dict)  # kinds by id

    def sees(self, who: Token, one: Stored) -> bool:
        allowed = who.projects is None or one.project in who.projects
        return allowed and one.level <= LEVELS.index(who.clearance)

    def seen(self, who: Token) -> Iterator[Known]:
        return (one for one in self.decisions.values() if self.sees(who, one))

    def find(self, who: Token, id: str) -> Known | None:
        one = self.decisions.get(id)
        return one if one is not None and self.sees(who, one) else None

    def find_any(self, who: Token, id: str) -> Stored | None:
        """Return a decision or a memory."""
        one = self.decisions.get(id) or self.memories.get(id)
        return one if one is not None and self.sees(who, one) else None

    def remembered(self, who: Token, *kinds: str) -> list[Memory]:
        """Return visible memories of these kinds, oldest first."""
        return [one for one in self.memories.values() if one.kind in kinds and self.sees(who, one)]

    def status(self, one: Known) -> str:
        """Return the shown status."""
        if one.status in ENDED:
            return one.status
        if any(link.effective for (_, type, target), link in self.links.items() if self.ends(type, target, one)):
            return "superseded"
        return self.alone(one)

    @staticmethod
    def alone(one: Known) -> str:
        """Return the status of a decision without successor."""
        return "reviewed" if one.reviews and one.status not in SETTLED else one.status

    @staticmethod
    def ends(type: str, target: str, one: Known) -> bool:
        return type == "supersedes" and target == one.id

    def in_force(self, one: Known) -> bool:
        """Return whether `current` keeps it; a future start also counts as in force."""
        return self.status(one) not in ENDED and one.stated.get("validTo") != EXPIRED

    def settle(self) -> None:
        """Note which supersessions are in effect."""
        for (source, type, target), link in self.links.items():
            if type == "supersedes":
                link.effective = self._takes_effect(self.decisions[source], self.decisions[target], link.effective)

    @staticmethod
    def _takes_effect(new: Known, old: Known, before: bool) -> bool:
        if new.project != old.project or new.level > old.level or new.status == "rejected":
            return False
        if new.status == "accepted" or (before and new.status in ENDED):
            return True
        return bool(new.reviews) and old.status != "accepted"

    def ratify(self, one: Known) -> None:
        """End effects of unaccepted decisions on a newly accepted decision."""
        for (source, type, target), link in self.links.items():
            if self.ends(type, target, one) and self.decisions[source].status != "accepted":
                link.effective = False

    def reaches(self, who: Token, start: str, end: str, type: str) -> bool:
        """Return whether links of a type, fully visible to the reader, lead from a decision to another."""
        found, edge = {start}, [start]
        while edge:
            edge = [
                target
                for (source, kind, target) in self.links
                if kind == type and source in edge and target not in found and self.find(who, target)
            ]
            found.update(edge)
        return end in found

    def links_of(self, who: Token, one: Known) -> set[tuple[str, str, str]]:
        """Return the links with both ends visible to the reader."""
        return {
            name
            for name in self.links
            if one.id in (name[0], name[2]) and self.find(who, name[0]) and self.find(who, name[2])
        }

    def remove(self, one: Stored) -> None:
        """Remove a record with all links."""
        self.gone.update((one.id, *one.words))
        if one.id in self.memories:
            del self.memories[one.id]
            return
        del self.decisions[one.id]
        self.links = {name: link for name, link in self.links.items() if one.id not in (name[0], name[2])}
        self.settle()

    def hidden(self, who: Token) -> set[str]:
        """Return ids and words hidden from this reader."""
        visible, others = set[str](), set(self.gone)
        for one in (*self.decisions.values(), *self.memories.values()):
            (visible if self.sees(who, one) else others).update((one.id, *one.words))
        return others - visible

    def is_spent(self, who: Token, method: str, result: Any) -> bool:
        """Return whether a kept answer is withheld: the record is gone or hidden, or it names an erased record."""
        if method == "forget":
            return False
        named = set(texts({**result, "possibleDuplicates": ()}))
        about = [one["id"] for one in result["records"]] if method == "storeKnowledge" else [first_id(result)]
        if any(self.find_any(who, str(id)) is None for id in about):
            return True
        return any(self.forgotten.get(id, CUT[0]) not in CUT for id in named)

    def shown(self, one: Known) -> dict[str, Any]:
        """Return a decision's own content, as shown to every reader of it."""
        return {
            "title": f"Choose {one.word}",
            "status": self.status(one),
            "outcome": one.last_outcome,
            "revision": one.revision,
            "reviews": len(one.reviews),
            **one.stated,
        }

    def views(self, tokens: Iterable[Token]) -> dict[str, dict[str, tuple[object, object]]]:
        """Return the content and visible links of each record, by agent and id."""
        reported: dict[str, object] = {one.id: (one.own(), one.level) for one in self.memories.values()}
        for one in self.decisions.values():
            reported[one.id] = (str(self.shown(one)), one.project, one.level, one.ratified_by)
        found = {}
        for who in tokens:
            links: dict[str, set[object]] = {}
            for name, link in self.links.items():
                if self.find(who, name[0]) and self.find(who, name[2]):
                    for id in (name[0], name[2]):
                        links.setdefault(id, set()).add((name, link.by, link.weight))
            seen = (id for id in reported if self.find_any(who, id))
            found[who.agent] = {id: (reported[id], frozenset(links.get(id, ()))) for id in seen}
        return found

    def note(self) -> None:
        """Note the shown state of each decision, and the status without links."""
        for one in self.decisions.values():
            shown = self.shown(one)
            if one.owner is not None and (not one.known or one.known[-1][1] != shown):
                one.known.append((datetime.now(UTC), shown, self.alone(one)))

    def newest_first(self, found: Iterable[Known]) -> list[str]:
        """Sort as lists do: newest first, ties by id, undated last."""
        by_id = sorted(found, key=lambda one: one.id)
        dated = sorted((one for one in by_id if one.date), key=lambda one: moment(one.date), reverse=True)
        return [one.id for one in (*dated, *(one for one in by_id if not one.date))]


def moment(text: str | None) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


CUT = ("chunk", "artifact_chunk")


def first_id(result: Any) -> str:
    """Return the id of an answer's record, or of the first of several."""
    return str(result["records"][0]["id"] if "records" in result else result["id"])


def texts(value: Any) -> Iterator[str]:
    """Yield all texts and numbers in an answer, numbers as texts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for each in value:
            yield from texts(each)
    elif isinstance(value, str | int):
        yield str(value)
