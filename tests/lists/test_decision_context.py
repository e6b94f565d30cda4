"""Decisions governing files: their patterns, their order, the budget, and a token's view."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from cognition_engines.kinds.spec import Kind, Origin
from cognition_engines.models import Sensitivity
from cognition_engines.store.values import Entry
from cstp.values.decisions import AffectedPart
from tests.kinds import entry
from tests.serving import Serving

Serve = Callable[..., Serving]
NEW = datetime(2026, 2, 1, tzinfo=UTC)


def decision(id: str, *patterns: str, type: Any = "path", **members: Any) -> Entry:
    affects = tuple(AffectedPart(type, one) for one in patterns)
    return entry(Kind.DECISION, id, affects=affects, **{"status": "accepted", "title": f"About {id}"} | members)


def governing(serving: Serving, *files: str, **params: Any) -> dict[str, Any]:
    result: dict[str, Any] = serving.ask("getDecisionContext", files=list(files), **params)
    assert result["tokens"] <= params.get("maxTokens", 4000)
    return result


def ids(found: list[dict[str, Any]]) -> list[str]:
    return [one["id"] for one in found]


@pytest.mark.parametrize(
    ("patterns", "chosen", "others"),
    [
        (["src/api/**"], ["src/api/a.py", "src/api/b/c.py"], ["src/api", "lib/src/api/a.py"]),
        (["src/api/"], ["src/api/a.py", "src/api/b/c.py"], ["src/apis/a.py", "lib/src/api/a.py"]),
        (["api/"], ["api/a.py", "src/api/b/c.py"], ["apis/a.py", "src/api"]),
        (["*.py"], ["a.py", "deep/er/b.py"], ["a.pyc"]),
        (["/setup.py"], ["setup.py"], ["lib/setup.py"]),
        (["**/migrations/*.sql"], ["migrations/1.sql", "a/b/migrations/1.sql"], ["migrations/old/1.sql"]),
        (["*.py", "!gen_*.py"], ["a.py"], ["gen_a.py", "x/gen_a.py"]),
        (["!a.py", "a.py"], ["a.py"], []),
        ([r"\!odd", "a[0-9].md"], ["!odd", "a7.md"], ["odd", "ab.md"]),
    ],
)
def test_a_pattern_governs_the_files_git_would_choose(
    serve: Serve, patterns: list[str], chosen: list[str], others: list[str]
) -> None:
    serving = serve()
    serving.put([decision("one", *patterns), decision("none")])
    for file in chosen:
        assert ids(governing(serving, file)["governing"]) == ["one"], file
    for file in others:
        assert ids(governing(serving, file)["governing"]) == [], file


def test_the_most_specific_pattern_comes_first_then_the_newest(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            decision("wide", "*"),
            decision("named", "src/api/routes/users.py"),
            decision("old", "src/api/**"),
            decision("new", "lib/**", "src/api/**", date=NEW),
            decision("except", "src/**", "lib/very/deep/er/**", "!src/b"),
        ]
    )
    found = governing(serving, "src/api/routes/users.py")["governing"]
    assert ids(found) == ["named", "new", "old", "except", "wide"]
    assert [one["matched"] for one in found] == [
        ["src/api/routes/users.py"],
        ["src/api/**"],
        ["src/api/**"],
        ["src/**"],
        ["*"],
    ]


def test_open_and_past_decisions_govern_nothing(serve: Serve) -> None:
    serving = serve()
    states: dict[str, dict[str, Any]] = {
        "stated": {"status": None},
        "reviewed": {"status": "reviewed"},
        **{name: {"status": name} for name in ("draft", "proposed", "pending", "rejected", "deprecated")},
        "expired": {"valid_to": NEW},
        "replaced": {"superseded_by": ("stated",)},
    }
    serving.put([decision(id, "src/**", **members) for id, members in states.items()])
    found = governing(serving, "src/a.py")
    assert set(ids(found["governing"])) == {"stated", "reviewed"}
    assert set(ids(found["proposals"])) == {"draft", "proposed", "pending"}
    assert set(ids(found["history"])) == {"rejected", "deprecated", "expired", "replaced"}
    (replaced,) = (one for one in found["history"] if one["id"] == "replaced")
    assert (replaced["status"], replaced["supersededBy"]) == ("superseded", ["stated"])


def test_a_repository_a_project_and_names_choose(serve: Serve) -> None:
    serving = serve()
    shop = Origin("/shop/1.md", 0, None, "d", repository="github.com/acme/shop", path="1.md")
    serving.put(
        [
            replace(decision("shop", "src/**", project="p"), origin=shop),
            decision("agent", "src/**", project="p"),
            decision("other", "src/**", project="q"),
            decision("orders", "orders", type="data"),
        ]
    )
    assert set(ids(governing(serving, "src/a.py")["governing"])) == {"shop", "agent", "other"}
    assert set(ids(governing(serving, "src/a.py", project="p")["governing"])) == {"shop", "agent"}
    assert set(ids(governing(serving, "src/a.py", repository="elsewhere", project="p")["governing"])) == {"agent"}
    found = governing(serving, "none.md", "src/a.py", packages=["orders"], project="q", include=["files"])
    assert [(one["id"], one["files"]) for one in found["governing"]] == [("other", ["src/a.py"])]
    assert ids(governing(serving, "none.md", packages=["orders"])["governing"]) == ["orders"]


@pytest.mark.long("stores 700 decisions")
def test_the_budget_leaves_out_whole_decisions_and_counts_them(serve: Serve) -> None:
    serving = serve()
    serving.put([decision(f"d-{number}", "src/**", text="Long. " * 200) for number in range(700)])
    whole = governing(serving, "src/a.py", maxTokens=32_000)
    assert len(whole["governing"]) + whole["omitted"] == 700
    small = governing(serving, "src/a.py", maxTokens=256, include=["snippet"])
    assert small["governing"]
    assert len(small["governing"]) + small["omitted"] == 700


def test_a_hidden_decision_leaves_no_trace(serve: Serve) -> None:
    serving = serve()
    seen = decision("seen", "src/**", project="p")
    hidden = [
        decision("guarded", "src/**", project="p", sensitivity=Sensitivity.SENSITIVE),
        decision("elsewhere", "src/a.py", project="q"),
    ]
    serving.put([seen])
    token = serving.token(projects=("p",))
    before = serving.ask("getDecisionContext", token, files=["src/a.py"])
    serving.put(hidden)
    assert serving.ask("getDecisionContext", token, files=["src/a.py"]) == before
    assert len(governing(serving, "src/a.py")["governing"]) == 3


BAD_PATTERNS = (
    *("a**b**c", "src/[a", "../up", "./a", "!../a", "a/./b", "#note", "/", "x\\", "!", "a//b", "src\\api"),
    *("[z-a]", "[]", "src/[!z-a]*", "a[b9-0]c", "x[/]y", "\\.", "a/\\../b", "[.]/a", "[.-.][.]"),
)


@pytest.mark.parametrize("pattern", BAD_PATTERNS)
def test_a_bad_pattern_is_refused_by_its_place(serve: Serve, pattern: str) -> None:
    serving = serve()
    affects = [{"type": "package", "pattern": pattern}, {"type": "path", "pattern": pattern}]
    refused = serving.send("recordDecision", decision="Bake", confidence=0.5, affects=affects)["error"]["data"]
    assert [one["field"] for one in refused["violations"]] == ["affects[1].pattern"]
    id = serving.ask("recordDecision", decision="Bake", confidence=0.5, affects=affects[:1])["id"]
    refused = serving.send("updateDecision", id=id, updates={"affects": affects})["error"]["data"]
    assert [one["field"] for one in refused["violations"]] == ["updates.affects[1].pattern"]
    assert serving.ask("getDecision", id=id)["decision"]["affects"] == affects[:1]


def test_the_filter_paths_holds_in_every_list_and_search(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            decision("api", "src/api/**", text="Routes"),
            decision("docs", "docs/**", text="Routes", status="rejected"),
            decision("none", text="Routes"),
            entry(Kind.ARTIFACT, "note", content="Routes"),
        ]
    )
    serving.caught_up()
    for paths, expected in (
        (["src/api/a.py"], {"api"}),
        (["docs/a.md", "src/api/a.py"], {"api", "docs"}),
        (["x"], set()),
    ):
        listed = serving.ask("listDecisions", paths=paths)
        assert ({one["id"] for one in listed["decisions"]}, listed["total"]) == (expected, len(expected))
        queried = serving.ask("queryDecisions", query="Routes", filters={"paths": paths})["decisions"]
        assert {one["id"] for one in queried} == expected
        searched = serving.ask("search", query="Routes", paths=paths)["results"]
        assert {one["id"] for one in searched} == expected
        assert serving.ask("search", query="Routes", paths=paths, kinds=["artifact"])["results"] == []


@pytest.mark.parametrize("path", ["/a", "a/../b", "./a", "a//b", "a/", "x" * 1025])
def test_a_path_outside_the_repository_is_refused(serve: Serve, path: str) -> None:
    serving = serve()
    for method, params, field in (
        ("listDecisions", {"paths": [path]}, "paths[0]"),
        ("queryDecisions", {"query": "a", "filters": {"paths": ["a", path]}}, "filters.paths[1]"),
        ("search", {"query": "a", "paths": [path]}, "paths[0]"),
        ("getDecisionContext", {"files": [path]}, "files[0]"),
    ):
        refused = serving.send(method, None, **params)["error"]["data"]["violations"]
        assert [one["field"] for one in refused] == [field]


def test_a_path_in_a_text_is_a_mention_and_governs_nothing(serve: Serve) -> None:
    serving = serve()
    serving.put(
        [
            decision("whole", text="Kept in src/api/routes.py."),
            decision("end", text="See `api/routes.py`, and https://example.org/src/api/users.py"),
            decision("both", "src/**", text="Kept in src/api/routes.py."),
            decision("other", text="Kept in src/api/routes.python and lib/src/api/routes.py, not in routes.py"),
            decision("root", title="Set it in `setup.cfg`"),
            decision("hidden", text="Kept in src/api/routes.py.", sensitivity=Sensitivity.SENSITIVE),
        ]
    )
    found = serving.ask("getDecisionContext", serving.token(), files=["src/api/routes.py", "src/api/users.py"])
    assert ids(found["governing"]) == ["both"]
    assert {one["id"]: one["matched"] for one in found["mentions"]} == {
        "whole": ["src/api/routes.py"],
        "end": ["api/routes.py"],
    }
    assert ids(governing(serving, "setup.cfg")["mentions"]) == ["root"]
