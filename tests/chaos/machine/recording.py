"""Rules for recording, amending and changing the status of decisions."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.chaos.machine.base import AGENTS, Base, key, pick, rights, server, who, writer
from tests.chaos.machine.model import (
    CONFLICT,
    EXPIRED,
    FORBIDDEN,
    FUTURE,
    INVALID,
    NOT_FOUND,
    OWN_STATUSES,
    PAST,
    STATUSES,
    Known,
    Link,
)

members = st.fixed_dictionaries(
    {},
    optional={
        "category": st.sampled_from(["storage", "search"]),
        "stakes": st.sampled_from(["low", "high"]),
        "tags": st.sampled_from([["a"], ["b"], ["a", "b"]]),
        "feature": st.just("cart"),
        "validFrom": st.sampled_from([PAST, FUTURE]),
        "validTo": st.sampled_from([EXPIRED, FUTURE]),
    },
)


def in_order(stated: dict[str, Any]) -> bool:
    return not (stated.get("validFrom") == FUTURE and stated.get("validTo") == EXPIRED)


class Recording(Base):
    """Rules of cstp.recordDecision: with a new or an existing text, with links from the start."""

    @initialize(door=server)
    def record_first(self, door: int) -> None:
        """Record decisions at the start of each run under any rules."""
        plain: dict[str, Any] = {"stated": {}, "confidence": 0.5, "twin": None, "related": None}
        plain |= {"number": None, "dry": False}
        self.record(door, "boss", rights={"project": "alpha"}, old=None, **plain)
        self.record(door, "ben", rights={"project": "alpha"}, old=0, **plain)
        self.record(door, "ann", rights={"sensitivity": "sensitive"}, old=None, **plain)

    @rule(
        door=server,
        name=st.one_of(who, writer),
        stated=members,
        rights=rights,
        confidence=st.sampled_from([0, 0.5, 1.0]),
        twin=st.one_of(st.none(), pick),
        old=st.one_of(st.none(), pick),
        related=st.one_of(st.none(), st.none(), pick),
        number=key,
        dry=st.sampled_from([False, False, False, True]),
    )
    def record(
        self,
        door: int,
        name: str,
        stated: dict[str, Any],
        rights: dict[str, Any],
        confidence: float,
        twin: int | None,
        old: int | None,
        related: int | None,
        number: int | None,
        dry: bool,
    ) -> None:
        agent, model = AGENTS[name], self.model
        known = [one.word for one in model.decisions.values() if one.owner is not None]
        word = known[twin % len(known)] if twin is not None and known else self.new_word()
        linked = [("supersedes", self.target(old))] if old is not None else []
        linked += [("depends_on", self.target(related))] if related is not None else []
        params: dict[str, Any] = {"decision": f"Choose {word}", "confidence": confidence, **stated, **rights}
        for type, id in linked:
            named = {"supersedes": [id]} if type == "supersedes" else {"relatedTo": [{"id": id, "type": type}]}
            params |= named
        params |= {"dryRun": True} if dry else {}
        project, level, code = self.placed(agent, rights)
        if not in_order(stated):
            code = INVALID
        if not code and any(model.find(agent, id) is None for _, id in linked):
            code = NOT_FOUND
        twins = {one.id for one in model.seen(agent) if one.word == word and one.owner and not one.contexts}
        self.doors.follow(door)
        done = self.write(door, agent, "recordDecision", params, number, code)
        if done is None:
            return
        assert (done["created"], done["status"], done["revision"]) == (True, "pending", 1)
        duplicates = {each["id"] for each in done["possibleDuplicates"]}
        assert duplicates <= twins
        assert len(duplicates) == min(3, len(twins))
        one = Known(done["id"], word, {**stated, "confidence": confidence}, project, level, name, done["timestamp"])
        one.history.append((name, ["decision"]))
        assert one.id not in model.decisions
        model.decisions[one.id] = one
        for type, id in linked:
            model.links[one.id, type, id] = Link(name)
        without = [id for type, id in linked if type == "supersedes" and self.shows_more(one, model.decisions[id])]
        assert len(done["warnings"]) == len(without)
        model.settle()
        self.look(door + 1, AGENTS["boss"], one.id)

    @staticmethod
    def shows_more(new: Known, old: Known) -> bool:
        """Return whether the old decision has readers that the new decision may lack."""
        return new.project != old.project or new.level > old.level

    @rule(door=server, number=pick)
    def send_again(self, door: int, number: int) -> None:
        if self.model.answered:
            names = list(self.model.answered)
            agent, method, _ = name = names[number % len(names)]
            self.repeat(door, AGENTS[agent], method, self.model.answered[name][0])


class Amending(Base):
    """Rules of cstp.updateDecision and cstp.setStatus."""

    @rule(
        door=server,
        name=st.one_of(who, writer),
        number=pick,
        stated=members,
        context=st.sampled_from([False, False, True]),
        confidence=st.one_of(st.none(), st.sampled_from([0, 1.0])),
        expected=st.one_of(st.none(), st.integers(1, 4)),
        again=key,
    )
    def update(
        self,
        door: int,
        name: str,
        number: int,
        stated: dict[str, Any],
        context: bool,
        confidence: float | None,
        expected: int | None,
        again: int | None,
    ) -> None:
        agent, id = AGENTS[name], self.target(number)
        updates = {**stated, **({} if confidence is None else {"confidence": confidence})}
        word = self.new_word()
        updates |= {"context": f"Because {word}"} if context else {}
        params: dict[str, Any] = {"id": id, "updates": updates}
        params |= {} if expected is None else {"expectedRevision": expected}
        one = self.model.find(agent, id)
        code, changed = 0, []
        if not updates or not in_order(stated):
            code = INVALID
        elif one is None:
            code = NOT_FOUND
        elif one.owner is None:
            code = CONFLICT
        elif one.owner != name and "admin" not in agent.scopes:
            code = FORBIDDEN
        elif expected not in (None, one.revision):
            code = CONFLICT
        else:
            code, changed = self.change(one, updates)
            if not code and {"valid_from", "valid_to"} & set(changed) and one.status not in OWN_STATUSES:
                code = FORBIDDEN  # agents that may amend lack ratify
        done = self.write(door, agent, "updateDecision", params, again, code)
        if done is None or one is None:
            return
        one.stated |= updates
        one.contexts += [word] if context else []
        if changed:
            one.revision += 1
            one.history.append((name, changed))
        assert (done["updatedFields"], done["revision"]) == ([camel(each) for each in changed], one.revision)
        self.look(door + 1, AGENTS["boss"], id)

    @staticmethod
    def change(one: Known, updates: dict[str, Any]) -> tuple[int, list[str]]:
        """Return the error code for an author's update, and the changed field names."""
        empty = {"tags": []}
        changed = [name for name, value in updates.items() if one.stated.get(name, empty.get(name)) != value]
        if not in_order(one.stated | updates):
            return INVALID, []
        if "confidence" in changed and one.reviews:
            return CONFLICT, []
        return 0, sorted(snake(name) for name in changed)

    @rule(door=server, name=st.one_of(who, st.just("judge")), number=pick, status=st.sampled_from(STATUSES), again=key)
    def set_status(self, door: int, name: str, number: int, status: str, again: int | None) -> None:
        agent, id = AGENTS[name], self.target(number)
        one, ratifies = self.model.find(agent, id), "ratify" in agent.scopes
        code = 0
        if one is None:
            code = NOT_FOUND
        elif one.owner is None:
            code = CONFLICT
        elif not ratifies:
            own = one.owner == name or "admin" in agent.scopes
            code = 0 if status in OWN_STATUSES and own and one.status in OWN_STATUSES else FORBIDDEN
        params = {"id": id, "status": status, "reason": "agreed"}
        done = self.write(door, agent, "setStatus", params, again, code)
        if done is None or one is None:
            return
        before = one.status
        if before != status:
            if status == "accepted":
                self.model.ratify(one)
            one.status = status
            one.revision += 1
            one.history.append((name, ["status"]))
            one.ratified_by = name if status not in OWN_STATUSES else None
        assert (done["status"], done["previous"], done["ratifiedBy"]) == (status, before, one.ratified_by)
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], id)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)
