"""`cstp call` and `cstp status URL` against a server of ours, and against what is none."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cstp.errors import ERRORS
from cstp_server.cli.conventions import FAMILIES, MEANINGS
from tests.cli.conftest import at_terminal
from tests.http_servers import HttpServer, answering as answering_server
from tests.programs import run_cstp

Cstp = Callable[..., Any]
EPISODES = 7


@pytest.fixture
def server(asked: Callable[..., Any], cstp: Cstp) -> str:
    """The URL of a server with a few episodes; it and a token are in the environment."""
    lines = [{"kind": "episode", "id": n, "query": f"query {n}", "reward": 0.5} for n in range(1, EPISODES + 1)]
    Path("e.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert cstp("ingest", "e.jsonl").code == 0
    return f"http://127.0.0.1:{asked({'limits.default': '600/minute; 60/second'}).port}"


@pytest.fixture
def answering() -> Iterator[Callable[[int, bytes], str]]:
    """`answering(200, body)`: the URL of a server that answers everything with these."""
    servers: list[HttpServer] = []

    def run(status: int, body: bytes) -> str:
        servers.append(answering_server(status, body))
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield run
    for one in servers:
        one.close()


@pytest.mark.parametrize("limit", [None, 3, 7, 100])
def test_all_pages_of_a_list_are_asked_for_one_item_a_line(server: str, cstp: Cstp, limit: int | None) -> None:
    words = [] if limit is None else [f"limit:={limit}"]
    done = cstp("call", "cstp.listEpisodes", *words, "--all", "--json")
    assert done.code == 0
    ids = [json.loads(line)["id"] for line in done.out.splitlines()]
    assert ids == sorted(range(1, EPISODES + 1), reverse=True)
    assert cstp("call", "cstp.listEpisodes", "offset:=5", "--all", "--json").out.count("\n") == EPISODES - 5


@pytest.mark.long("waits for a program")
def test_all_is_for_lists_and_errors_of_a_page_are_told(server: str, cstp: Cstp) -> None:
    done = cstp("call", "cstp.recall", "query=x", "--all")
    assert done.code == 2
    assert "cstp.listEpisodes" in done.err
    assert cstp("call", "cstp.listEpisodes", "limit:=0", "--all").code == 5
    assert cstp("call", "cstp.listEpisodes", "offset=x", "--all").code == 2


@pytest.mark.long("waits for a program")
def test_parameters_come_from_a_file_and_from_words_each_once(server: str, cstp: Cstp) -> None:
    Path("p.json").write_text('{"limit": 2, "offset": 1}')
    done = cstp("call", "cstp.listEpisodes", "--params", "p.json", "--json")
    assert [one["id"] for one in json.loads(done.out)["episodes"]] == [6, 5]
    both = cstp("call", "cstp.listEpisodes", "--params", "p.json", "category=none", "--json")
    assert json.loads(both.out)["totalCount"] == 0
    twice = cstp("call", "cstp.listEpisodes", "--params", "p.json", "limit:=3")
    assert (twice.code, twice.err.count("\n")) == (2, 1)
    assert "limit is given twice" in twice.err


@pytest.mark.parametrize(
    ("method", "pair", "told"),
    [
        ("cstp.listEpisodes", "limit=3", "limit=... is text; write limit:=3"),
        ("cstp.getChunk", "related_limit=2", "write related_limit:=2"),
        ("cstp.listEpisodes", "tags=filters", """write 'tags:=["filters"]'"""),
        ("cstp.searchKnowledge", 'filters={"type": "chunk"}', """write 'filters:={"type": "chunk"}'"""),
        ("cstp.listEpisodes", "limit=three", "Fix the parameters"),
        ("cstp.listEpisodes", "since=2024x", "Fix the parameters"),
        ("cstp.listEpisodes", "limit:=0", "Fix the parameters"),
    ],
)
def test_text_for_another_type_is_explained(server: str, cstp: Cstp, method: str, pair: str, told: str) -> None:
    done = cstp("call", method, *(["chunkId=x"] if method == "cstp.getChunk" else []), pair)
    (hint,) = [line for line in done.err.splitlines() if line.startswith("next: ")] or [""]
    assert (done.code, told in hint) == (5, True), done.err


@pytest.mark.long("waits for a program")
def test_parameters_come_from_standard_input(server: str) -> None:
    done = run_cstp("call", "cstp.listEpisodes", "--params", "-", "--json", input='{"limit": 1}')
    assert len(json.loads(done.stdout)["episodes"]) == 1


@pytest.mark.parametrize("text", ["", "[]", "{", "nonsense", '{"a": NaN}', "[" * 100_000, "\udcff"], ids=range(7))
def test_a_file_of_parameters_that_is_no_object_is_refused(cstp: Cstp, text: str) -> None:
    Path("p.json").write_bytes(text.encode(errors="surrogateescape"))
    done = cstp("call", "cstp.whoami", "--token", "cstp_a_b", "--params", "p.json")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "--params" in done.err


@pytest.mark.long("waits for a program")
def test_colours_are_for_terminals_alone(server: str, cstp: Cstp) -> None:
    assert "\x1b" not in cstp("call", "cstp.whoami").out
    code, shown = at_terminal(b"", "call", "cstp.whoami", TERM="xterm-256color")
    assert (code, "\x1b[" in shown, '"agent"' in shown) == (0, True, True)


def test_every_family_of_errors_has_a_code_and_every_code_a_meaning() -> None:
    of_errors = {FAMILIES[error.family] for error in ERRORS}
    assert of_errors <= set(MEANINGS)
    assert not of_errors & {0, 1, 2, 3, 130}


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (
            {"code": -32602, "message": "Invalid params", "data": {"violations": [{"field": "q", "message": "m"}]}},
            5,
            "q: m",
        ),
        ({"code": -32601, "message": "Method not found"}, 5, "did you mean cstp.whoami?"),
        ({"code": -32001, "message": "Authentication required"}, 4, "cstp token create"),
        ({"code": -32009, "message": "Forbidden", "data": {"scope": "read"}}, 4, "--scope read"),
        ({"code": -32007, "message": "Not found", "data": {"id": "x"}}, 6, "id: x"),
        ({"code": -32002, "message": "Rate limited", "data": {"retryAfter": 7}}, 7, "wait 7 s"),
        ({"code": -32010, "message": "Overloaded", "data": {"retryAfter": 1}}, 7, "wait 1 s"),
        ({"code": -32003, "message": "Query failed", "data": {"component": "vectors"}}, 8, "component: vectors"),
        ({"code": -32603, "message": "Internal error", "data": {"requestId": "r"}}, 8, "requestId: r"),
        ({"code": -32099, "message": "Own", "data": "text"}, 1, "the server defines this code"),
        ({"code": -32602, "message": "\x1b[31mred\n", "data": {"violations": "none"}}, 5, "violations: none"),
        ({"code": -32601, "message": "5", "data": [1]}, 5, "next: "),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_error_tells_what_to_do_next_and_its_family_by_the_exit_code(
    cstp: Cstp, answering: Callable[[int, bytes], str], error: dict[str, Any], code: int, told: str
) -> None:
    url = answering(200, json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode())
    done = cstp("call", "cstp.whoam", "--url", url, "--token", "t")
    assert (done.code, done.out) == (code, "")
    assert told in done.err
    assert "\nnext: " in done.err
    assert "\x1b" not in done.err
    as_json = cstp("call", "cstp.whoam", "--url", url, "--token", "t", "--json")
    assert (as_json.code, json.loads(as_json.out)["code"]) == (code, error["code"])


HOSTILE = [
    b"", b"<html>", b"[]", b"null", b"1", b"{}", b'{"error": 5}', b'{"error": {"code": "x", "message": "y"}}',
    b'{"error": {"message": "y"}}', b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": 5}}',
    b'{"error": {"code": 1e999, "message": "y"}}',
    b"[" * 100_000, b"\xff\xfe", b'{"jsonrpc": "2.0", "id": 1}',
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize(
    "words", [["call", "cstp.whoami", "--url"], ["status"], ["conform"]], ids=lambda words: words[0]
)
def test_what_is_no_cstp_server_is_told_in_one_line(
    cstp: Cstp, answering: Callable[[int, bytes], str], words: list[str], body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CSTP_TOKEN", "cstp_a_b")
    done = cstp(*words, answering(200, body))
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert done.err.startswith("cstp: http://127.0.0.1:")


@pytest.mark.parametrize(
    "url", ["", "x", "http://", "ftp://a", "http://a:99999", "http://[::1", "http://a/?q", "http://\x00"]
)
@pytest.mark.parametrize(
    "words", [["call", "cstp.whoami", "--url"], ["status"], ["conform"]], ids=lambda words: words[0]
)
def test_what_is_no_url_is_misuse(cstp: Cstp, words: list[str], url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_TOKEN", "cstp_a_b")
    done = cstp(*words, url)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "http://host:8100" in done.err


def test_a_result_with_half_a_surrogate_is_refused(cstp: Cstp, answering: Callable[[int, bytes], str]) -> None:
    url = answering(200, b'{"jsonrpc": "2.0", "id": 1, "result": {"lone": "\\ud800"}}')
    for words in (["--json"], []):
        done = cstp("call", "cstp.whoami", "--url", url, "--token", "t", *words)
        assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)


def test_status_of_a_url_tells_version_health_methods_and_limits_left(server: str, cstp: Cstp) -> None:
    found = json.loads(cstp("status", server, "--json").out)
    assert (found["url"], found["health"], found["ready"]) == (f"{server}/cstp", "alive", "ready")
    assert found["parts"]["records"] == "ready"
    assert {"cstp.queryDecisions", "rpc.discover"} <= set(found["methods"])
    assert [(one["limit"], one["remaining"]) for one in found["limits"]] == [(60, 59), (600, 599)]
    text = cstp("status", f"{server}/cstp").out
    assert re.search(r"^limits: \d\d of 60 left in 1 s, 598 of 600 left in 60 s$", text, re.MULTILINE)
    assert re.search(r"^version: \d", text, re.MULTILINE)


@pytest.mark.long("waits for a program")
def test_status_without_a_token_shows_public_facts(server: str, cstp: Cstp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSTP_TOKEN")
    done = cstp("status", server)
    assert done.code == 0
    assert "limits: unknown without a token" in done.out
    assert json.loads(cstp("status", server, "--json").out)["limits"] is None


def test_status_with_a_dead_token_tells_what_is_public_and_then_the_error(server: str, cstp: Cstp) -> None:
    done = cstp("status", server, "--token", "cstp_no_no")
    assert (done.code, "Authentication required (-32001)" in done.err) == (4, True)
    assert "health: alive" in done.out
    assert "cstp.queryDecisions" in done.out
    assert "\nlimits:" not in done.out
    done = cstp("status", server, "--token", "cstp_no_no", "--json")
    found = json.loads(done.out)
    assert (done.code, found["health"], found["limits"], found["error"]["code"]) == (4, "alive", None, -32001)


def test_health_may_be_hidden(cstp: Cstp, answering: Any, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CSTP_TOKEN")
    card = httpx.get(f"{server}/.well-known/agent-card.json", trust_env=False).content
    done = cstp("status", answering(404, card))
    assert (done.code, "health: not shown here (HTTP 404)" in done.out) == (0, True)


def test_a_request_that_is_too_large_is_told_as_that(server: str, cstp: Cstp) -> None:
    Path("big.json").write_text(json.dumps({"query": "x" * 1_100_000}))
    done = cstp("call", "cstp.queryDecisions", "--params", "big.json")
    assert (done.code, "server.max_body_bytes" in done.err) == (5, True)
    assert "jsonrpc" not in done.err
