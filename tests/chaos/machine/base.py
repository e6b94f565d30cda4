"""Base of the state machine rules: agents, calls with checked answers, and reading back."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from cstp.methods.registry import METHODS
from cstp_server.tokens import Token
from tests.chaos.machine.doors import Doors, token
from tests.chaos.machine.model import CONFLICT, FORBIDDEN, INVALID, LEVELS, NOT_FOUND, Known, Model, first_id

AGENTS: Mapping[str, Token] = {
    "ann": token("ann", "read write review", "sensitive"),
    "ben": token("ben", "read write review", "normal", ["alpha"]),
    "cy": token("cy", "read write review", projects=["alpha", "beta"]),
    "judge": token("judge", "read ratify review"),
    "boss": token("boss", "read write review admin"),
    "reader": token("reader", "read", "sensitive", ["beta"]),
}
WRITERS = ("ann", "ben", "cy", "boss")
UNKNOWN = "dec_0"
who = st.sampled_from(sorted(AGENTS))
writer = st.sampled_from(WRITERS)
server = st.integers(0, 1)
pick = st.integers(0, 1000)
key = st.one_of(st.none(), st.none(), st.integers(0, 30))
_SCOPES = {method.name: set(method.scopes) for method in METHODS}
_MAY_CHANGE_NOTHING = {"updateDecision", "setStatus", "remember", "storeKnowledge"}  # and report the last change
_NAMES = re.compile(r"[\w-]+(?:::[\w-]+)*")
rights = st.fixed_dictionaries(
    {}, optional={"project": st.sampled_from(["alpha", "beta"]), "sensitivity": st.sampled_from(LEVELS)}
)


@dataclass
class Reader:
    """A follower: cursor, records reported so far, and changes since the last read."""

    cursor: int = 0
    known: dict[str, str] = field(default_factory=dict)  # kinds by id
    reported: set[int] = field(default_factory=set)  # numbers of the changes
    may: set[str] = field(default_factory=set)
    must: set[str] = field(default_factory=set)
    ever: set[str] = field(default_factory=set)  # everything seen so far


class Base(RuleBasedStateMachine):
    """Base of the rules; `open` returns two engines over a new store, `calls` counts over all runs."""

    open: ClassVar[Callable[[], Doors]]
    calls: ClassVar[list[int]]

    def __init__(self) -> None:
        super().__init__()
        self.doors = type(self).open()
        self.model = Model()
        self.words = 0
        self.seq = 0
        nothing: dict[str, tuple[object, object]] = {}
        self.views = dict.fromkeys(AGENTS, nothing)
        self.readers = {name: Reader() for name in AGENTS}
        self.turns: set[str] = set()  # all that ever existed

    @invariant()
    def note(self) -> None:
        """Note after each rule the changes that each follower must learn."""
        self.model.note()
        self.turns.update(one.id for one in self.model.memories.values() if one.kind == "turn")
        views = self.model.views(AGENTS.values())
        for name, reader in self.readers.items():
            before, after = self.views[name], views[name]
            for id in before.keys() | after.keys():
                if before.get(id) != after.get(id):
                    reader.may.add(id)
                    if id not in before or id not in after or before[id][0] != after[id][0]:
                        reader.must.add(id)
            reader.ever |= after.keys()
        self.views = views

    def teardown(self) -> None:
        self.doors.close()

    def new_word(self) -> str:
        self.words += 1
        return f"w{self.words}"

    @staticmethod
    def placed(agent: Token, rights: dict[str, Any]) -> tuple[str | None, int, int]:
        """Return project and level of a new record, and the error code if the agent lacks the rights."""
        project, level = rights.get("project"), LEVELS.index(rights.get("sensitivity", "normal"))
        code = 0
        if agent.projects is not None:
            if project is None and len(agent.projects) == 1:
                project = agent.projects[0]
            code = 0 if project in agent.projects else INVALID
        return project, level, INVALID if level > LEVELS.index(agent.clearance) else code

    def target(self, number: int) -> str:
        """Return the id of a decision, visible or hidden, or an unknown id."""
        ids = [*self.model.decisions, UNKNOWN]
        return ids[number % len(ids)]

    def ask(
        self,
        door: int,
        agent: Token,
        method: str,
        params: Mapping[str, Any],
        code: int = 0,
        allowed: Iterable[str] = (),
    ) -> Any:
        """Return the result, or the data of the expected error; assert that it has nothing hidden from the agent.

        `allowed` are hidden names permitted in the answer.
        """
        self.calls[0] += 1
        reply = self.doors.call(door, agent, method, params)
        assert reply.code == code, f"{agent.agent} {method} {params}: {reply.text}, and not {code}"
        # a refusal repeats the request, and a search its query
        said = reply.text if code else str(unasked(reply.value))
        echoed = _NAMES.findall(str(params)) if code else ()
        shown = set(_NAMES.findall(said)) & self.model.hidden(agent) - {*echoed, *allowed}
        assert not shown, f"{agent.agent} {method} {params} is shown {shown}: {reply.text}"
        return reply.value

    def write(
        self, door: int, agent: Token, method: str, params: dict[str, Any], number: int | None, code: int
    ) -> dict[str, Any] | None:
        """Make a write that must be answered with `code` by the method's rules; return None if nothing changed.

        Token scope and known idempotency key are checked first.
        """
        if not _SCOPES[f"cstp.{method}"] & set(agent.scopes):
            self.ask(door, agent, method, params, FORBIDDEN)
            return None
        name = (agent.agent, method, f"key-{number}")
        if number is not None:
            params = {**params, "idempotencyKey": name[2]}
            if name in self.model.answered:
                self.repeat(door, agent, method, params)
                return None
        own = (str(params["id"]),) if method == "forget" else ()
        result: dict[str, Any] = self.ask(door, agent, method, params, code, own)
        if code or params.get("dryRun"):
            return None
        assert result["seq"] > self.seq or method in _MAY_CHANGE_NOTHING
        self.seq = max(self.seq, result["seq"])
        if number is not None:
            self.model.answered[name] = (params, result)
        return result

    def repeat(self, door: int, agent: Token, method: str, params: dict[str, Any]) -> None:
        """Repeat a used key: equal parameters get the same answer, others a conflict."""
        before, first = self.model.answered[agent.agent, method, params["idempotencyKey"]]
        id = first_id(first)
        if before != params:
            seen = method == "forget" or self.model.find_any(agent, id) is not None
            data = self.ask(door, agent, method, params, CONFLICT, allowed=[id] if method == "forget" else ())
            assert (data["reason"], data["id"]) == ("idempotency", id if seen else None)
            return
        if self.model.is_spent(agent, method, first):
            data = self.ask(door, agent, method, params, CONFLICT)
            assert (data["reason"], data["id"]) == ("idempotency", None)
            return
        expected = dict(first)
        if method == "recordDecision":
            near = [one for one in first["possibleDuplicates"] if self.model.find(agent, one["id"])]
            expected |= {"created": False, "possibleDuplicates": near}
        elif method == "storeEpisode":
            expected |= {"created": False}
        elif method == "remember":
            expected |= {"status": "unchanged"}
        elif method == "storeKnowledge":
            expected |= {"records": [one | {"status": "unchanged"} for one in first["records"]]}
        # its own content, and earlier reports to it
        result = self.ask(door, agent, method, params, allowed=_NAMES.findall(f"{params} {first}"))
        when = {name: True for name in ("indexed", "reindexed", "receipt") if name in first}  # is of now
        assert {**result, **when} == {**expected, **when}, f"{result}, and not {expected}"

    def look(self, door: int, agent: Token, id: str) -> None:
        """Read a full decision and compare it with the model."""
        one = self.model.find(agent, id)
        params = {"id": id}
        if one is None:
            assert self.ask(door, agent, "getDecision", params, NOT_FOUND) == {"id": id}
            return
        found = self.ask(door, agent, "getDecision", params)["decision"]
        self.compare(agent, one, found)
        assert self.ask(door, agent, "getDecision", {**params, "knownAt": "2999-01-01"})["decision"] == found

    def compare(self, agent: Token, one: Known, found: Mapping[str, Any]) -> None:
        stated = {"category": None, "stakes": None, "tags": [], "validFrom": None, "validTo": None, "feature": None}
        stated["context"] = None
        expected = stated | one.stated
        shown = {name: found[name] for name in expected}
        assert shown == expected, f"{one.id}: {shown}, and not {expected}"
        assert (found["id"], found["title"]) == (one.id, f"Choose {one.word}")
        assert (found["status"], found["outcome"]) == (self.model.status(one), one.last_outcome), one.id
        assert (found["project"], found["sensitivity"]) == (one.project, LEVELS[one.level])
        source = found["provenance"]
        origin = "file" if one.owner is None else "wire"
        assert (source["recordedBy"], source["origin"], source["revision"]) == (one.owner, origin, one.revision)
        assert source["ratifiedBy"] == one.ratified_by
        names = ("reviewedBy", "outcome", "selfReview", "previousOutcome")
        assert [{name: each[name] for name in names} for each in found["reviews"]] == one.reviews
        links = {(each["sourceId"], each["edgeType"], each["targetId"]) for each in found["links"]}
        assert links == self.model.links_of(agent, one)
        for each in found["links"]:
            link = self.model.links[each["sourceId"], each["edgeType"], each["targetId"]]
            assert (each["createdBy"], each["weight"], each["context"]) == (link.by, link.weight, link.context)
        assert [(each["by"], each["changed"]) for each in found["history"]] == one.history


def unasked(result: Any) -> Any:
    """Remove the repeated query from an answer."""
    if not isinstance(result, dict):
        return result
    return {name: unasked(value) if name == "metadata" else value for name, value in result.items() if name != "query"}
