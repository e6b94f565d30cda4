"""Views of an operator's tools: is it alive, can it answer, current work."""

import json
import sqlite3
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from cognition_engines.indexes.keywords.index import KeywordIndex
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.records import open_records
from cstp_server.limits.admission import AdmissionGate
from tests.kinds import entry
from tests.stores import PostgreSQL, Stores


def get(server: Any, request_bytes: Any, path: str, token: str | None = None, method: str = "GET") -> Any:
    headers = [("Connection", "close"), *([("Authorization", f"Bearer {token}")] if token else [])]
    with server.connect() as connection:
        connection.send(request_bytes(b"", headers, method, path))
        return connection.read(method)


def samples(reply: Any) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return each sample's value by name and sorted labels."""
    families = text_string_to_metric_families(reply.body.decode())
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


def test_an_answering_server_is_ready_and_names_each_part(live_server: Any, request_bytes: Any) -> None:
    reply = get(live_server(), request_bytes, "/readyz")
    assert reply.status == 200
    assert reply.header("content-type") == "application/json"
    assert reply.json == {
        "status": "ready",
        "parts": {
            "records": "ready",
            "keywords": "ready",
            "vectors": "off",
            "embedder": "off",
            "limits": "memory",
            "audit": "ready",
            "tokens": "ready",
        },
    }


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
def test_a_damaged_or_missing_tokens_file_is_reported(live_server: Any, request_bytes: Any, wait_until: Any) -> None:
    server = live_server({"auth.reload_seconds": 0.01})
    assert server.call("cstp.whoami", server.token("reader")).status == 200
    tokens = server.settings.tokens_path
    good = tokens.read_bytes()

    def seen() -> tuple[int, str, str]:
        reply = get(server, request_bytes, "/readyz")
        return reply.status, reply.json["status"], reply.json["parts"]["tokens"]

    assert seen() == (200, "ready", "ready")
    tokens.write_bytes(good[:-20])
    wait_until(lambda: seen() == (200, "degraded", "degraded"))
    tokens.unlink()
    wait_until(lambda: seen() == (503, "unavailable", "down"))


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_probes_are_read_and_nothing_else(common_server: Any, request_bytes: Any, path: str) -> None:
    server = common_server()
    head = get(server, request_bytes, path, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    refused = get(server, request_bytes, path, method="POST")
    assert (refused.status, refused.header("allow")) == (405, "GET, HEAD")


def test_a_draining_server_is_not_ready(live_server: Any, request_bytes: Any) -> None:
    gate = AdmissionGate(1, 1)
    server = live_server(gate=gate)
    assert get(server, request_bytes, "/readyz").status == 200
    gate.draining = True
    reply = get(server, request_bytes, "/readyz")
    assert (reply.status, reply.json["status"]) == (503, "draining")
    assert int(reply.header("retry-after")) >= 1
    assert get(server, request_bytes, "/healthz").status == 200


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
@pytest.mark.embedded_only("renames a table of an SQLite file")
@pytest.mark.parametrize("model", ["none", "minilm"])
def test_a_failing_database(live_server: Any, request_bytes: Any, tmp_path: Path, wait_until: Any, model: str) -> None:
    server = live_server({"embedding.model": model}, data_dir=tmp_path)

    def change(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "records.sqlite3")) as connection:
            connection.execute(statement)

    change("ALTER TABLE counter RENAME TO elsewhere")
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 503)
    reply = get(server, request_bytes, "/readyz").json
    assert (reply["status"], reply["parts"]["records"]) == ("unavailable", "down")
    assert reply["parts"]["vectors"] == ("off" if model == "none" else "ready")
    assert samples(get(server, request_bytes, "/metrics"))[("cstp_part_up", (("part", "records"),))] == 0
    change("ALTER TABLE elsewhere RENAME TO counter")
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 200)


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
@pytest.mark.embedded_only("renames a table of an SQLite file")
@pytest.mark.parametrize(
    ("method", "params"),
    [("cstp.queryDecisions", {"query": "x"}), ("cstp.recall", {"id": "x"}), ("cstp.recall", {"conversationId": "x"})],
)
def test_a_part_with_failing_calls_is_down_until_they_work_again_even_without_calls(
    live_server: Any, request_bytes: Any, tmp_path: Path, wait_until: Any, method: str, params: Any
) -> None:
    server = live_server(data_dir=tmp_path)
    token = server.token()

    def change(statement: str) -> None:
        with closing(sqlite3.connect(tmp_path / "records.sqlite3")) as connection:
            connection.execute(statement)

    def state() -> tuple[int, str]:
        reply = get(server, request_bytes, "/readyz")
        return reply.status, reply.json["parts"]["records"]

    wait_until(lambda: state() == (200, "ready"))
    change("ALTER TABLE records RENAME TO elsewhere")
    assert server.call(method, token, params).json["error"]["data"]["component"] == "records"
    wait_until(lambda: state() == (503, "down"))
    change("ALTER TABLE elsewhere RENAME TO records")
    wait_until(lambda: state() == (200, "ready"))
    assert "error" not in server.call("cstp.listEpisodes", token, {}).json


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
def test_a_hanging_database(live_server: Any, request_bytes: Any, own_postgresql: PostgreSQL, wait_until: Any) -> None:
    url = own_postgresql.database_url(own_postgresql.create_database())
    server = live_server({"embedding.model": "minilm", "store.url": url})
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 200)
    own_postgresql.freeze()
    with ThreadPoolExecutor(1) as other:
        noticed = other.submit(wait_until, lambda: get(server, request_bytes, "/readyz").status == 503)
        while not noticed.done():
            began = monotonic()
            assert get(server, request_bytes, "/healthz").status == 200
            assert monotonic() - began < 5
        noticed.result()
    assert get(server, request_bytes, "/readyz").json["parts"]["records"] == "down"
    own_postgresql.thaw()
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 200)
    own_postgresql.stop()
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 503)
    assert get(server, request_bytes, "/metrics").status == 200


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
def test_a_part_with_all_threads_hanging_is_reported(
    live_server: Any, request_bytes: Any, stores: Stores, tmp_path: Path, wait_until: Any, monkeypatch: Any
) -> None:
    records = open_records(stores.records(tmp_path))
    records.put([entry(Kind.DECISION, "d-1", title="Use a queue")], None)
    records.close()
    server = live_server({"embedding.model": "none", "vectors.deadline_seconds": 0.2}, data_dir=tmp_path)
    go_on, real, token, hung = Event(), KeywordIndex.search, server.token(), []

    def hanging(*arguments: Any, **more: Any) -> Any:
        hung.append(arguments)
        go_on.wait(60)
        return real(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(KeywordIndex, "search", hanging)
        while len(hung) < server.settings.vectors.threads:  # a busy machine ends some calls before they come so far
            assert server.call("cstp.queryDecisions", token, {"query": "queue"}).code == -32003
        wait_until(lambda: get(server, request_bytes, "/readyz").status == 503)
        assert get(server, request_bytes, "/readyz").json["parts"]["keywords"] == "down"
        go_on.set()
    wait_until(lambda: get(server, request_bytes, "/readyz").status == 200)
    assert len(server.call("cstp.queryDecisions", token, {"query": "queue"}).json["result"]["decisions"]) == 1


def test_a_lost_redis_only_degrades(live_server: Any, request_bytes: Any, redis_server: Any, wait_until: Any) -> None:
    redis = redis_server()
    server = live_server({"limits.redis_url": redis.url})
    wait_until(lambda: get(server, request_bytes, "/readyz").json["parts"]["limits"] == "shared")
    redis.kill()  # and no call notices it
    wait_until(lambda: get(server, request_bytes, "/readyz").json["status"] == "degraded")
    reply = get(server, request_bytes, "/readyz")
    assert (reply.status, reply.json["parts"]["limits"]) == (200, "degraded")


def test_calls_are_counted_by_method_and_code(live_server: Any, request_bytes: Any) -> None:
    server = live_server()
    token = server.token()
    call = {"jsonrpc": "2.0", "method": "cstp.whoami", "id": 1}
    server.post([call, call, call | {"method": "cstp.nothing"}, {}], token)
    server.call("cstp.whoami", token, [1])
    server.call("cstp.queryDecisions", token, {"query": "x"})
    server.post(call, "cstp_wrong_token")
    found = samples(get(server, request_bytes, "/metrics"))

    def calls(method: str, code: int) -> float:
        return found[("cstp_calls_total", (("code", str(code)), ("method", method)))]

    assert calls("cstp.whoami", 0) == 2
    assert calls("cstp.whoami", -32602) == 1
    assert calls("cstp.queryDecisions", 0) == 1
    assert calls("unknown", -32601) == 1
    assert calls("unknown", -32600) == 1
    assert found[("cstp_call_seconds_count", (("method", "cstp.whoami"),))] == 3
    assert found[("cstp_http_answers_total", (("status", "200"),))] == 3
    assert found[("cstp_http_answers_total", (("status", "401"),))] == 1


def test_the_state_of_every_part_can_be_watched(live_server: Any, request_bytes: Any) -> None:
    server = live_server({"embedding.model": "minilm"})
    token = server.token()
    for _ in range(3):
        server.call("cstp.queryDecisions", token, {"query": "the same words"})
    found = samples(get(server, request_bytes, "/metrics", server.token(scopes=("admin",))))
    assert found[("cstp_part_up", (("part", "records"),))] == 1
    assert found[("cstp_limiter_state", (("state", "memory"),))] == 1
    assert found[("cstp_index_lag", (("index", "columns"), ("space", "decisions")))] == 0
    assert found[("cstp_index_lag", (("index", "vectors"), ("space", "memory")))] == 0
    assert found[("cstp_index_records", (("space", "decisions"),))] == 0
    assert found[("cstp_pool_threads", (("pool", "embedder"),))] >= 1
    assert found[("cstp_pool_running", (("pool", "vectors"),))] == 0
    assert found[("cstp_embedding_cache_hits_total", ())] == 2
    assert found[("cstp_embedding_cache_misses_total", ())] == 1
    assert found[("cstp_requests_running", ())] == 0
    assert found[("process_open_fds", ())] > 0
    assert ("cstp_event_loop_lag_seconds_count", ()) in found


def test_metrics_reveal_neither_agents_nor_tokens_nor_texts(live_server: Any, request_bytes: Any) -> None:
    server = live_server()
    token = server.token("a-most-secret-agent")
    server.call("cstp.queryDecisions", token, {"query": "a-most-secret-query"})
    server.call("a-most-secret-method", token)
    assert b"secret" not in get(server, request_bytes, "/metrics").body


def test_metrics_need_the_scope_admin_if_others_can_reach_the_server(live_server: Any, request_bytes: Any) -> None:
    server = live_server({"server.host": "0.0.0.0"})
    refused = get(server, request_bytes, "/metrics")
    assert (refused.status, refused.json["error"]["code"]) == (401, -32001)
    assert refused.header("www-authenticate").startswith('Bearer realm="cstp", resource_metadata="http')
    assert get(server, request_bytes, "/metrics", "cstp_wrong_one").status == 401
    reader = get(server, request_bytes, "/metrics", server.token())
    assert (reader.status, reader.json["error"]["data"]) == (403, {"scope": "admin"})
    reply = get(server, request_bytes, "/metrics", server.token(scopes=("admin",)))
    assert (reply.status, reply.header("cache-control")) == (200, "no-store")
    assert get(server, request_bytes, "/readyz").status == 200


def test_readiness_reveals_no_internals(live_server: Any, request_bytes: Any, tmp_path: Path) -> None:
    body = json.dumps(get(live_server(data_dir=tmp_path), request_bytes, "/readyz").json)
    assert str(tmp_path) not in body


@pytest.mark.long("restarts a PostgreSQL, or waits for what hangs")
def test_hidden_records_are_not_counted(live_server: Any, request_bytes: Any, stores: Stores, tmp_path: Path) -> None:
    def figures(hidden: int, token: str | None) -> dict[str, float]:
        folder = tmp_path / f"{hidden}-{token}"
        folder.mkdir(exist_ok=True)
        records = open_records(stores.records(folder))
        secret = [entry(Kind.DECISION, f"d-{n}", title="Use a queue", sensitivity=1) for n in range(hidden)]
        records.put(secret, None)
        records.close()
        server = live_server(data_dir=folder)
        rights = {"scopes": (token,), "clearance": "highly_sensitive"}
        reply = get(server, request_bytes, "/metrics", token and server.token(**rights))
        found: defaultdict[str, float] = defaultdict(float)
        for (name, _), value in samples(reply).items():
            if name.startswith("cstp_index"):
                found[name] += value
        return dict(found)

    assert figures(0, None) == figures(3, None) == figures(3, "read") == {}
    assert figures(3, "admin") != figures(0, "admin") != {}


@pytest.mark.parametrize("path", ["/readyz", "/metrics", "/mcp"])
def test_a_page_of_another_host_is_refused(live_server: Any, path: str) -> None:
    server = live_server({"mcp.allowed_hosts": ["cstp.lan"], "server.public_url": "https://memory.example/team"})

    let_in = 405 if path == "/mcp" else 200  # if a GET comes after the check

    def status(*hosts: str, version: str = "1.1") -> int:
        with server.connect() as connection:
            fields = "".join(f"Host: {host}\r\n" for host in hosts)
            connection.send(f"GET {path} HTTP/{version}\r\n{fields}Connection: close\r\n\r\n".encode())
            found: int = connection.read("GET").status
            return found

    own = ("localhost", f"127.0.0.1:{server.port}", "[::1]:80", "cstp.lan", "memory.example", "memory.example:444")
    own += ("LOCALHOST", "Memory.Example")
    assert {host: status(host) for host in own} == dict.fromkeys(own, let_in)
    others = ("evil.example", "evil.example:8100", "localhost.evil.example:80", "cstp.lan:80", "localhost:80.evil", "")
    assert {host: status(host) for host in others} == dict.fromkeys(others, 421)
    assert status(version="1.0") == let_in  # a load balancer; every browser names a host
    assert status() == 400
