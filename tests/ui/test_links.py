"""`POST /ui/session`: a link is valid once and for a minute, for a token with the granted rights."""

import json
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from cstp_server.tokens import rotate_token
from cstp_server.ui.grants import claim_grant, make_grant, write_grant

Live = Any
Claim = Callable[..., Any]
Link = Callable[..., str]
PATIENT = {"limits.auth_failures": "1000/minute"}


@pytest.fixture
def live(common_server: Callable[..., Live]) -> Live:
    return common_server(
        PATIENT | {"mcp.allowed_hosts": ["cstp.lan:*"], "mcp.allowed_origins": ["https://app.example"]}
    )


def counts(live: Live, token: str) -> bool:
    """Return whether a token is admitted."""
    status: int = live.call("cstp.whoami", token).status
    assert status in (200, 401)
    return status == 200


def test_a_link_gives_a_token_with_its_rights_and_no_others(live: Live, link: Link, claim: Claim) -> None:
    rights: dict[str, Any] = {"scopes": ("read", "write"), "clearance": "sensitive", "projects": ("shop",)}
    reply = claim(live, link(live, "person", **rights, lifetime=timedelta(hours=3)))
    assert (reply.status, set(reply.json)) == (200, {"token", "expires"})
    assert (reply.header("content-type"), reply.header("cache-control")) == ("application/json", "no-store")
    token = reply.json["token"]
    caller = live.call("cstp.whoami", token).json["result"]
    given = [caller[name] for name in ("agent", "scopes", "clearance", "projects")]
    assert given == ["person", ["read", "write"], "sensitive", ["shop"]]
    left = datetime.fromisoformat(reply.json["expires"]) - datetime.now(UTC)
    assert timedelta(hours=2, minutes=59) < left <= timedelta(hours=3)
    for project, allowed in (("shop", True), ("billing", False)):
        decision = {"decision": "Ship on Mondays", "confidence": 0.5, "project": project}
        assert (live.call("cstp.recordDecision", token, decision).code == 0) == allowed, project
    for agent, projects, seen in (("all", None, 1), ("shop", ("shop",), 1), ("billing", ("billing",), 0)):
        reads = claim(live, link(live, agent, projects=projects)).json["token"]
        assert live.call("cstp.recordDecision", reads, {"decision": "Ship", "confidence": 0.5}).status == 403
        assert live.call("cstp.getStats", reads).json["result"]["total"] == seen


def test_a_link_is_good_once(live: Live, link: Link, claim: Claim) -> None:
    code = link(live, "once")
    assert claim(live, code).status == 200
    again = claim(live, code)
    said = "the link is invalid, used or expired; create another one: cstp ui"
    assert (again.status, again.json) == (401, {"error": said})
    assert again.header("cache-control") == "no-store"
    assert again.header("www-authenticate").startswith('Bearer realm="cstp", error="invalid_token"')


def test_an_ended_link_and_an_unknown_link_are_refused_alike(live: Live, link: Link, claim: Claim) -> None:
    ended = claim(live, link(live, "late", link_lifetime=timedelta(0)))
    for code in ("x" * 43, "", "../tokens.json", "\x00", "ä"):
        unknown = claim(live, code)
        assert (unknown.status, unknown.body) == (ended.status, ended.body) == (401, unknown.body)
    path = live.settings.tokens_path
    assert not path.exists() or "late" not in path.read_text()


@pytest.mark.long("starts a demo, or builds the wheel")
def test_one_of_many_claims_wins(live_server: Callable[..., Live], link: Link, claim: Claim, tmp_path: Path) -> None:
    """Use two servers with equal links and tokens, like two workers."""
    first, other = (tmp_path / name for name in ("first", "other"))
    for folder in (first, other):
        folder.mkdir(mode=0o700)
    (first / "ui-links").mkdir(mode=0o700)
    (other / "ui-links").symlink_to(first / "ui-links")
    settings = PATIENT | {"auth.tokens_file": str(tmp_path / "tokens.json")}
    servers = [live_server(settings, data_dir=folder) for folder in (first, other)]
    with ThreadPoolExecutor(8) as pool:
        for number in range(10):
            code = link(servers[0], f"agent-{number}")
            replies = list(pool.map(lambda turn, code=code: claim(servers[turn % 2], code), range(8)))
            assert sorted(reply.status for reply in replies) == [200, *[401] * 7]
            token = next(reply.json["token"] for reply in replies if reply.status == 200)
            assert all(counts(server, token) for server in servers)


def test_a_claim_losing_by_microseconds_gets_nothing(tmp_path: Path) -> None:
    """Race threads, since a socket is too slow: all have read the grant before one removes it."""
    claims, together = 8, Barrier(8)
    grant = make_grant("ui", scopes=("read",), lifetime=timedelta(hours=1))

    def claimed(code: str) -> bool:
        together.wait()
        return claim_grant(tmp_path, code) is not None

    with ThreadPoolExecutor(claims) as pool:
        won = [sum(pool.map(claimed, [write_grant(tmp_path, grant)] * claims)) for _ in range(200)]
    assert won == [1] * 200


def test_a_grant_is_private_and_has_no_secret(live_server: Callable[..., Live], link: Link, claim: Claim) -> None:
    live = live_server()
    folder = live.settings.data_dir / "ui-links"
    code = link(live, "ada")
    assert len(code) == 43  # 256 bits
    place = folder / sha256(code.encode()).hexdigest()
    assert (stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(place.stat().st_mode)) == (0o700, 0o600)
    assert code not in place.read_text()
    token = claim(live, code).json["token"]
    assert not place.exists()
    secret = token.rpartition("_")[2]
    kept = [path for path in live.settings.data_dir.rglob("*") if path.is_file() and "indexes" not in path.parts]
    assert not any(word.encode() in path.read_bytes() for path in kept for word in (code, secret))


def test_a_new_link_removes_ended_links(live_server: Callable[..., Live], link: Link, claim: Claim) -> None:
    live = live_server()
    folder = live.settings.data_dir / "ui-links"

    def grants() -> int:
        return len([path for path in folder.iterdir() if path.suffix != ".lock"])

    valid = link(live)
    for _ in range(3):
        link(live, link_lifetime=timedelta(0))
    (folder / ("0" * 64)).write_text('{"agent": "cut sh')
    link(live)
    assert grants() == 2
    assert claim(live, valid).status == 200


def test_wrong_links_count_as_wrong_tokens(live_server: Callable[..., Live], link: Link, claim: Claim) -> None:
    live = live_server({"limits.auth_failures": "3/minute"})
    assert [claim(live, "wrong").status for _ in range(2)] == [401, 401]
    assert live.call("cstp.whoami", "cstp_0_0").status == 401
    limited = claim(live, "wrong")
    assert (limited.status, set(limited.json)) == (429, {"error"})
    assert int(limited.header("retry-after")) >= 1
    assert live.call("cstp.whoami", "cstp_0_0").status == 429
    assert claim(live, "wrong", source="127.0.0.2").status == 401
    assert claim(live, link(live)).status == 200  # as a right token is let in, too


def test_a_page_of_another_origin_or_host_uses_no_link_up(live: Live, link: Link, claim: Claim) -> None:
    code = link(live, "guarded")
    here = f"127.0.0.1:{live.port}"
    for origin in ("https://evil.example", "null", "http://cstp.lan:80", f"http://{here}.evil.example", "file://"):
        assert claim(live, code, Origin=origin).status == 403
    assert claim(live, code, Host="cstp.lan:80", Origin="https://cstp.lan:80").status == 403  # of another scheme
    for host in ("evil.example", f"evil.example:{live.port}"):
        assert claim(live, code, Host=host).status == 421
        assert claim(live, code, Host=host, Origin=f"http://{host}").status == 421
    assert claim(live, code, Origin=f"http://{here}").status == 200
    for host, origin in (
        ("cstp.lan:80", "http://cstp.lan:80"),
        (here, "https://app.example"),
        (here, "http://localhost:3000"),
        (here, None),
    ):
        assert claim(live, link(live, "guarded"), Host=host, Origin=origin).status == 200


BAD = [b"", b"{", b"[]", b"{}", b'"code"', b'{"code": 1}', b'{"code": null}', b'{"code": "CODE", "agent": "me"}']
BAD += [b'{"code": "\\ud800"}', b'{"code": "\xff"}', b'{"code": "' + b"x" * 1013 + b'"}']


@pytest.mark.parametrize("body", BAD, ids=str)
def test_a_bad_body_uses_no_link_up(live: Live, link: Link, claim: Claim, body: bytes) -> None:
    code = link(live, "words")
    reply = claim(live, body=body.replace(b"CODE", code.encode()))
    assert (reply.status, list(reply.json)) == (413 if len(body) > 1024 else 400, ["error"])
    assert claim(live, code).status == 200


def test_a_body_may_have_a_kibibyte_announced_or_not(live: Live, claim: Claim) -> None:
    whole = b'{"code": "' + b"x" * 1012 + b'"}'
    assert len(whole) == 1024
    assert claim(live, body=whole).status == 401
    chunked = b"401\r\n" + b" " + whole + b"\r\n0\r\n\r\n"
    reply = claim(live, body=chunked, Transfer_Encoding="chunked")
    assert (reply.status, reply.header("connection")) == (413, "close")


@pytest.mark.parametrize(
    "given", [None, "text/plain", "application/json-rpc", "application/x-www-form-urlencoded", "application/jsonp"]
)
def test_a_body_possible_for_a_form_is_refused(live: Live, link: Link, claim: Claim, given: str | None) -> None:
    code = link(live, "form")
    reply = claim(live, code, Content_Type=given)
    assert (reply.status, reply.json) == (415, {"error": "Content-Type must be application/json"})
    assert claim(live, code, Content_Type="application/json; charset=utf-8").status == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_a_session_is_posted_and_nothing_else(live: Live, claim: Claim, method: str) -> None:
    reply = claim(live, "x", method=method)
    assert (reply.status, reply.header("allow"), reply.body) == (405, "POST", b"")


def test_without_a_page_sessions_are_refused(live_server: Callable[..., Live], link: Link, claim: Claim) -> None:
    live = live_server({"ui.enabled": False})
    code = link(live)
    for method in ("POST", "GET"):
        assert claim(live, code, method=method).status == 404
    assert not live.settings.tokens_path.exists()


def test_a_third_session_of_an_agent_ends_the_first(live: Live, link: Link, claim: Claim) -> None:
    tokens = [claim(live, link(live, "often")).json["token"] for _ in range(4)]
    assert [counts(live, token) for token in tokens] == [False, False, True, True]


def test_a_session_ends_no_token_made_by_a_person(live: Live, link: Link, claim: Claim) -> None:
    made = live.token("mixed")
    sessions = [claim(live, link(live, "mixed")).json["token"] for _ in range(3)]
    assert counts(live, made)
    assert [counts(live, token) for token in sessions] == [False, False, True]
    others = [live.token("made"), live.token("made")]
    refused = claim(live, link(live, "made"))
    assert refused.status == 409
    first = others[0].split("_")[1]
    assert f"revoke one first: cstp token revoke {first}; then create another link: cstp ui" in refused.json["error"]
    assert all(counts(live, token) for token in others)


def test_a_token_rotated_by_a_person_is_a_persons(live: Live, link: Link, claim: Claim) -> None:
    session = claim(live, link(live, "rotated")).json["token"]
    _, rotated = rotate_token(
        live.settings.tokens_path, session.split("_")[1], lifetime=timedelta(days=1), overlap=timedelta(hours=1)
    )
    later = [claim(live, link(live, "rotated")).json["token"] for _ in range(2)]
    assert [counts(live, token) for token in (session, rotated, *later)] == [False, True, False, True]


def test_an_older_tokens_file_is_read(live_server: Callable[..., Live], link: Link, claim: Claim) -> None:
    live = live_server()
    token = live.token("old")
    path = live.settings.tokens_path
    kept = json.loads(path.read_text())
    assert [one.pop("by_link") for one in kept["tokens"]] == [False]
    path.write_text(json.dumps(kept))
    assert counts(live, token)
    assert claim(live, link(live, "old")).status == 200
    assert counts(live, token)


def test_token_failure_is_reported(live_server: Callable[..., Live], link: Link, claim: Claim, log_output: Any) -> None:
    live = live_server()
    log = log_output("info")
    live.settings.tokens_path.write_text("{")
    reply = claim(live, link(live))
    assert reply.status == 503
    assert str(live.settings.data_dir) not in reply.json["error"]
    assert "tokens.json" in log.getvalue()
    live.settings.tokens_path.unlink()
    assert claim(live, link(live)).status == 200


def test_the_log_has_no_secrets(live_server: Callable[..., Live], link: Link, claim: Claim, log_output: Any) -> None:
    live = live_server()
    log = log_output("debug")
    codes = [link(live, "logged"), "wrong" * 9]
    replies = [claim(live, code) for code in codes]
    lines = log.getvalue()
    events = [json.loads(line) for line in lines.splitlines()]
    (session,) = [event for event in events if event["event"] == "session"]
    token = replies[0].json["token"]
    assert (session["agent"], session["token_id"]) == ("logged", token.split("_")[1])
    assert [event["status"] for event in events if event["event"] == "refused"] == [401]
    assert not any(word in lines for word in (*codes, token.rpartition("_")[2]))
