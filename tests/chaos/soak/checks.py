"""Checks after a soak: acknowledged records exist and are found, forgotten ones are gone, nothing fails."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cognition_engines.kinds.registry import embedding_text
from cognition_engines.store.records import open_records
from tests.chaos.process import Served
from tests.chaos.soak.callers import WatchedNotes
from tests.chaos.soak.readers import MODES, Follower
from tests.chaos.soak.written import FORMS, Item
from tests.stored import Upsert, changes_of

NOT_FOUND = -32007
BATCH = 50


def batched(server: Served, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Any]:
    """Yield the reply to each call, in order."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    for start in range(0, len(calls), BATCH):
        part = calls[start : start + BATCH]
        body = [
            {"jsonrpc": "2.0", "id": number, "method": f"cstp.{method}", "params": params}
            for number, (method, params) in enumerate(part)
        ]
        _, answer = server.request("POST", "/cstp", json.dumps(body).encode(), headers, 60)
        replies = {reply["id"]: reply for reply in json.loads(answer)}
        yield from (replies[number] for number in range(len(part)))


def check_by_id(server: Served, items: Sequence[Item]) -> None:
    """Check that each record exists in the newest version, and no forgotten record."""
    calls = [("fetch", {"id": item.id, "kind": item.kind}) for item in items]
    for item, reply in zip(items, batched(server, calls), strict=True):
        if item.gone:
            assert reply.get("error", {}).get("code") == NOT_FOUND, f"{item} is forgotten: {reply}"
        else:
            shown = json.dumps(reply)
            assert item.word in shown, f"{item} is lost: {reply}"
            assert not any(f"{word} " in shown for word in item.former), f"{item} is old: {reply}"
    decisions = [item for item in items if item.kind == "decision" and not item.gone]
    calls = [("getDecision", {"id": item.id}) for item in decisions]
    for item, reply in zip(decisions, batched(server, calls), strict=True):
        shown = reply["result"]["decision"]
        assert len(shown["reviews"]) == item.reviews, f"{item} lost a review: {shown}"
        links = {link["targetId"] for link in shown["links"] if link["sourceId"] == item.id}
        assert links == item.links, f"{item} lost a link: {shown}"


def check_lists(server: Served, items: Sequence[Item], others: Iterable[str]) -> None:
    """Check that lists have exactly the existing records; `others` are further decisions."""
    lists = {
        ("decision",): ("listDecisions", "decisions", "total"),
        ("episode",): ("listEpisodes", "episodes", "totalCount"),
        ("artifact", "turn"): ("listMemories", "memories", "total"),
        ("extraction",): ("getWarnings", "results", ""),
    }
    for kinds, (method, name, total) in lists.items():
        there = {str(item.id) for item in items if item.kind in kinds and not item.gone}
        there |= set(others) if kinds == ("decision",) else set()
        listed = list(pages(server, method, name, total))
        assert len(listed) == len(set(listed)), f"{method} has a record twice"
        assert set(listed) == there, f"{method}: {set(listed) ^ there}"


def pages(server: Served, method: str, name: str, total: str) -> Iterator[str]:
    """Yield ids of all pages."""
    offset, size = 0, 1
    while offset < size:
        result = server.call(f"cstp.{method}", {"limit": 100, "offset": offset})["result"]
        yield from (str(one["id"]) for one in result[name])
        offset += 100
        size = result[total] if total else result["metadata"]["totalCount"]


def check_words(server: Served, items: Sequence[Item]) -> None:
    """Check that words find only the newest version of each record, and no forgotten record."""
    wanted: list[tuple[str, Item | None]] = []
    for item in items:
        wanted += [(word, None) for word in (item.words if item.gone else item.former)]
        wanted += [] if item.gone else [(item.word, item)]
    calls = [("search", {"query": word, "mode": "keyword", "limit": 5}) for word, _ in wanted]
    for (word, item), reply in zip(wanted, batched(server, calls), strict=True):
        found = reply["result"]["results"]
        if item is None:
            assert found == [], f"{word} is of no record: {found}"
        else:
            key = "sourceId" if item.kind == "source" else "id"
            ids = {(one["type"], str(one[key])) for one in found}
            assert (FORMS[item.kind].found_as, str(item.id)) in ids, f"words do not find {item}: {found}"


def finds_notes(server: Served, notes: WatchedNotes) -> bool:
    """Return whether words find existing notes, and no former versions."""
    words = [*notes.words.values(), *notes.former]
    calls = [("search", {"query": word, "mode": "keyword", "limit": 5}) for word in words]
    replies = batched(server, calls)
    return [bool(reply["result"]["results"]) for reply in replies] == [word in notes.words.values() for word in words]


def check_meaning(server: Served, url: str, number: int) -> int:
    """Find up to `number` newest records of each kind by text, in all modes; return the search count."""
    records = open_records(url)
    try:
        stored = [change.stored.record for change in changes_of(records, 0, 10**6, None) if isinstance(change, Upsert)]
    finally:
        records.close()
    kinds: dict[str, list[tuple[str, str]]] = {}
    for record in reversed(stored):
        kind, text = type(record).__name__, embedding_text(record)
        if text and len(kinds.setdefault(kind, [])) < number:
            kinds[kind].append((str(record.id), text))
    searchable = {name.lower(): name for name in kinds}
    calls, wanted = [], []
    for kind in ("decision", "chunk", "extraction", "episode", "artifact", "turn", "event"):
        for id, text in kinds.get(searchable.get(kind, ""), []):
            for mode in MODES:
                calls.append(("search", {"query": text, "mode": mode, "kinds": [kind], "limit": 10}))
                wanted.append((kind, id, mode))
    for (kind, id, mode), reply in zip(wanted, batched(server, calls), strict=True):
        found = [str(one["id"]) for one in reply["result"]["results"]]
        assert id in found, f"{mode} does not find the {kind} {id}: {reply}"
    return len(calls)


def check_followers(server: Served, followers: Sequence[Follower], wait_until: Callable[..., None]) -> None:
    """Check that each follower knows exactly the existing records, by their last change."""
    fresh, more = Follower(), True
    while more:
        page = server.call("cstp.changes", {"since": fresh.cursor, "limit": 1000})["result"]
        for change in page["changes"]:
            fresh.note(change)
        more = page["more"]
    for follower in followers:
        wait_until(lambda follower=follower: follower.cursor >= fresh.cursor)
        assert follower.known == fresh.known, set(follower.known.items()) ^ set(fresh.known.items())


def failing(server: Served) -> list[str]:
    """Return parts and metrics that report failed or late work."""
    status, body = server.request("GET", "/readyz")
    found = [] if status == 200 else [body.decode()]
    for name, value in server.metrics().items():
        wrong = {
            "cstp_part_up": value != 1,
            "cstp_index_lag": value > 1,
            "cstp_audit_failing": value != 0,
            "cstp_audit_waiting": value > 100,
            "cstp_pool_waiting": value != 0,
            "cstp_requests_waiting": value != 0,
        }
        if wrong.get(name.partition("{")[0], False):
            found.append(f"{name} {value:g}")
    return found


def temporary_files(data: Path, temporary: Path) -> list[str]:
    """Return files unused by running processes."""
    marks = (".new", ".part", ".partial", ".tmp", ".draft", "-journal")
    found = [path for path in data.rglob("*") if path.name.endswith(marks) or ".damaged-" in path.name]
    return [str(path) for path in [*found, *temporary.rglob("*")]]
