"""Rules of followers: each agent accumulates exactly the records visible to it."""

from hypothesis import strategies as st
from hypothesis.stateful import rule

from tests.chaos.machine.base import AGENTS, Base, Reader, server, who
from tests.chaos.machine.model import Known


class Following(Base):
    """Rules of cstp.changes: a reader for each agent continues from the cursor, on either server."""

    @rule(door=server, name=who, limit=st.sampled_from([1, 3, 7, 1000]))
    def follow(self, door: int, name: str, limit: int) -> None:
        reader = self.readers[name]
        reported = self.read_on(door, name, reader, limit)
        allowed = reader.may | self.neighbours(name, reader.may)
        assert reported <= allowed, f"{name} is shown {reported - allowed}, which is for it as it was"
        missed = {id for id in reader.must if id in reader.known} - reported
        assert not missed, f"{name} is not shown {missed}"
        reader.may, reader.must = set(), set()

    @rule(door=server, name=who)
    def follow_from_the_beginning(self, door: int, name: str) -> None:
        self.read_on(door, name, Reader(ever=self.readers[name].ever), 1000)

    @rule(door=server, name=who)
    def follow_from_now_on(self, door: int, name: str) -> None:
        begun = self.ask(door, AGENTS[name], "changes", {"since": "now"})
        assert begun["changes"] == []
        after = self.ask(door + 1, AGENTS[name], "changes", {"since": begun["cursor"]})
        assert (after["changes"], after["cursor"], after["more"]) == ([], begun["cursor"], False)

    def read_on(self, door: int, name: str, reader: Reader, limit: int) -> set[str]:
        """Read all changes and return their ids; the reader's state must equal the agent's view."""
        agent, reported, more = AGENTS[name], set[str](), True
        while more:
            params = {"since": reader.cursor, "limit": limit}
            page = self.ask(door, agent, "changes", params, allowed=reader.ever)
            assert len(page["changes"]) <= limit
            for one in page["changes"]:
                assert reader.cursor < one["seq"] <= page["cursor"]
                assert one["id"] not in reported
                assert one["id"] in reader.ever, f"{name} never saw {one['id']}"
                reader.cursor = one["seq"]
                reported.add(one["id"])
                if one["op"] == "put":
                    reader.known[one["id"]] = one["kind"]
                else:
                    reader.known.pop(one["id"], None)
            assert page["cursor"] == reader.cursor
            more = page["more"]
            assert page["changes"] or not more
        seen = (*self.model.seen(agent), *self.model.memories.values())
        expected = {one.id: one.kind for one in seen if isinstance(one, Known) or self.model.sees(agent, one)}
        assert reader.known == expected, f"{name} follows {reader.known}, and not {expected}"
        after = self.ask(door + 1, agent, "changes", {"since": reader.cursor})
        assert (after["changes"], after["cursor"], after["more"]) == ([], reader.cursor, False)
        return reported

    def neighbours(self, name: str, ids: set[str]) -> set[str]:
        """Return all turns if a turn changed: words of neighbouring turns find them, too."""
        turns = {one.id for one in self.model.remembered(AGENTS[name], "turn")}
        return turns if self.turns & ids else set()
