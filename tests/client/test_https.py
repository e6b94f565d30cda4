"""HTTPS: an untrusted certificate is refused, and `ssl_context` defines trust."""

import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from cstp import ConnectFailed
from tests.http_servers import answering

BODY = b'{"jsonrpc": "2.0", "id": 1, "result": "pong"}'


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def url(authority: trustme.CA) -> Iterator[str]:
    """Start a server with a certificate from the authority and a constant answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = answering(200, BODY, context)
    yield f"https://127.0.0.1:{server.server_port}"
    server.close()


def test_a_context_may_trust_a_private_certificate(connect: Any, url: str, authority: trustme.CA) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    assert connect(url, "t", ssl_context=context).call("any.method") == "pong"


def test_an_untrusted_certificate_is_refused(connect: Any, url: str) -> None:
    with pytest.raises(ConnectFailed, match="certificate"):
        connect(url, "t", retries=0).call("any.method")


def test_a_certificate_trusted_by_the_environment_is_accepted(
    connect: Any, url: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # not valid for this machine
    assert connect(url, "t").call("any.method") == "pong"
