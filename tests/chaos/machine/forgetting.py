"""Rules of erasure, by agents and by expiry."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from cstp_server.tokens import Token
from tests.chaos.machine.base import AGENTS, UNKNOWN, key, pick, rights, server, who, writer
from tests.chaos.machine.memories import NOTHING, Memory, cascade_of
from tests.chaos.machine.model import CONFLICT, FORBIDDEN, INVALID, NOT_FOUND, Known, Stored
from tests.chaos.machine.placing import Placing, places
from tests.stores import wait_for

MODES = ("keyword", "semantic", "hybrid")
MARGINS = (0.1, 1.0, 10.0)  # lifetimes of a memory in seconds; the next is for a machine too slow for the former


class Forgetting(Placing):
    """Rules of cstp.forget and expiring memories."""

    @rule(door=server, name=st.one_of(who, writer), kind=st.booleans(), number=pick, again=key, dry=st.booleans())
    def forget(self, door: int, name: str, kind: bool, number: int, again: int | None, dry: bool) -> None:
        agent = AGENTS[name]
        ids = [*self.model.decisions, *self.model.memories, UNKNOWN]
        id = ids[number % len(ids)]
        one = self.model.find_any(agent, id)
        code = 0
        if one is None:
            code = NOT_FOUND
        elif one.owner is None:
            code = CONFLICT
        elif one.owner != name and "admin" not in agent.scopes:
            code = FORBIDDEN
        params: dict[str, Any] = {"id": id, "confirm": True}
        params |= {"kind": one.kind} if one is not None and kind else {}
        if dry and not code and again is None and "write" in agent.scopes:
            assert one is not None
            done = self.ask(door, agent, "forget", {**params, "dryRun": True})
            assert (done["deleted"], done["receipt"], done["cascade"]) == (False, None, self.doomed(agent, one)[1])
            return
        done = self.write(door, agent, "forget", params, again, code)
        if done is None or one is None:
            return
        gone, counts = self.doomed(agent, one)
        assert (done["deleted"], done["id"], done["kind"]) == (True, id, one.kind)
        assert done["cascade"] == counts, f"{one}: {done['cascade']}, and not {counts}"
        self.check_receipt(done["receipt"], done["seq"])
        self.take(gone)
        self.check_absent(door + 1, [word for each in gone for word in each.words])
        self.ask(door + 1, agent, "forget", {"id": id, "confirm": True}, NOT_FOUND)

    def doomed(self, agent: Token, one: Stored) -> tuple[list[Stored], dict[str, int]]:
        """Return the records erased along with a record, and the number visible to the agent."""
        if isinstance(one, Known):
            own = {"reviews": len(one.reviews), "revisions": one.revision}
            return [one], {**NOTHING, **own, "links": len(self.model.links_of(agent, one))}
        found = cascade_of(one, self.model.memories.values(), lambda each: self.model.sees(agent, each))
        return [*found.gone], found.counts

    @staticmethod
    def check_receipt(receipt: dict[str, Any], seq: int) -> None:
        """Check that nothing is left, and that a late index is reported as pending."""
        assert receipt["seq"] == seq
        parts = {each["part"] for each in receipt["pending"]}
        assert "files" not in parts
        for part, left in receipt["remaining"].items():
            assert left == 0 or (left is None and part in parts and part != "records"), receipt

    def take(self, gone: list[Stored]) -> None:
        for each in gone:
            self.model.forgotten[each.id] = each.kind
            self.model.remove(each)

    def check_absent(self, door: int, words: list[str]) -> None:
        """Check that no search finds an erased record, and no answer has a word of the record."""
        boss = AGENTS["boss"]
        self.doors.follow(door)
        for word in dict.fromkeys(words):
            left = [one for one in (*self.model.decisions.values(), *self.model.memories.values()) if word in one.words]
            for mode in MODES:
                for method in ("queryDecisions", "findEpisodes", "searchKnowledge"):
                    found = self.ask(door, boss, method, {"query": word, "mode": mode, "limit": 50})
                    if mode == "keyword" and not left:
                        assert not any(found.get(name) for name in ("decisions", "episodes", "results"))
            self.ask(door, boss, "recall", {"query": word, "limit": 50})

    @rule(door=server, name=writer, place=places, rights=rights, events=st.sampled_from([None, 2]))
    def lapse(
        self,
        door: int,
        name: str,
        place: tuple[str, int | str | None] | None,
        rights: dict[str, Any],
        events: int | None,
    ) -> None:
        """Expire a new or existing memory: first hidden, then erased."""
        agent, boss = AGENTS[name], AGENTS["boss"]
        params, known = self.asked(agent, place, rights, False, False, events)
        project, level, code = self.placed(agent, rights)
        if code or (known is not None and known.owner != name and "admin" not in agent.scopes):
            return
        for margin in MARGINS:
            ends = datetime.now(UTC) + timedelta(seconds=margin)
            self.calls[0] += 1
            reply = self.doors.call(door, agent, "remember", {**params, "expiresAt": ends.isoformat()})
            if reply.code != INVALID:
                break
        assert reply.code == 0, reply.text
        done, word = reply.value, params["content"].split()[1]
        self.seq = done["seq"]
        if known is None:
            kind = "turn" if done["id"] and place and place[0] == "radio" else "artifact"
            known = Memory(kind, done["id"], word, project, level, name, revisions=1)
            self.add(known)
        self.remembered(known, done, word, level, ends.isoformat(), events, False, name)
        self.note()
        wait_for(lambda: self.is_over(door + 1, known.id))
        assert datetime.now(UTC) >= ends
        gone, _ = self.doomed(boss, known)
        whole = cascade_of(known, self.model.memories.values(), lambda _: True).gone
        self.take([*whole])
        self.check_absent(door, [word for each in gone for word in each.words])
        self.recall(door + 1, boss, known)
        self.doors.sweep(door)

    def is_over(self, door: int, id: str) -> bool:
        self.calls[0] += 1
        params = {"id": id, "confirm": True, "dryRun": True}
        return self.doors.call(door, AGENTS["boss"], "forget", params).code == NOT_FOUND
