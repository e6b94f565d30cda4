"""Admission of callers, their addresses, and limits on attempts."""

import json
from typing import Any

import pytest

from cognition_engines.errors import ConfigurationError
from cstp_server.http.auth import client_address, client_network, parse_networks

WHOAMI = {"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}
WRONG = "cstp_0_0"


def try_wrong(server: Any, times: int, **forwarded: str) -> list[int]:
    headers = {"X-Forwarded-For": forwarded["via"]} if forwarded else {}
    return [server.post(WHOAMI, WRONG, headers=headers).status for _ in range(times)]


def test_thirty_wrong_tokens_a_minute_then_429_and_the_right_token_still_works(live_server: Any) -> None:
    server = live_server()
    token = server.token()
    assert set(try_wrong(server, 30)) == {401}
    refused = server.post(WHOAMI, WRONG)
    assert refused.status == 429
    assert 1 <= int(refused.header("retry-after")) <= 60
    assert refused.header("www-authenticate") is None
    assert refused.header("ratelimit") is None
    error = refused.json["error"]
    assert refused.json["id"] is None
    assert (error["code"], error["message"]) == (-32002, "Rate limited")
    assert error["data"] == {
        "retryAfter": int(refused.header("retry-after")),
        "limit": 30,
        "window": 60,
        "policy": "minute",
    }
    assert server.post(WHOAMI, token).status == 200
    assert server.post(WHOAMI).status == 401


def test_requests_without_a_token_are_not_counted(live_server: Any) -> None:
    server = live_server({"limits.auth_failures": "2/minute"})
    assert {server.post(WHOAMI).status for _ in range(5)} == {401}
    assert {server.post(WHOAMI, headers={"Authorization": "Basic eA=="}).status for _ in range(5)} == {401}
    assert try_wrong(server, 3) == [401, 401, 429]


def test_addresses_are_counted_apart(live_server: Any) -> None:
    server = live_server({"limits.auth_failures": "2/minute"})
    assert try_wrong(server, 3) == [401, 401, 429]
    assert server.post(WHOAMI, WRONG, source="127.0.0.2").status == 401


def test_without_configured_proxies_x_forwarded_for_means_nothing(live_server: Any) -> None:
    server = live_server({"limits.auth_failures": "2/minute"})
    attempts = [try_wrong(server, 1, via=f"203.0.113.{n}")[0] for n in range(4)]
    assert attempts == [401, 401, 429, 429]


def test_behind_a_proxy_the_last_hop_outside_the_proxies_counts_regardless_of_earlier_hops(live_server: Any) -> None:
    server = live_server({"limits.auth_failures": "2/minute", "server.trusted_proxies": ("127.0.0.1/32", "10.0.0.0/8")})
    attempts = [try_wrong(server, 1, via=f"198.51.100.{n}, 203.0.113.9, 10.1.2.3")[0] for n in range(4)]
    assert attempts == [401, 401, 429, 429]
    assert try_wrong(server, 1, via="203.0.113.10") == [401]
    assert server.post(WHOAMI, WRONG, source="127.0.0.2", headers={"X-Forwarded-For": "203.0.113.9"}).status == 401


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("192.0.2.1", [], "192.0.2.1"),
        ("192.0.2.1", ["203.0.113.1"], "192.0.2.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["6.6.6.6, 203.0.113.1"], "203.0.113.1"),
        ("10.0.0.1", ["6.6.6.6", "203.0.113.1, 10.0.0.2"], "203.0.113.1"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", ["203.0.113.1, unknown"], "unknown"),
        ("fd00::1", ["2001:db8::1"], "2001:db8::1"),
        ("::ffff:10.0.0.1", ["203.0.113.1"], "203.0.113.1"),
        ("::ffff:192.0.2.1", ["203.0.113.1"], "::ffff:192.0.2.1"),
        ("", ["203.0.113.1"], ""),
    ],
)
def test_the_address_of_a_caller(peer: str, forwarded: list[str], address: str) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert client_address(peer, headers, parse_networks(["10.0.0.0/8", "fd00::/8"])) == address


def test_a_proxy_outside_networks_is_refused_at_start(live_server: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"server\.trusted_proxies"):
        live_server({"server.trusted_proxies": ("10.0.0.1/8",)})


def test_refused_logins_are_logged_once_a_window(live_server: Any, log_output: Any, request_bytes: Any) -> None:
    log = log_output("info")
    server = live_server({"limits.auth_failures": "3/minute"})
    fields = [("Content-Type", "application/json"), ("Authorization", f"Bearer {WRONG}")]
    for expected in (401, 401, 401, 429, 429):
        with server.connect() as connection:
            connection.send(request_bytes(b"{}", fields))
            reply = connection.read()
            assert (reply.status, reply.header("connection")) == (expected, "close")
            assert connection.reader.read() == b""
    assert server.post(WHOAMI, WRONG, source="127.0.0.2").status == 401
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    refused = [(line["address"], line["status"]) for line in lines if line["event"] == "refused"]
    assert refused == [("127.0.0.1", 401), ("127.0.0.1", 429), ("127.0.0.2", 401)]


def test_wrong_tokens_are_counted_for_the_64_bits_of_a_network_of_ipv6(live_server: Any) -> None:
    server = live_server({"limits.auth_failures": "2/minute", "server.trusted_proxies": ("127.0.0.1/32",)})
    same = [try_wrong(server, 1, via=f"2001:db8:1:2:{n}::{n}")[0] for n in range(1, 5)]
    assert same == [401, 401, 429, 429]
    assert try_wrong(server, 1, via="2001:db8:1:3::1") == [401]


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_failed_attempts_count_for_their_network(address: str, network: str) -> None:
    assert client_network(address) == network
