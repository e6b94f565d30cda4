"""HTTPS by the server itself, with a test certificate."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from cognition_engines.errors import ConfigurationError
from cstp_server.process.tls import tls_context
from cstp_server.settings import Settings
from cstp_server.tokens import create_token


class Https:
    """A server as a program, the URL, and the certificate for clients to trust."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.authority = trustme.CA()
        certificate = self.authority.issue_cert("localhost", "127.0.0.1")
        self.chain, self.key = folder / "chain.pem", folder / "key.pem"
        certificate.private_key_pem.write_to_path(self.key)
        for piece in certificate.cert_chain_pems:
            piece.write_to_path(self.chain, append=True)
        self.trusted = ssl.create_default_context()
        self.authority.configure_trust(self.trusted)
        _, self.token = create_token(folder / "data" / "tokens.json", "caller", lifetime=timedelta(hours=1))
        command = "from cstp_server.cli.entry import main; main()"
        flags = ["--ssl-certfile", str(self.chain), "--ssl-keyfile", str(self.key)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", command, "serve", "--port", "0", "--data-dir", str(folder / "data"), *flags],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "CSTP_EMBEDDING__MODEL": "none", **environment},
        )
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if "https://" in line:
                break
        else:
            pytest.fail(f"did not start: {lines}")
        self.url = json.loads(line)["url"]
        self.port = int(self.url.rpartition(":")[2].split("/")[0])

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=120)
        return self.process.returncode


@pytest.fixture
def https(tmp_path: Path) -> Iterator[Callable[..., Https]]:
    started: list[Https] = []

    def start(**environment: str) -> Https:
        started.append(Https(tmp_path, **environment))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


@pytest.fixture(params=["1", pytest.param("2", marks=pytest.mark.long("starts Redis"))])
def workers(request: pytest.FixtureRequest) -> dict[str, str]:
    """Return settings of a single worker, and two with their required Redis."""
    if request.param == "1":
        return {}
    url = request.getfixturevalue("shared_redis").url
    return {"CSTP_SERVER__WORKERS": request.param, "CSTP_LIMITS__REDIS_URL": url}


def test_a_call_over_https_is_answered_and_plain_http_is_not(
    https: Callable[..., Https], workers: dict[str, str]
) -> None:
    server = https(**workers)
    request = {"jsonrpc": "2.0", "id": 1, "method": "cstp.whoami", "params": {}}
    fields = {"Authorization": f"Bearer {server.token}"}
    with httpx.Client(verify=server.trusted, trust_env=False) as client:
        for _ in range(2):  # the second request on the same connection
            answer = client.post(server.url, json=request, headers=fields)
            assert (answer.status_code, answer.json()["result"]["agent"]) == (200, "caller")
    with pytest.raises(httpx.HTTPError):
        httpx.post(server.url.replace("https:", "http:"), json=request, headers=fields, trust_env=False)
    with pytest.raises(httpx.ConnectError, match="certificate"):
        httpx.post(server.url, json=request, headers=fields, trust_env=False)
    assert server.stop() == 0


def test_old_versions_of_tls_are_refused(https: Callable[..., Https]) -> None:
    server = https()
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.authority.configure_trust(old)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.minimum_version = ssl.TLSVersion.TLSv1
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain, pytest.raises(ssl.SSLError):
        old.wrap_socket(plain, server_hostname="localhost")


@pytest.mark.long("waits for deadlines")
def test_a_client_never_speaking_tls_is_disconnected(https: Callable[..., Https], workers: dict[str, str]) -> None:
    server = https(CSTP_SERVER__RECEIVE_SECONDS="0.5", **workers)
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as silent:
        assert silent.recv(1) == b""  # uvloop alone would wait 60 s


@pytest.mark.long("waits for deadlines")
def test_a_slow_request_over_https_is_cut_like_any_other(https: Callable[..., Https]) -> None:
    server = https(CSTP_SERVER__RECEIVE_SECONDS="0.5")
    with (
        socket.create_connection(("127.0.0.1", server.port), timeout=60) as plain,
        server.trusted.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        secure.sendall(b"POST /cstp HTTP/1.1\r\nHost: localhost\r\n")
        assert secure.recv(1024).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"ssl_certfile": "absent.pem"}, "server.ssl_certfile: No such file"),
        ({"ssl_certfile": "text.pem"}, "server.ssl_certfile: must be a PEM certificate"),
        (
            {"ssl_certfile": "chain.pem", "ssl_keyfile": "other.pem"},
            "server.ssl_certfile and server.ssl_keyfile: must be",
        ),
        ({"ssl_certfile": "chain.pem", "ssl_keyfile": "locked.pem"}, "without a passphrase"),
    ],
    ids=["absent", "no PEM", "another key", "a passphrase"],
)
def test_bad_files_are_told(files: dict[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    authority = trustme.CA()
    first, second = authority.issue_cert("localhost"), authority.issue_cert("localhost")
    first.cert_chain_pems[0].write_to_path("chain.pem")
    second.private_key_pem.write_to_path("other.pem")
    Path("text.pem").write_text("no certificate")
    Path("locked.pem").write_bytes(locked(first.private_key_pem.bytes()))
    settings = Settings.model_validate({"server": files})
    with pytest.raises(ConfigurationError, match=named):
        tls_context(settings.server)


def locked(key: bytes) -> bytes:
    """Return the key with a passphrase."""
    return load_pem_private_key(key, None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret")
    )


def test_a_key_without_a_certificate_is_refused() -> None:
    given: dict[str, Any] = {"server": {"ssl_keyfile": "key.pem"}}
    with pytest.raises(ValueError, match=r"ssl_keyfile\n.*requires server.ssl_certfile"):
        Settings.model_validate(given)
