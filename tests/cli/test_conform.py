"""`cstp conform`: our server passes, a wrong server fails, and undecidable checks are skipped."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from cstp_server.conformance.run import Caller, Declared, conversations, replay
from cstp_server.conformance.wire_files import folder
from cstp_server.generate.reference import ROOT
from tests.dripping import KINDS, dripping_servers
from tests.http_servers import Handler, HttpServer

Cstp = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("quiet")


def url_of(server: Any) -> str:
    return f"http://127.0.0.1:{server.port}"


@pytest.mark.long("replays all conversations")
def test_our_server_passes_everything_its_tokens_and_settings_allow(live_server: Any, cstp: Cstp) -> None:
    server = live_server({"limits.default": "1000000/minute"})
    tokens = [server.token(), server.token(scopes=["admin"]), server.token(scopes=["read", "admin"])]
    words = ["--set", "limits.default=1000000/minute", "--set", "embedding.model=none"]
    # conversations expect the default limits; a run does not reach this limit
    done = cstp("conform", url_of(server), *tokens, *words, "--json")
    assert json.loads(done.out)["passed"] == []
    done = cstp("conform", url_of(server), *tokens, "--json")
    found = json.loads(done.out)
    assert (done.code, found["failed"]) == (0, [])
    assert len(found["passed"]) > 30
    names = {path.stem for path in folder().glob("*.txt")}
    assert names == {*found["passed"], *(one["name"] for one in found["skipped"])}
    reasons = {one["name"]: one["reason"] for one in found["skipped"]}
    assert reasons["draining"] == "needs a server that is draining"
    assert reasons["chunked"].startswith("needs the setting server.max_body_bytes=256")
    assert "--holds decisions.jsonl" in reasons["query-decisions"]
    assert "called nothing" in reasons["rate-limited"]


@pytest.mark.long("replays all conversations")
def test_a_token_without_rights_skips_their_checks(live_server: Any, cstp: Cstp) -> None:
    server = live_server()
    done = cstp("conform", url_of(server), server.token(), "--only", "forbidden", "--json")
    found = json.loads(done.out)
    assert (done.code, found["passed"]) == (1, [])
    assert any(one["reason"] == "needs a token with exactly scopes=admin" for one in found["skipped"])
    done = cstp("conform", url_of(server), server.token(scopes=["admin"]), "--only", "forbidden")
    assert done.code == 0


@pytest.mark.long("replays all conversations")
def test_declared_records_and_settings_are_enforced(live_server: Any, cstp: Cstp, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert cstp("ingest", folder() / "decisions.jsonl", "--data-dir", data).code == 0
    server = live_server({"embedding.model": "minilm"}, data_dir=data)
    done = cstp(
        "conform", url_of(server), server.token(), "--holds", "decisions.jsonl", "--only", "query-decisions", "--json"
    )
    assert (done.code, json.loads(done.out)["passed"]) == (0, ["query-decisions"])
    small = live_server({"server.max_body_bytes": 256})
    words = ["--set", "server.max_body_bytes=256", "--json"]
    found = json.loads(cstp("conform", url_of(small), small.token(), *words).out)
    assert found["failed"] == []
    assert {"chunked", "order-of-checks"} <= set(found["passed"])


@pytest.mark.long("replays all conversations")
def test_our_server_passes_with_its_own_records(live_server: Any, cstp: Cstp, tmp_path: Path, wordless: None) -> None:
    data = tmp_path / "data"
    assert cstp("ingest", ROOT / "docs" / "sample", "--data-dir", data).code == 0
    server = live_server(data_dir=data)
    found = json.loads(cstp("conform", url_of(server), server.token(), "--json").out)
    assert found["failed"] == []
    assert {"params-null", "recall-refused"} <= set(found["passed"])
    (reason,) = [one["reason"] for one in found["skipped"] if one["name"] == "recall-nothing"]
    assert reason == "needs a server that holds no records"


def test_a_difference_is_reported_without_the_received_records(altered: Any, cstp: Cstp) -> None:
    secret = b'"data": {"violations": [' + b'{"field": "x", "message": "%s canary"}]' % (b"long " * 50)
    url, token = altered(lambda reply: re.sub(rb'"data": ?{"violations": ?\[.*?\]', secret, reply.content))
    done = cstp("conform", url, token, "--only", "params-violations")
    assert done.code == 1
    assert "canary" not in done.err


@pytest.fixture
def altered(live_server: Any) -> Iterator[Callable[[Callable[[httpx.Response], bytes]], tuple[str, str]]]:
    """Yield `altered(change)`: the URL of a server whose bodies pass through `change`, and a token."""
    servers: list[HttpServer] = []
    clients: list[httpx.Client] = []

    def start(change: Callable[[httpx.Response], bytes]) -> tuple[str, str]:
        real = live_server()
        client = httpx.Client(trust_env=False)
        clients.append(client)

        class Answering(Handler):
            def do_POST(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                fields = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                reply = client.post(f"{url_of(real)}{self.path}", content=self.rfile.read(length), headers=fields)
                body = change(reply)
                self.send_response_only(reply.status_code)
                for name, value in reply.headers.items():
                    if name != "content-length":
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        servers.append(HttpServer(Answering))
        return f"http://127.0.0.1:{servers[-1].server_port}", real.token()

    yield start
    for one in servers:
        one.close()
    for client in clients:
        client.close()


@pytest.mark.parametrize(("head", "drop"), KINDS.values(), ids=KINDS)
def test_an_unfinished_answer_is_no_answer(head: bytes, drop: bytes) -> None:
    (one,) = [one for one in conversations() if one.name == "params-by-position"]
    caller = Caller("t", frozenset({"read"}), "normal", None, "cstp")
    with dripping_servers() as start:
        (verdict,) = replay([one], start(head, drop), [caller], Declared({}, None), 0.3)
    assert (verdict.outcome, verdict.reason) == ("failed", "no answer: TimeoutError")


@pytest.mark.long("replays all conversations")
def test_a_deviating_server_fails_with_the_place(altered: Any, cstp: Cstp) -> None:
    url, token = altered(lambda reply: reply.content)
    assert cstp("conform", url, token, "--only", "params-violations").code == 0
    url, token = altered(lambda reply: reply.content.replace(b"Invalid params", b"Bad params"))
    done = cstp("conform", url, token, "--only", "params-violations")
    assert done.code == 1
    assert done.err.startswith("failed: params-violations.txt:")
    assert "'Bad params' is not 'Invalid params'" in done.err
    assert done.out == "0 passed, 1 failed, 0 skipped\n"
    url, token = altered(lambda reply: b"<html>" if b"error" in reply.content else reply.content)
    (failed,) = json.loads(cstp("conform", url, token, "--only", "params-violations", "--json").out)["failed"]
    assert "is not JSON" in failed["reason"]


@pytest.mark.long("replays all conversations")
def test_checks_answered_by_a_proxy_are_skipped_by_name(altered: Any, live_server: Any, cstp: Cstp) -> None:
    url, token = altered(lambda reply: b"<html>" if reply.status_code == 413 else reply.content)
    words = ["conform", url, token, "--only", "body-too-large"]
    done = cstp(*words)
    assert (done.code, "--behind-proxy" in done.err) == (1, True)
    done = cstp(*words, "--behind-proxy")
    assert done.out == "0 passed, 0 failed, 1 skipped; skipped behind a proxy: body-too-large\n"
    assert "skipped: body-too-large: behind a proxy, " in done.err
    # the proxy is the reason only if there is no other
    done = cstp(*words, "--behind-proxy", "--set", "server.max_body_bytes=2000")
    assert done.out == "0 passed, 0 failed, 1 skipped\n"
    assert "skipped: body-too-large: needs the setting server.max_body_bytes=" in done.err
    url, token = altered(lambda reply: reply.content.replace(b"Invalid params", b"Bad params"))
    done = cstp("conform", url, token, "--only", "params-violations", "--behind-proxy")
    assert (done.code, done.out) == (1, "0 passed, 1 failed, 0 skipped\n")
    assert "--behind-proxy" not in done.err


def test_a_token_is_asked_for_before_the_server(cstp: Cstp) -> None:
    assert cstp("conform", "http://127.0.0.1:1").code == 2
    assert cstp("conform", "http://127.0.0.1:1", "token").code == 3
