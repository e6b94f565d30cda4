"""Rules of additions to decisions: reviews and links."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from cstp_server.tokens import Token
from tests.chaos.machine.base import AGENTS, UNKNOWN, Base, key, pick, server, who
from tests.chaos.machine.model import ACYCLIC, CONFLICT, FORBIDDEN, INVALID, NOT_FOUND, OWN_STATUSES, Link

EDGES = ("supersedes", "supersedes", "depends_on", "depends_on", "relates_to")


class Reviewing(Base):
    """Rules of cstp.reviewDecision."""

    @rule(
        door=server,
        name=who,
        number=pick,
        outcome=st.sampled_from(["success", "partial", "failure", "abandoned"]),
        again=key,
    )
    def review(self, door: int, name: str, number: int, outcome: str, again: int | None) -> None:
        agent, id = AGENTS[name], self.target(number)
        one = self.model.find(agent, id)
        params = {"id": id, "outcome": outcome, "notes": "seen"}
        done = self.write(door, agent, "reviewDecision", params, again, NOT_FOUND if one is None else 0)
        if done is None or one is None:
            return
        before, own = one.last_outcome, one.owner == name
        assert (done["previousOutcome"], done["selfReview"], done["revision"]) == (before, own, one.revision)
        review = {"reviewedBy": name, "outcome": outcome, "selfReview": own, "previousOutcome": before}
        one.reviews.append(review)
        self.model.settle()
        assert done["status"] == self.model.status(one)
        self.look(door + 1, AGENTS["boss"], id)


class Linking(Base):
    """Rules of cstp.linkDecisions and cstp.unlinkDecisions."""

    @rule(
        door=server,
        name=who,
        begin=pick,
        end=pick,
        type=st.sampled_from(EDGES),
        weight=st.one_of(st.none(), st.just(0.5)),
        again=key,
    )
    def link(
        self, door: int, name: str, begin: int, end: int, type: str, weight: float | None, again: int | None
    ) -> None:
        agent, one, other = AGENTS[name], self.target(begin), self.target(end)
        code, known = 0, self.model.links.get((one, type, other))
        if self.model.find(agent, one) is None or self.model.find(agent, other) is None:
            code = NOT_FOUND
        elif one == other:
            code = INVALID
        elif known is not None and known.by != name:
            code = CONFLICT
        elif type == "supersedes" and known is None and not self.may_supersede(agent, one):
            code = FORBIDDEN
        elif type in ACYCLIC and self.model.reaches(agent, other, one, type):
            code = CONFLICT
        params: dict[str, Any] = {"sourceId": one, "targetId": other, "edgeType": type}
        params |= {} if weight is None else {"weight": weight}
        done = self.write(door, agent, "linkDecisions", params, again, code)
        if done is None:
            return
        self.model.links[one, type, other] = Link(name, weight, effective=known is not None and known.effective)
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], other)

    def may_supersede(self, agent: Token, id: str) -> bool:
        """Return whether a link from the decision may supersede: the agent may ratify, or acceptance comes later."""
        one = self.model.decisions[id]
        return "ratify" in agent.scopes or (one.owner is not None and one.status in OWN_STATUSES)

    @rule(door=server, name=who, number=pick, again=key)
    def unlink(self, door: int, name: str, number: int, again: int | None) -> None:
        names = [*self.model.links, (self.target(number), "relates_to", UNKNOWN)]
        agent, (one, type, other) = AGENTS[name], names[number % len(names)]
        known = self.model.links.get((one, type, other))
        code = CONFLICT if known is None else 0 if name == known.by or "admin" in agent.scopes else FORBIDDEN
        if self.model.find(agent, one) is None or self.model.find(agent, other) is None:
            code = NOT_FOUND
        params = {"sourceId": one, "targetId": other, "edgeType": type}
        done = self.write(door, agent, "unlinkDecisions", params, again, code)
        if done is None:
            return
        del self.model.links[one, type, other]
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], other)
