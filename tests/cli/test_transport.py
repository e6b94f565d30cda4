"""Command line messages about an unreachable server: the reason, and a remedy."""

import json
import ssl
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from tests.dripping import KINDS, dripping_servers
from tests.http_servers import answering

Cstp = Callable[..., Any]
BODY = b'{"jsonrpc": "2.0", "id": 1, "result": {}}'


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def secure(authority: trustme.CA) -> Iterator[str]:
    """Yield `127.0.0.1:port` of an HTTPS server with a certificate from the authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = answering(200, BODY, context)
    yield f"127.0.0.1:{server.server_port}"
    server.close()


def test_an_untrusted_certificate_is_named_with_a_remedy(
    cstp: Cstp, secure: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["call", "cstp.whoami", "--url", f"https://{secure}", "--token", "t", "--json"]
    done = cstp(*words)
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert "CERTIFICATE_VERIFY_FAILED" in done.err
    assert "SSL_CERT_FILE" in done.err
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    done = cstp(*words)
    assert (done.code, json.loads(done.out)) == (0, {})
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "absent.pem"))
    done = cstp(*words)
    assert (done.code, done.err.count("\n"), "SSL_CERT_FILE" in done.err) == (2, 1, True)


def test_the_wrong_scheme_is_told(cstp: Cstp, secure: str) -> None:
    done = cstp("call", "cstp.whoami", "--url", f"http://{secure}", "--token", "t")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "https://" in done.err
    plain = answering(200, BODY)
    done = cstp("call", "cstp.whoami", "--url", f"https://127.0.0.1:{plain.server_port}", "--token", "t")
    plain.close()
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "does the server speak http://" in done.err


def test_a_nonexistent_host_is_reported_in_the_words_of_the_network(cstp: Cstp) -> None:
    done = cstp("call", "cstp.whoami", "--url", "http://nowhere.invalid:8100", "--token", "t")
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert "Errno" in done.err
    assert "address" in done.err


@pytest.mark.parametrize(("head", "drop"), KINDS.values(), ids=KINDS)
def test_a_call_ends_at_its_timeout_whatever_the_server_does(cstp: Cstp, head: bytes, drop: bytes) -> None:
    with dripping_servers() as start:
        url = start(head, drop)
        began = time.monotonic()
        done = cstp("call", "cstp.whoami", "--url", url, "--token", "t", "--timeout", "0.3")
        assert time.monotonic() - began < 10
    assert (done.code, done.out, done.err.count("\n")) == (3, "", 1)
    assert "did not answer within 0.3 s" in done.err


@pytest.fixture
def plain() -> Iterator[str]:
    """Yield `127.0.0.1:port` of an HTTP server."""
    server = answering(200, BODY)
    yield f"127.0.0.1:{server.server_port}"
    server.close()


@pytest.mark.parametrize("proxy", ["http://127.0.0.1:1", "socks5://127.0.0.1:1", "nothing://127.0.0.1:1"])
def test_loopback_is_asked_without_a_proxy(cstp: Cstp, plain: str, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy)
    done = cstp("call", "cstp.whoami", "--url", f"http://{plain}", "--token", "t", "--json")
    assert (done.code, json.loads(done.out)) == (0, {})
    other = cstp("call", "cstp.whoami", "--url", "http://cstp.test", "--token", "t")
    assert other.code == (3 if proxy.startswith("http:") else 2)
    assert other.err.count("\n") == 1
    assert ("PROXY" in other.err) != proxy.startswith("http:")
