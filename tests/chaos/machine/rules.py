"""The rules of the state machine, by family. A new family of writes is a class in RULES."""

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from cognition_engines.ingest.options import Options
from tests.chaos.machine.base import AGENTS, UNKNOWN, Base, key, pick, server, who, writer
from tests.chaos.machine.model import (
    ACYCLIC,
    CONFLICT,
    EXPIRED,
    FORBIDDEN,
    FUTURE,
    INVALID,
    LEVELS,
    NOT_FOUND,
    OWN_STATUSES,
    PAST,
    Known,
    Link,
)

STATUSES = (*OWN_STATUSES, "accepted", "accepted", "rejected", "deprecated", "superseded")
EDGES = ("supersedes", "supersedes", "depends_on", "depends_on", "relates_to")
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
rights = st.fixed_dictionaries(
    {}, optional={"project": st.sampled_from(["alpha", "beta"]), "sensitivity": st.sampled_from(LEVELS)}
)

filters = st.lists(
    st.sampled_from(
        [
            ("current", True),
            ("current", True),
            ("agent", "ann"),
            ("agent", "ben"),
            ("category", "storage"),
            ("tags", ["a"]),
            ("project", "alpha"),
            ("project", "beta"),
            ("hasOutcome", True),
            ("hasOutcome", False),
            *(("status", status) for status in (*STATUSES, "reviewed")),
        ]
    ),
    max_size=2,
).map(dict)


def in_order(stated: dict[str, Any]) -> bool:
    return not (stated.get("validFrom") == FUTURE and stated.get("validTo") == EXPIRED)


class Recording(Base):
    """cstp.recordDecision: of a new text or one that there is, with links from the start."""

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
        project, level = rights.get("project"), LEVELS.index(rights.get("sensitivity", "normal"))
        code = 0
        if agent.projects is not None:
            if project is None and len(agent.projects) == 1:
                project = agent.projects[0]
            code = 0 if project in agent.projects else INVALID
        if level > LEVELS.index(agent.clearance) or not in_order(stated):
            code = INVALID
        if not code and any(model.find(agent, id) is None for _, id in linked):
            code = NOT_FOUND
        twins = {one.id for one in model.seen(agent) if one.word == word and one.owner is not None}
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
        """Whether some see the old decision and not the new one."""
        return new.project != old.project or new.level > old.level

    @rule(door=server, number=pick)
    def send_again(self, door: int, number: int) -> None:
        if self.model.answered:
            names = list(self.model.answered)
            agent, method, _ = name = names[number % len(names)]
            self.repeat(door, AGENTS[agent], method, self.model.answered[name][0])


class Amending(Base):
    """cstp.updateDecision and cstp.setStatus."""

    @rule(
        door=server,
        name=st.one_of(who, writer),
        number=pick,
        stated=members,
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
        confidence: float | None,
        expected: int | None,
        again: int | None,
    ) -> None:
        agent, id = AGENTS[name], self.target(number)
        updates = {**stated, **({} if confidence is None else {"confidence": confidence})}
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
        done = self.write(door, agent, "updateDecision", params, again, code)
        if done is None or one is None:
            return
        one.stated |= updates
        if changed:
            one.revision += 1
            one.history.append((name, changed))
        assert (done["updatedFields"], done["revision"]) == ([camel(each) for each in changed], one.revision)
        self.look(door + 1, AGENTS["boss"], id)

    @staticmethod
    def change(one: Known, updates: dict[str, Any]) -> tuple[int, list[str]]:
        """What becomes of an update that its author may make, and the names of what differs then."""
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
            one.status = status
            one.revision += 1
            one.history.append((name, ["status"]))
            one.ratified_by = name if status not in OWN_STATUSES else None
        assert (done["status"], done["previous"], done["ratifiedBy"]) == (status, before, one.ratified_by)
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], id)


class Reviewing(Base):
    """cstp.reviewDecision."""

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
    """cstp.linkDecisions and cstp.unlinkDecisions."""

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
        code = 0
        if self.model.find(agent, one) is None or self.model.find(agent, other) is None:
            code = NOT_FOUND
        elif one == other:
            code = INVALID
        elif type in ACYCLIC and self.model.reaches(agent, other, one, type):
            code = CONFLICT
        params: dict[str, Any] = {"sourceId": one, "targetId": other, "edgeType": type}
        params |= {} if weight is None else {"weight": weight}
        done = self.write(door, agent, "linkDecisions", params, again, code)
        if done is None:
            return
        self.model.links[one, type, other] = Link(name, weight)
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], other)

    @rule(door=server, name=who, number=pick, again=key)
    def unlink(self, door: int, name: str, number: int, again: int | None) -> None:
        names = [*self.model.links, (self.target(number), "relates_to", UNKNOWN)]
        agent, (one, type, other) = AGENTS[name], names[number % len(names)]
        code = 0 if (one, type, other) in self.model.links else CONFLICT
        if self.model.find(agent, one) is None or self.model.find(agent, other) is None:
            code = NOT_FOUND
        params = {"sourceId": one, "targetId": other, "edgeType": type}
        done = self.write(door, agent, "unlinkDecisions", params, again, code)
        if done is None:
            return
        del self.model.links[one, type, other]
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], other)


class Ingesting(Base):
    """Files that are read, read again with another content, and removed."""

    @rule(door=server, number=st.integers(0, 4), rights=rights, same=st.booleans(), accepted=st.booleans())
    def ingest(self, door: int, number: int, rights: dict[str, Any], same: bool, accepted: bool) -> None:
        file = self.file(number)
        known = next((one for one in self.model.decisions.values() if one.file == file.stem), None)
        word = known.word if known is not None and same else self.new_word()
        status = "accepted" if accepted else "proposed"
        content = {
            "id": file.stem,
            "title": f"Choose {word}",
            "status": status,
            "date": "2024-03-01",
        } | rights
        file.write_text(json.dumps(content) + "\n")
        summary = self.doors.ingest(door, [file], Options())
        self.calls[0] += 1
        assert not summary.rejected, summary
        level = LEVELS.index(rights.get("sensitivity", "normal"))
        if known is None:
            (id,) = set(self.doors.ids()) - set(self.model.decisions)
            rest = (rights.get("project"), level, None, "2024-03-01T00:00:00Z", status)
            known = Known(id, word, {"confidence": None}, *rest, file=file.stem)
            self.model.decisions[id] = known
            assert summary.new == 1
        else:
            before = (known.word, known.project, known.level, known.status)
            after = (word, rights.get("project"), level, status)
            known.revision += before != after
            assert summary.changed == (before != after)
            known.word, known.project, known.level, known.status = after
        self.model.settle()
        self.look(door + 1, AGENTS["boss"], known.id)

    @rule(door=server, number=st.integers(0, 4))
    def prune(self, door: int, number: int) -> None:
        file = self.file(number)
        known = next((one for one in self.model.decisions.values() if one.file == file.stem), None)
        file.unlink(missing_ok=True)
        if file.parent.exists():
            self.doors.ingest(door, [file.parent], Options(prune=True))
            self.calls[0] += 1
        if known is not None:
            self.model.remove(known)
            self.look(door, AGENTS["boss"], known.id)

    def file(self, number: int) -> Path:
        folder = self.doors.folder / "docs"
        folder.mkdir(exist_ok=True)
        return folder / f"file-{number}.jsonl"


class Reading(Base):
    """cstp.getDecision, cstp.listDecisions and cstp.queryDecisions, of each server."""

    @rule(door=server, name=who, number=pick)
    def get(self, door: int, name: str, number: int) -> None:
        self.look(door, AGENTS[name], self.target(number))

    @rule(door=server, name=who, number=pick)
    def get_as_it_was_before(self, door: int, name: str, number: int) -> None:
        params = {"id": self.target(number), "knownAt": "2026-01-01T00:00:00Z"}
        self.ask(door, AGENTS[name], "getDecision", params, NOT_FOUND)

    @rule(door=server, name=who, filters=filters, limit=st.sampled_from([1, 5, 500]), offset=st.integers(0, 3))
    def listing(self, door: int, name: str, filters: dict[str, Any], limit: int, offset: int) -> None:
        agent = AGENTS[name]
        found = self.model.newest_first(one for one in self.model.seen(agent) if self.meets(one, filters))
        page = self.ask(door, agent, "listDecisions", {**filters, "limit": limit, "offset": offset})
        assert [each["id"] for each in page["decisions"]] == found[offset : offset + limit], f"{page}, and not {found}"
        assert page["total"] == len(found), f"{page['total']}, and not {found}"
        for each in page["decisions"]:
            one = self.model.decisions[each["id"]]
            assert (each["status"], each["outcome"], each["revision"]) == (
                self.model.status(one),
                one.last_outcome,
                one.revision,
            )

    @rule(
        door=server,
        name=who,
        number=pick,
        filters=filters,
        mode=st.sampled_from(["keyword", "keyword", "semantic", "hybrid"]),
    )
    def search(self, door: int, name: str, number: int, filters: dict[str, Any], mode: str) -> None:
        agent, id = AGENTS[name], self.target(number)
        if id == UNKNOWN:
            return
        word = self.model.decisions[id].word
        filters = {**filters, **({"status": [filters["status"]]} if "status" in filters else {})}
        self.doors.follow(door)
        params = {"query": f"Choose {word}\n" if mode != "keyword" else word, "mode": mode, "limit": 50}
        found = self.ask(door, agent, "queryDecisions", {**params, "filters": filters})["decisions"]
        meeting = [one for one in self.model.seen(agent) if self.meets(one, filters)]
        same = {one.id for one in meeting if one.word == word}
        if mode == "keyword":
            assert {each["id"] for each in found} == same, f"{word} {filters}: {found}, and not {same}"
        else:
            assert same <= {each["id"] for each in found} <= {one.id for one in meeting} or len(found) == 50
            near = {each["id"] for each in found if each["distance"] is not None and each["distance"] < 1e-4}
            assert near == same, f"{word} {filters}: {found}, and not {same}"
        for each in found:
            one = self.model.decisions[each["id"]]
            shown = (self.model.status(one), one.last_outcome)
            assert (each["status"], each["outcome"]) == shown, f"{each}, and not {shown}"

    def meets(self, one: Known, filters: dict[str, Any]) -> bool:
        stated, model = one.stated, self.model
        statuses = filters.get("status") or ()
        holds = {
            "current": lambda: model.in_force(one),
            "agent": lambda: one.owner == filters["agent"],
            "category": lambda: stated.get("category") == filters["category"],
            "tags": lambda: set(filters["tags"]) <= set(stated.get("tags", ())),
            "project": lambda: one.project == filters["project"],
            "hasOutcome": lambda: (one.last_outcome is not None) is filters["hasOutcome"],
            # the one that is shown, or the original one
            "status": lambda: (
                {model.status(one), one.status} & {*([statuses] if isinstance(statuses, str) else statuses)}
            ),
        }
        return all(holds[name]() for name in filters)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.title() for each in rest)


def snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


# Families of writes; what is written in other ways joins here.
RULES: tuple[type[Base], ...] = (Recording, Amending, Reviewing, Linking, Ingesting, Reading)
