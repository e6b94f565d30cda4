"""Rules for reading decisions: by id, as lists, by searches."""

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.chaos.machine.base import AGENTS, UNKNOWN, Base, pick, server, who
from tests.chaos.machine.model import NOT_FOUND, STATUSES, Known

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


class Reading(Base):
    """Rules of cstp.getDecision, cstp.listDecisions and cstp.queryDecisions, on each server."""

    @rule(door=server, name=who, number=pick)
    def get(self, door: int, name: str, number: int) -> None:
        self.look(door, AGENTS[name], self.target(number))

    @rule(door=server, name=who, number=pick)
    def get_as_it_was_before(self, door: int, name: str, number: int) -> None:
        params = {"id": self.target(number), "knownAt": "2026-01-01T00:00:00Z"}
        self.ask(door, AGENTS[name], "getDecision", params, NOT_FOUND)

    @precondition(lambda self: any(one.known for one in self.model.decisions.values()))
    @rule(door=server, name=who, number=pick, then=pick)
    def get_as_it_was_known(self, door: int, name: str, number: int, then: int) -> None:
        written = [one for one in self.model.decisions.values() if one.known]
        one = written[number % len(written)]
        since, shown, alone = one.known[then % len(one.known)]
        params = {"id": one.id, "knownAt": since.isoformat()}
        seen = self.model.sees(AGENTS[name], one)
        found = self.ask(door, AGENTS[name], "getDecision", params, 0 if seen else NOT_FOUND)
        if seen:
            whole = found["decision"]
            whole |= {"revision": whole["provenance"]["revision"], "reviews": len(whole["reviews"])}
            if shown["status"] == "superseded" != whole["status"]:  # its successor is gone, with the links
                shown = {**shown, "status": alone}
            assert {member: whole[member] for member in shown} == shown, f"{since}: {whole}, and not {shown}"

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
        plain = f"Choose {word}\n"
        filters = {**filters, **({"status": [filters["status"]]} if "status" in filters else {})}
        self.doors.follow(door)
        params = {"query": plain if mode != "keyword" else word, "mode": mode, "limit": 50}
        found = self.ask(door, agent, "queryDecisions", {**params, "filters": filters})["decisions"]
        meeting = [one for one in self.model.seen(agent) if self.meets(one, filters)]
        same = {one.id for one in meeting if one.word == word}
        if mode == "keyword":
            assert {each["id"] for each in found} == same, f"{word} {filters}: {found}, and not {same}"
        else:
            assert same <= {each["id"] for each in found} <= {one.id for one in meeting} or len(found) == 50
            near = {each["id"] for each in found if each["distance"] is not None and each["distance"] < 1e-4}
            same = {one.id for one in meeting if one.word == word and "context" not in one.stated}
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
            "status": lambda: model.status(one) in ([statuses] if isinstance(statuses, str) else statuses),
        }
        return all(holds[name]() for name in filters)
