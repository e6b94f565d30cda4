"""Rules for reading memories, episodes and knowledge: by id, as lists, by searches."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.chaos.machine.base import AGENTS, pick, server, who
from tests.chaos.machine.memories import Memory
from tests.chaos.machine.model import NOT_FOUND
from tests.chaos.machine.placing import RADIO, Placing

modes = st.sampled_from(["keyword", "keyword", "semantic", "hybrid"])
READ = {"turn", "artifact"}


class Recalling(Placing):
    """Rules of recall, getChunk, searchKnowledge, getEpisode, listEpisodes and findEpisodes."""

    def any_of(self, number: int, *kinds: str) -> Memory | None:
        found = [one for one in self.model.memories.values() if one.kind in kinds]
        return found[number % len(found)] if found else None

    @precondition(lambda self: self.model.memories)
    @rule(door=server, name=who, number=pick)
    def read(self, door: int, name: str, number: int) -> None:
        agent, one = AGENTS[name], list(self.model.memories.values())[number % len(self.model.memories)]
        code = 0 if self.model.sees(agent, one) else NOT_FOUND
        if one.kind in READ:
            self.recall(door, agent, one)
        elif one.kind == "episode":
            found = self.ask(door, agent, "getEpisode", {"id": int(one.id)}, code)
            assert code or found["reflection"] == f"Learn {one.word}"
        elif one.kind == "chunk":
            self.doors.follow(door)
            found = self.ask(door, agent, "getChunk", {"chunkId": one.id}, code)
            assert code or one.word in found["content"].split()

    @rule(door=server, name=who)
    def list_episodes(self, door: int, name: str) -> None:
        found = self.ask(door, AGENTS[name], "listEpisodes", {"limit": 100})
        expected = [int(one.id) for one in self.model.remembered(AGENTS[name], "episode")][::-1]  # the newest first
        assert ([each["id"] for each in found["episodes"]], found["totalCount"]) == (expected[:100], len(expected))

    @rule(door=server, name=who)
    def conversation(self, door: int, name: str) -> None:
        agent = AGENTS[name]
        self.doors.follow(door)
        turns = self.model.remembered(agent, "turn")
        params = {"conversationId": RADIO, "limit": 50}
        found = self.ask(door, agent, "recall", params)
        assert {each["id"] for each in found["turns"]} <= {one.id for one in turns}
        assert (len(found["turns"]), found["totalTurns"]) == (min(50, len(turns)), len(turns))

    @precondition(lambda self: self.any_of(0, "episode"))
    @rule(door=server, name=who, number=pick, mode=modes)
    def find_episodes(self, door: int, name: str, number: int, mode: str) -> None:
        agent, one = AGENTS[name], self.any_of(number, "episode")
        assert one is not None
        self.doors.follow(door)
        page = self.ask(door, agent, "findEpisodes", {"query": one.word, "mode": mode, "limit": 50})
        found = {str(each["id"]) for each in page["episodes"]}
        seen = self.model.remembered(agent, "episode")
        self.compare_found(found, {each.id for each in seen if each.word == one.word}, {each.id for each in seen}, mode)

    @precondition(lambda self: self.any_of(0, "chunk", "extraction"))
    @rule(door=server, name=who, number=pick, mode=modes)
    def search_knowledge(self, door: int, name: str, number: int, mode: str) -> None:
        agent, one = AGENTS[name], self.any_of(number, "chunk", "extraction")
        assert one is not None
        self.doors.follow(door)
        page = self.ask(door, agent, "searchKnowledge", {"query": one.word, "mode": mode, "limit": 50})
        found = {each["id"] for each in page["results"]}
        seen = self.model.remembered(agent, "chunk", "extraction")
        self.compare_found(found, {each.id for each in seen if each.word == one.word}, {each.id for each in seen}, mode)

    @precondition(lambda self: self.any_of(0, "turn", "artifact", "event"))
    @rule(door=server, name=who, number=pick)
    def recall_by_words(self, door: int, name: str, number: int) -> None:
        agent, one = AGENTS[name], self.any_of(number, "turn", "artifact", "event")
        assert one is not None
        self.doors.follow(door)
        page = self.ask(door, agent, "recall", {"query": one.word, "limit": 50})
        seen = self.model.remembered(agent, "turn", "artifact", "event", "artifact_chunk", "chunk")
        shown = {each.id for each in (*seen, *self.model.seen(agent))}
        found = {id for each in page["results"] for id in (each["id"], *(event["id"] for event in each["events"]))}
        assert found <= shown, f"{found - shown}"

    @staticmethod
    def compare_found(found: set[str], same: set[str], seen: set[str], mode: str) -> None:
        if mode == "keyword":
            assert found == same, f"{found}, and not {same}"
        elif mode == "hybrid" or len(seen) < 50:
            assert same <= found <= seen, f"{found}, and not {same}"
