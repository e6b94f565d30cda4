"""Rules of memories, episodes and knowledge written by agents."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from tests.chaos.machine.base import AGENTS, key, pick, rights, server, who, writer
from tests.chaos.machine.memories import Memory
from tests.chaos.machine.model import EXPIRED, FORBIDDEN, FUTURE, INVALID, LEVELS, NOT_FOUND
from tests.chaos.machine.placing import RADIO, Placing, places

dry = st.sampled_from([False, False, False, True])


class Remembering(Placing):
    """Rules of cstp.remember: new and existing turns and artifacts, with events, and expiring records."""

    @initialize(door=server)
    def remember_first(self, door: int) -> None:
        """Remember something at the start of each run under any rules."""
        plain: dict[str, Any] = {"same": False, "long": False, "expires": None, "number": None, "dry": False}
        self.remember(door, "cy", place=(RADIO, 0), rights={"project": "beta"}, events=None, **plain)
        self.remember(door, "ann", place=(RADIO, 1), rights={"project": "beta"}, events=1, **plain)

    @rule(
        door=server,
        name=st.one_of(who, writer),
        place=places,
        rights=rights,
        same=st.booleans(),
        long=st.sampled_from([False, False, False, False, True]),
        events=st.sampled_from([None, None, 0, 1, 2]),
        expires=st.sampled_from([None, None, None, FUTURE, EXPIRED]),
        number=key,
        dry=dry,
    )
    def remember(
        self,
        door: int,
        name: str,
        place: tuple[str, int | str | None] | None,
        rights: dict[str, Any],
        same: bool,
        long: bool,
        events: int | None,
        expires: str | None,
        number: int | None,
        dry: bool,
    ) -> None:
        agent = AGENTS[name]
        params, known = self.asked(agent, place, rights, same, long, events)
        params |= {"expiresAt": expires} if expires else {}
        project, level, code = self.placed(agent, rights)
        word = params["content"].split()[1]
        long = len(params["content"]) > 100
        code = INVALID if expires == EXPIRED else code
        status = "created" if known is None else "changed"
        if not code and known is not None:
            said = [each.word for each in self.children(known, "event")]
            equal = (known.word, known.long, known.own_level, known.expires) == (word, long, level, expires)
            # in the order named by each event
            if equal and (events is None or said == [word] * events):
                status = "unchanged"
            elif known.owner != name and "admin" not in agent.scopes:
                code = FORBIDDEN
        done = self.write(door, agent, "remember", params | ({"dryRun": True} if dry else {}), number, code)
        if done is None:
            return
        assert done["status"] == status
        kind = "turn" if place and place[0] == RADIO else "artifact"
        if known is None:
            named = place if place and place[1] is not None else None
            known = Memory(kind, done["id"], word, project, level, name, place=named, expires=expires, revisions=1)
            self.add(known)
        assert done["id"] == known.id
        if status != "unchanged":
            self.remembered(known, done, word, level, expires, events, long, name)
        shown = [each.id for each in self.children(known, "event")]
        assert [each["id"] for each in done["events"]] == shown
        assert done["isChunked"] == (done["numChunks"] > 0) == (long and kind == "artifact")
        self.recall(door + 1, AGENTS["boss"], known)


class Learning(Placing):
    """Rules of cstp.storeEpisode and cstp.storeKnowledge."""

    @initialize(door=server)
    def learn_first(self, door: int) -> None:
        self.store_episode(door, "boss", rights={"project": "alpha"}, number=None, dry=False)
        self.store_knowledge(door, "ben", ("source", "s0"), rights={}, same=False, cited=[0], number=None, dry=False)

    @rule(door=server, name=st.one_of(who, writer), rights=rights, number=key, dry=dry)
    def store_episode(self, door: int, name: str, rights: dict[str, Any], number: int | None, dry: bool) -> None:
        agent, word = AGENTS[name], self.new_word()
        project, level, code = self.placed(agent, rights)
        params: dict[str, Any] = {"query": f"Try {word}", "reward": 0, "reflection": f"Learn {word}", **rights}
        done = self.write(door, agent, "storeEpisode", params | ({"dryRun": True} if dry else {}), number, code)
        if done is None:
            return
        assert (done["created"], done["query"], done["reward"]) == (True, params["query"], 0)
        one = Memory("episode", str(done["id"]), word, project, level, name, revisions=1)
        self.add(one)
        found = self.ask(door + 1, AGENTS["boss"], "getEpisode", {"id": done["id"]})
        assert (found["reflection"], found["project"], found["sensitivity"]) == (
            params["reflection"],
            project,
            LEVELS[level],
        )

    @rule(
        door=server,
        name=st.one_of(who, writer),
        place=st.sampled_from([("source", "s0"), ("source", "s1"), ("chunk", "k0"), ("chunk", "k1")]),
        rights=rights,
        same=st.booleans(),
        cited=st.one_of(st.none(), st.lists(pick, min_size=1, max_size=2)),
        number=key,
        dry=dry,
    )
    def store_knowledge(
        self,
        door: int,
        name: str,
        place: tuple[str, str],
        rights: dict[str, Any],
        same: bool,
        cited: list[int] | None,
        number: int | None,
        dry: bool,
    ) -> None:
        agent, kind = AGENTS[name], place[0]
        project, level, code = self.placed(agent, rights)
        known = self.meant(agent, kind, place, project)
        word = known.word if known is not None and same else self.new_word()
        members = {"content": f"Read {word}"} | ({"title": "Tides"} if kind == "source" else {})
        records: list[dict[str, Any]] = [{"kind": kind, "id": place[1], **members}]
        status = "created" if known is None else "changed"
        if not code and known is not None:
            if (known.word, known.own_level) == (word, level):
                status = "unchanged"
            elif known.owner != name and "admin" not in agent.scopes:
                code = FORBIDDEN
        passages, lesson = [one for one in self.model.memories.values() if one.kind == "chunk"], self.new_word()
        ids = list(dict.fromkeys(passages[each % len(passages)].id for each in cited or () if passages))
        if ids:
            warning = {"title": f"Mind {lesson}", "description": "Often."}
            records.append({"kind": "extraction", "type": "warning", "chunkIds": ids, "content": warning})
            if not code and any(self.model.find_any(agent, id) is None for id in ids):
                code = NOT_FOUND
        # former parts of a source's text are removed before citations are resolved
        lost = [] if known is None or known.word == word else [each.id for each in self.children(known, "chunk")]
        code = NOT_FOUND if not code and set(ids) & set(lost) else code
        params = {"records": records, **rights} | ({"dryRun": True} if dry else {})
        done = self.write(door, agent, "storeKnowledge", params, number, code)
        if done is None:
            return
        head, *others = done["records"]
        assert (head["kind"], head["status"]) == (kind, status)
        if known is None:
            known = Memory(kind, head["id"], word, project, level, name, place=place, revisions=1)
            self.add(known)
        elif status == "changed":
            self.say(known, word, level)
        assert head["id"] == known.id
        if kind == "source" and status != "unchanged":
            self.cut(known, "chunk", head["numChunks"])
        for reported in others:
            cites = tuple(ids)
            self.add(Memory("extraction", reported["id"], lesson, project, level, name, cites=cites, revisions=1))
