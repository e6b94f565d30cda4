"""HTTPS: a certificate that is not trusted is refused, and `ssl_context` says what is."""

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import trustme

from cstp import ConnectFailed

BODY = b'{"jsonrpc": "2.0", "id": 1, "result": "pong"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(BODY), BODY)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def url(authority: trustme.CA) -> Iterator[str]:
    """A server with a certificate of the authority that answers every request alike."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                accepted = listener.accept()[0]
            except OSError:
                return  # closed: the test is over
            with accepted:
                try:
                    with context.wrap_socket(accepted, server_side=True) as connection:
                        request = b""
                        # head and body may come one after the other
                        while not request.endswith(b"}"):
                            request += connection.recv(65536)
                        connection.sendall(ANSWER)
                except OSError:
                    continue  # a client that does not trust it

    thread = Thread(target=serve)
    thread.start()
    yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)
    assert not thread.is_alive()


def test_a_certificate_of_ones_own_is_trusted_where_the_context_says_so(
    connect: Any, url: str, authority: trustme.CA
) -> None:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    assert connect(url, "t", ssl_context=context).call("any.method") == "pong"


def test_a_certificate_that_nobody_trusts_is_refused(connect: Any, url: str) -> None:
    with pytest.raises(ConnectFailed, match="certificate"):
        connect(url, "t", retries=0).call("any.method")


def test_a_certificate_is_trusted_where_the_environment_says_so(
    connect: Any, url: str, authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")  # which is not for this machine
    assert connect(url, "t").call("any.method") == "pong"
