"""Effects of each scope on records of other agents: the table of docs/security.md, row by row, and the limits."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind
from cstp_server.tokens import create_token
from tests.kinds import entry
from tests.serving import Serving, start
from tests.stores import Stores

FORBIDDEN, CONFLICT = -32009, -32011
ALL = ("read", "write", "review", "ratify", "admin")
TABLE = Path(__file__).parents[2] / "docs/security.md"
FILE = "plough"  # the id of a decision in a file
# Permissions of an agent with a single scope, by the acts of `acts`.
ROWS: Mapping[str, set[str]] = {
    "read": {"read a decision", "search", "follow changes"},
    "write": {
        *("record", "remember", "store an episode", "store knowledge"),
        *("link its own to its own", "amend its own", "forget its own", "withdraw its own"),
    },
    "review": {
        *("review another's", "review a file's", "review its own"),
        *("link two of another's", "link to a file's", "end its own link"),
    },
    "ratify": {"accept another's", "reject another's", "reject what is ratified", "withdraw its own"},
    "admin": {
        *("forget its own", "forget another's", "end its own link", "end another's link", "import", "read the audit"),
    },
}
# Acts that need two scopes; any other pair permits the acts of each of the two.
PAIRS: Mapping[tuple[str, str], set[str]] = {
    ("write", "review"): {"link its own to another's", "supersede what is ratified by a proposal"},
    ("write", "ratify"): {"end its own that is ratified"},
    ("write", "admin"): {"amend another's"},
    ("review", "ratify"): {"supersede what is ratified by what is accepted", "supersede a file's by what is accepted"},
}


@dataclass(frozen=True)
class House:
    """A server with decisions of ada, who has all scopes: two linked, two accepted; and with FILE."""

    serving: Serving
    ada: str
    linked: list[str] = field(default_factory=list)
    ratified: list[str] = field(default_factory=list)

    def agent(self, name: str, *scopes: str) -> str:
        path = self.serving.settings.tokens_path
        everything = {"clearance": "highly_sensitive", "scopes": scopes}
        return create_token(path, name, lifetime=timedelta(hours=1), **everything)[1]  # type: ignore[arg-type]

    def send(self, method: str, token: str, **params: Any) -> dict[str, Any]:
        """Return the answer, which for a missing scope is a 403."""
        request = {"jsonrpc": "2.0", "id": 1, "method": f"cstp.{method}", "params": params}
        answer = self.serving.client.post(self.serving.url, json=request, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code in (200, 403)
        reply: dict[str, Any] = answer.json()
        return reply

    def record(self, title: str, token: str, **params: Any) -> str:
        return str(self.serving.ask("recordDecision", token, decision=title, confidence=0.5, **params)["id"])

    def accepted(self, title: str, token: str, **params: Any) -> str:
        id = self.record(title, token, **params)
        self.accept(id)
        return id

    def accept(self, id: str) -> None:
        self.serving.ask("setStatus", self.ada, id=id, status="accepted", reason="Agreed.")

    def link(self, source: str, target: str, token: str, edge: str = "supersedes", **params: Any) -> dict[str, Any]:
        return self.send("linkDecisions", token, sourceId=source, targetId=target, edgeType=edge, **params)

    def unlink(self, source: str, target: str, token: str, edge: str = "supersedes") -> dict[str, Any]:
        return self.send("unlinkDecisions", token, sourceId=source, targetId=target, edgeType=edge)

    def read(self, id: str, **params: Any) -> dict[str, Any]:
        decision: dict[str, Any] = self.serving.ask("getDecision", self.ada, id=id, **params)["decision"]
        return decision


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, lasting_stores: Stores) -> Iterator[House]:
    serving, stop = start(tmp_path_factory.mktemp("house"), lasting_stores, None, None)
    ada = create_token(serving.settings.tokens_path, "ada", lifetime=timedelta(hours=1), scopes=ALL)[1]
    made = House(serving, ada)
    made.linked.extend(made.record(title, ada) for title in ("Sow oats", "Sow wheat"))
    made.ratified.extend(made.accepted(title, ada) for title in ("Sow rye", "Sow spelt"))
    assert "result" in made.link(*made.linked, ada, "relates_to")
    serving.put([entry(Kind.DECISION, FILE, title="Plough in autumn", status="accepted")])
    yield made
    stop()


def acts(house: House, name: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return methods and parameters by act for an agent with this name; none writes."""
    me = house.agent(name, *ALL)
    own, other, second = house.record("Bake bread", me), house.record("Bake rye", me), house.record("Bake rolls", me)
    (hers, more), (ratified, newer) = house.linked, house.ratified
    mine = house.accepted("Bake buns", me)
    assert "result" in house.link(own, other, me, "relates_to")
    dry = {"dryRun": True}
    new = {"decision": "Bake cake", "confidence": 0.5, **dry}
    ends = {"edgeType": "relates_to", **dry}
    return {
        "read a decision": ("getDecision", {"id": hers}),
        "search": ("search", {"query": "oats"}),
        "follow changes": ("changes", {"since": "now"}),
        "record": ("recordDecision", new),
        "remember": ("remember", {"content": "It rained.", "source": "notes", **dry}),
        "store an episode": ("storeEpisode", {"query": "Mow", "reward": 0.5, "reflection": "Early.", **dry}),
        "store knowledge": ("storeKnowledge", {"records": [{"kind": "chunk", "content": "Rye is tall."}], **dry}),
        "link its own to its own": ("recordDecision", {**new, "supersedes": [own], "relatedTo": [{"id": mine}]}),
        "link its own to another's": ("recordDecision", {**new, "relatedTo": [{"id": hers}]}),
        "supersede what is ratified by a proposal": ("recordDecision", {**new, "supersedes": [ratified]}),
        "supersede what is ratified by what is accepted": (
            "linkDecisions",
            {"sourceId": newer, "targetId": ratified, "edgeType": "supersedes", **dry},
        ),
        "supersede a file's by what is accepted": (
            "linkDecisions",
            {"sourceId": newer, "targetId": FILE, "edgeType": "supersedes", **dry},
        ),
        "link to a file's": ("linkDecisions", {"sourceId": own, "targetId": FILE, **ends}),
        "link two of another's": ("linkDecisions", {"sourceId": more, "targetId": hers, **ends}),
        "end its own link": ("unlinkDecisions", {"sourceId": own, "targetId": other, **ends}),
        "end another's link": ("unlinkDecisions", {"sourceId": hers, "targetId": more, **ends}),
        "amend its own": ("updateDecision", {"id": second, "updates": {"context": "Guests come."}, **dry}),
        "amend another's": ("updateDecision", {"id": hers, "updates": {"context": "Guests come."}, **dry}),
        "end its own that is ratified": ("updateDecision", {"id": mine, "updates": {"validTo": "2020-01-01"}, **dry}),
        "withdraw its own": ("setStatus", {"id": second, "status": "draft", "reason": "Not yet.", **dry}),
        "accept another's": ("setStatus", {"id": hers, "status": "accepted", "reason": "Agreed.", **dry}),
        "reject another's": ("setStatus", {"id": hers, "status": "rejected", "reason": "No.", **dry}),
        "reject what is ratified": ("setStatus", {"id": ratified, "status": "rejected", "reason": "No.", **dry}),
        "review its own": ("reviewDecision", {"id": own, "outcome": "failure", **dry}),
        "review a file's": ("reviewDecision", {"id": FILE, "outcome": "failure", **dry}),
        "review another's": ("reviewDecision", {"id": hers, "outcome": "failure", **dry}),
        "forget its own": ("forget", {"id": second, "confirm": True, **dry}),
        "forget another's": ("forget", {"id": hers, "confirm": True, **dry}),
        "import": ("putRecords", {"lookUp": {"places": [{"repository": "", "path": "a.md"}]}}),
        "read the audit": ("audit", {}),
    }


def done(house: House, name: str, scopes: tuple[str, ...]) -> set[str]:
    """Return the acts permitted to an agent with these scopes; all others are forbidden."""
    tried = acts(house, name)
    token = house.agent(name, *scopes)
    replies = {act: house.send(method, token, **params) for act, (method, params) in tried.items()}
    refused = {act: reply for act, reply in replies.items() if "error" in reply}
    assert {reply["error"]["code"] for reply in refused.values()} <= {FORBIDDEN}, refused
    return replies.keys() - refused.keys()


def test_the_table_of_scopes_has_a_row_for_each_tested_scope() -> None:
    table = TABLE.read_text(encoding="utf-8").partition("| scope | at worst |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(ROWS)


@pytest.mark.parametrize("scope", ROWS)
def test_one_scope_alone_permits_exactly_its_row(house: House, scope: str) -> None:
    assert done(house, f"only-{scope}", (scope,)) == ROWS[scope]


@pytest.mark.parametrize("pair", [*combinations(ROWS, 2)])
def test_two_scopes_permit_the_acts_of_each_and_of_both(house: House, pair: tuple[str, str]) -> None:
    one, other = pair
    assert done(house, f"both-{one}-{other}", pair) == ROWS[one] | ROWS[other] | PAIRS.get(pair, set())


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("updateDecision", {"updates": {"context": "Guests come."}}),
        ("setStatus", {"status": "deprecated", "reason": "Old."}),
        ("forget", {"confirm": True}),
    ],
)
def test_records_of_files_stay_whatever_the_scopes(house: House, method: str, params: dict[str, Any]) -> None:
    before = house.read(FILE)
    assert house.send(method, house.ada, id=FILE, **params)["error"]["code"] == CONFLICT
    assert house.read(FILE) == before


def test_a_review_of_one_s_own_successor_takes_nothing_ratified_out_of_force(house: House) -> None:
    rex = house.agent("rex", "read", "write", "review")
    old = house.accepted("Fly kites", house.ada)
    successor = house.record("Fly gliders", rex, supersedes=[old])
    house.serving.ask("reviewDecision", rex, id=successor, outcome="success")
    assert house.read(old)["status"] == "accepted"
    house.accept(successor)
    assert house.read(old)["status"] == "superseded"


def test_a_decision_ratified_after_its_supersession_by_a_reviewed_decision_is_in_force_again(house: House) -> None:
    rae = house.agent("rae", "read", "write", "review")
    old = house.record("Dig a well", house.ada)
    successor = house.record("Buy water", rae, supersedes=[old])
    house.serving.ask("reviewDecision", rae, id=successor, outcome="success")
    assert house.read(old)["status"] == "superseded"
    house.serving.ask("setStatus", house.ada, id=successor, status="deprecated", reason="Too dear.")
    house.accept(old)
    assert house.read(old)["status"] == "accepted"


def test_only_its_author_or_an_administrator_ends_a_link_and_the_history_names_them(house: House) -> None:
    roy, kim = (house.agent(name, "read", "write", "review") for name in ("roy", "kim"))
    boss = house.agent("boss", "read", "admin")
    old = house.accepted("Row the boat", house.ada)
    successor = house.accepted("Sail the boat", roy, supersedes=[old])
    in_effect = house.read(old)
    assert in_effect["status"] == "superseded"
    assert house.unlink(successor, old, kim)["error"]["code"] == FORBIDDEN
    assert house.read(old) == in_effect
    assert "result" in house.unlink(successor, old, boss)
    for id in (old, successor):
        found = house.read(id)
        ((ended,), links) = found["endedLinks"], found["links"]
        assert (ended["createdBy"], ended["endedBy"], links) == ("roy", "boss", [])
        assert (ended["sourceId"], ended["targetId"], ended["edgeType"]) == (successor, old, "supersedes")
    assert house.read(old)["status"] == "accepted"
    then = house.read(old, knownAt=ended["createdAt"])
    assert (then["endedLinks"], [link["createdBy"] for link in then["links"]]) == ([], ["roy"])
    assert "endedLinks" not in house.read(old, includeHistory=False)


def test_a_link_replaces_one_s_own_and_never_another_agent_s(house: House) -> None:
    lea, lou = (house.agent(name, *ALL) for name in ("lea", "lou"))
    one, other = house.record("Cut hay", lea), house.record("Dry hay", lea)
    for weight in (0.25, 0.5):
        assert "result" in house.link(one, other, lea, "depends_on", weight=weight)
    refused = house.link(one, other, lou, "depends_on", weight=0.75)
    assert (refused["error"]["code"], refused["error"]["data"]["reason"]) == (CONFLICT, "state")
    found = house.read(one)
    assert [(link["createdBy"], link["weight"]) for link in found["links"]] == [("lea", 0.5)]
    assert [(link["weight"], link["endedBy"]) for link in found["endedLinks"]] == [(0.25, "lea")]


@pytest.mark.parametrize("members", [{"supersedes": []}, {"relatedTo": []}])
def test_an_update_makes_no_links(house: House, members: dict[str, Any]) -> None:
    id = house.record("Paint the barn", house.ada)
    assert house.serving.refused("updateDecision", id=id, updates=members) == [f"updates.{next(iter(members))}"]


def test_ended_links_of_hidden_records_are_not_shown(house: House) -> None:
    eve = house.agent("eve", *ALL)
    shown, hidden = house.record("Mow", eve), house.record("Reap", eve, sensitivity="sensitive")
    assert "result" in house.link(shown, hidden, eve, "relates_to")
    assert "result" in house.unlink(shown, hidden, eve, "relates_to")
    assert house.read(shown)["endedLinks"] == []
    whole = house.serving.ask("getDecision", eve, id=shown)["decision"]
    assert [link["endedBy"] for link in whole["endedLinks"]] == ["eve"]
