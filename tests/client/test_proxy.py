"""Proxies from the environment: for other hosts, never for this machine."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from cstp.client.connections import proxy_for
from tests.http_servers import Handler, HttpServer

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *map(str.upper, VARIABLES)):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def answering() -> Iterator[HttpServer]:
    """Start a server, or a proxy, that answers every call with the request's address."""

    class Answering(Handler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": self.path}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = HttpServer(Answering)
    yield server
    server.close()


def test_only_other_hosts_use_the_proxy(connect: Any, answering: HttpServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    for host in ("127.0.0.1", "localhost"):
        assert connect(f"http://{host}:{answering.server_port}", "t", retries=0).call("any.method") == "/cstp"
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{answering.server_port}")
    assert connect("http://cstp.test", "t", retries=0).call("any.method") == "http://cstp.test/cstp"


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://127.0.0.1:8100", None),
        ("http://127.8.9.10", None),
        ("http://[::1]:8100", None),
        ("https://localhost:8100", None),
        ("http://cstp.test", "http://one:1"),
        ("https://cstp.test", "http://two:2"),
        ("http://localhost.evil.test", "http://one:1"),
        ("http://128.0.0.1", "http://one:1"),
        ("https://inside.lan", None),
        ("http://a.inside.lan:8100", None),
        ("http://port.lan:8100", None),
        ("http://port.lan", "http://one:1"),
        ("https://secure.lan", None),
    ],
)
def test_loopback_and_no_proxy_hosts_are_direct(monkeypatch: pytest.MonkeyPatch, url: str, proxy: str | None) -> None:
    monkeypatch.setenv("http_proxy", "http://one:1")
    monkeypatch.setenv("ALL_PROXY", "two:2")
    monkeypatch.setenv("NO_PROXY", "inside.lan, port.lan:8100, secure.lan:443")
    assert proxy_for(httpx.URL(url)) == proxy


def test_an_invalid_proxy_is_refused_and_not_repeated(connect: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "nothing://user:canary@host")
    with pytest.raises(ValueError, match="proxy") as caught:
        connect("http://cstp.test", "t")
    assert "canary" not in str(caught.value)
