"""What all rules of the state machine have in common: the agents, calls whose answers are checked, and reading back."""

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from cstp.methods.registry import METHODS
from cstp_server.tokens import Token
from tests.chaos.machine.doors import Doors, token
from tests.chaos.machine.model import CONFLICT, FORBIDDEN, LEVELS, NOT_FOUND, Known, Model

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
_NAMES = re.compile(r"\b(?:dec_[0-9a-f]+|w\d+|file-\d+)\b")


class Base(RuleBasedStateMachine):
    """`open` gives two engines over a new store; `calls` counts over all runs."""

    open: ClassVar[Callable[[], Doors]]
    calls: ClassVar[list[int]]

    def __init__(self) -> None:
        super().__init__()
        self.doors = type(self).open()
        self.model = Model()
        self.words = 0
        self.seq = 0

    def teardown(self) -> None:
        self.doors.close()

    def new_word(self) -> str:
        self.words += 1
        return f"w{self.words}"

    def target(self, number: int) -> str:
        """The id of a decision, seen or not, now and then of none."""
        ids = [*self.model.decisions, UNKNOWN]
        return ids[number % len(ids)]

    def ask(self, door: int, agent: Token, method: str, params: Mapping[str, Any], code: int = 0) -> Any:
        """A result, or the data of the error that must come; nothing in it may be hidden from the agent."""
        self.calls[0] += 1
        reply = self.doors.call(door, agent, method, params)
        assert reply.code == code, f"{agent.agent} {method} {params}: {reply.text}, and not {code}"
        # a search and a refusal repeat what was asked
        echoed = str(params.get("query")) if reply.code == 0 else str(params)
        shown = set(_NAMES.findall(reply.text)) & self.model.hidden(agent) - set(_NAMES.findall(echoed))
        assert not shown, f"{agent.agent} {method} {params} is shown {shown}: {reply.text}"
        return reply.value

    def write(
        self, door: int, agent: Token, method: str, params: dict[str, Any], number: int | None, code: int
    ) -> dict[str, Any] | None:
        """A write that is answered with `code` by the rules of its method; None where it changed nothing.

        Before these come the scope of the token and what is known of the key.
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
        result: dict[str, Any] = self.ask(door, agent, method, params, code)
        if code or params.get("dryRun"):
            return None
        assert result["seq"] >= self.seq
        self.seq = result["seq"]
        if number is not None:
            self.model.answered[name] = (params, result)
        return result

    def repeat(self, door: int, agent: Token, method: str, params: dict[str, Any]) -> None:
        """A key that was used before: the same parameters get the same answer, others are a conflict."""
        before, first = self.model.answered[agent.agent, method, params["idempotencyKey"]]
        seen = self.model.find(agent, first["id"]) is not None
        if before != params or not seen:
            data = self.ask(door, agent, method, params, CONFLICT)
            assert (data["reason"], data["id"]) == ("idempotency", first["id"] if seen else None)
            return
        expected = dict(first)
        if method == "recordDecision":
            near = [one for one in first["possibleDuplicates"] if self.model.find(agent, one["id"])]
            expected |= {"created": False, "possibleDuplicates": near}
        result = self.ask(door, agent, method, params)
        when = {name: True for name in ("indexed", "reindexed") if name in first}  # is of now
        assert {**result, **when} == {**expected, **when}, f"{result}, and not {expected}"

    def look(self, door: int, agent: Token, id: str) -> None:
        """Reads a decision whole and compares it with the model."""
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
