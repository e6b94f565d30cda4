"""Base rules of all memory records: request meanings, and resulting memories."""

from typing import Any

from hypothesis import strategies as st

from cstp_server.tokens import Token
from tests.chaos.machine.base import Base
from tests.chaos.machine.memories import Memory
from tests.chaos.machine.model import LEVELS, NOT_FOUND

RADIO, WIKI = "radio", "wiki"
places = st.sampled_from([None, (RADIO, 0), (RADIO, 1), (RADIO, None), (WIKI, "page-0"), (WIKI, "page-1")])
FILLER = "The tide turns at noon and the pilot waits for it. " * 112  # more than a passage


class Placing(Base):
    """Base rules of all memory records."""

    def meant(self, agent: Token, kind: str, place: object, project: str | None) -> Memory | None:
        """Return the memory at a place: the agent's own memory before others."""
        if place is None:
            return None
        here = [one for one in self.model.remembered(agent, kind) if one.place == place and one.project == project]
        return next((one for one in here if one.owner == agent.agent), here[0] if here else None)

    def children(self, one: Memory, *kinds: str) -> list[Memory]:
        return [each for each in self.model.memories.values() if each.parent == one.id and each.kind in kinds]

    def add(self, one: Memory) -> None:
        assert one.id not in self.model.memories
        assert one.id not in self.model.decisions
        self.model.memories[one.id] = one

    def cut(self, one: Memory, kind: str, count: int) -> None:
        """Replace the former parts of a text with new parts."""
        for each in self.children(one, kind):
            del self.model.memories[each.id]
            self.model.gone.add(each.id)
        new = set(self.doors.ids(kind)) - {each.id for each in self.model.memories.values()}
        assert len(new) == count, f"{new}, and not {count}"
        for id in sorted(new):
            level = one.own_level if kind == "chunk" else one.level
            self.add(Memory(kind, id, one.word, one.project, level, one.owner, parent=one.id, version=one.version))

    def say(self, one: Memory, word: str, level: int) -> None:
        """Change a record's content and protection."""
        if word != one.word:
            self.model.gone.add(one.word)
        one.word, one.own_level, one.level = word, level, level
        one.revisions += 1
        one.version += 1
        for each in self.children(one, "event"):
            each.level = max(each.own_level, level)

    def asked(
        self,
        agent: Token,
        place: tuple[str, int | str | None] | None,
        rights: dict[str, Any],
        same: bool,
        long: bool,
        events: int | None,
    ) -> tuple[dict[str, Any], Memory | None]:
        """Return the parameters, and the memory meant by them."""
        project, _, _ = self.placed(agent, rights)
        kind = "turn" if place and place[0] == RADIO else "artifact"
        known = self.meant(agent, kind, place if place and place[1] is not None else None, project)
        word = known.word if known is not None and same else self.new_word()
        params: dict[str, Any] = {"content": f"Say {word}" + (f"\n\n{FILLER}" if long else ""), **rights}
        if place is not None and kind == "turn":
            params |= {"conversationId": RADIO}
            params |= {} if place[1] is None else {"turnIndex": place[1]}
        elif place is not None:
            params |= {"source": WIKI, "sourceId": place[1]}
        if events is not None:
            params["events"] = [{"category": "Seen", "narrative": f"Saw {word} {each}"} for each in range(events)]
        return params, known

    def remembered(
        self,
        one: Memory,
        done: dict[str, Any],
        word: str,
        level: int,
        expires: str | None,
        events: int | None,
        long: bool,
        name: str,
    ) -> None:
        """Note the state of a memory after a call changed it."""
        if done["status"] == "changed":
            self.say(one, word, level)
        one.long, one.expires = long, expires
        if events is not None:
            for each in self.children(one, "event"):
                self.model.remove(each)
            for reported in done["events"]:
                assert reported["narrative"].split()[1] == word
                self.add(Memory("event", reported["id"], word, one.project, level, one.owner, parent=one.id))
        self.cut(one, "artifact_chunk", done["numChunks"])

    def recall(self, door: int, agent: Token, one: Memory) -> None:
        """Read a memory by id."""
        params = {"id": one.id, "limit": 50, "expand": False}
        if one.id not in self.model.memories or not self.model.sees(agent, one):
            assert self.ask(door, agent, "recall", params, NOT_FOUND) == {"id": one.id}
            return
        (found,) = self.ask(door, agent, "recall", params)["results"]
        assert (found["id"], found["metadata"]["sensitivity"]) == (one.id, LEVELS[one.level])
        assert found["content"].split()[:2] == ["Say", one.word]
        events = {each.id for each in self.children(one, "event") if self.model.sees(agent, each)}
        assert {each["id"] for each in found["events"]} == events
