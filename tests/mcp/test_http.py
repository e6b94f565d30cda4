"""`POST /mcp` before the protocol begins: token, Host and Origin, type, size, slots; and parts of every answer."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cstp_server.limits.admission import AdmissionGate
from cstp_server.mcp.profiles import chosen_tools

Live = Any
Start = Callable[..., Live]
Ask = Callable[..., Any]
ALL = "/mcp?tools=all"
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def ask() -> Callable[..., Any]:
    """Return `ask(server, body, token, Header="value")`: asks on a separate connection; None omits a header."""

    def send(
        live: Live, body: object, token: str | None, method: str = "POST", path: str = "/mcp", **given: str | None
    ) -> Any:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Host": f"127.0.0.1:{live.port}", "Content_Type": "application/json", **ACCEPT}
        return live.ask(path, data, headers | {"Authorization": token and f"Bearer {token}"} | given, method)

    return send


@pytest.fixture
def live(common_server: Start) -> Live:
    return common_server({"mcp.allowed_hosts": ["cstp.lan:*"], "mcp.allowed_origins": ["https://app.example.com"]})


def test_an_answer_is_one_json_document(live_server: Start, ask: Ask) -> None:
    live = live_server({"limits.default": "600/minute; 60/second"})
    reply = ask(live, LIST, live.token(), X_Request_ID="mine")
    assert reply.status == 200
    assert reply.header("content-type") == "application/json"
    assert reply.header("x-request-id") == "mine"
    assert reply.header("ratelimit-policy") == '"second";q=60;w=1, "minute";q=600;w=60'
    assert (reply.header("cache-control"), reply.header("x-content-type-options")) == ("no-store", "nosniff")
    assert reply.header("mcp-session-id") is None
    assert {tool["name"] for tool in reply.json["result"]["tools"]} == chosen_tools("ask")


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize("command", ["serve", "token", "call", "status", "ingest"])
def test_no_command_imports_anything_of_mcp_before_it_is_asked(command: str) -> None:
    module = f"cstp_server.cli.main, cstp_server.cli.commands.{command}"
    code = f"import sys, {module}; print([name for name in sys.modules if name.startswith('mcp')])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"


@pytest.mark.long("starts a program that speaks MCP")
def test_concurrent_first_requests_are_answered(live_server: Start, ask: Ask) -> None:
    live = live_server()
    token = live.token()
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: ask(live, LIST, token), range(8)))
    assert [reply.status for reply in replies] == [200] * 8


def test_an_endpoint_that_cannot_be_made_is_a_500_and_others_work(
    live_server: Start, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = live_server()
    token = live.token()
    with monkeypatch.context() as patched:
        patched.setattr("cstp_server.mcp.mount._ENDPOINT", "cstp_server.mcp.absent")
        for _ in range(2):
            reply = ask(live, LIST, token)
            assert (reply.status, reply.body) == (500, b"Internal Server Error")
        assert live.call("cstp.whoami", token).code == 0
    assert ask(live, LIST, token).status == 200


@pytest.mark.long("starts a program that speaks MCP")
@pytest.mark.parametrize("token", [None, "cstp_0_0", "nothing"])
def test_no_live_token_is_401(live_server: Start, ask: Ask, token: str | None) -> None:
    for body in (LIST, {**LIST, "method": "initialize"}, b"no json"):
        reply = ask(live_server(), body, token)
        assert reply.status == 401
        challenge = 'Bearer realm="cstp"' + (', error="invalid_token"' if token else "")
        metadata = reply.header("www-authenticate").removeprefix(f"{challenge}, resource_metadata=").strip('"')
        assert metadata.endswith("/.well-known/oauth-protected-resource")
        assert reply.json == {"error": {"code": "UNAUTHORIZED", "message": "Authentication required", "details": {}}}


def test_too_many_wrong_tokens_are_429(live_server: Start, ask: Ask) -> None:
    live = live_server({"limits.auth_failures": "1/minute"})
    assert ask(live, LIST, "cstp_0_0").status == 401
    reply = ask(live, LIST, "cstp_0_0")
    assert reply.status == 429
    assert reply.header("retry-after") is not None
    assert reply.json["error"]["code"] == "RATE_LIMITED"


SENDERS = {
    ("Host", 200): ["127.0.0.1", "localhost:8100", "[::1]:1", "cstp.lan:443", "cstp.lan:8100"],
    ("Host", 421): ["evil.example.com", "cstp.lan", "127.0.0.1.evil.example", "localhost.evil:80", ""],
    ("Origin", 200): [None, "http://localhost:3000", "http://127.0.0.1", "https://app.example.com"],
    ("Origin", 403): ["https://evil.example.com", "null", "https://app.example.com.evil.example"],
}


@pytest.mark.parametrize(("header", "status"), SENDERS)
def test_local_and_named_hosts_and_origins_are_let_in(live: Live, ask: Ask, header: str, status: int) -> None:
    for value in SENDERS[header, status]:
        assert ask(live, LIST, live.token(), **{header: value}).status == status, value


PREFLIGHT = {"Access_Control_Request_Method": "POST"}


@pytest.mark.parametrize("origin", ["https://app.example.com", "http://localhost:6274"])
def test_an_allowed_preflight_needs_no_token(live: Live, ask: Ask, origin: str) -> None:
    wanted = "authorization,content-type,mcp-protocol-version,mcp-method"
    asked = {"Access_Control_Request_Headers": wanted, "Access_Control_Request_Private_Network": "true", **PREFLIGHT}
    reply = ask(live, b"", None, "OPTIONS", Origin=origin, **asked)
    assert reply.status == 200
    assert reply.header("access-control-allow-origin") == origin
    assert "POST" in reply.header("access-control-allow-methods")
    assert reply.header("access-control-allow-headers") == wanted
    assert reply.header("access-control-allow-private-network") == "true"
    assert reply.header("access-control-allow-credentials") is None


def test_answers_to_an_allowed_page_can_be_read_by_it_errors_too(live: Live, ask: Ask) -> None:
    origin = "https://app.example.com"
    for token, method, status in ((live.token(), "POST", 200), (None, "POST", 401), (live.token(), "GET", 405)):
        reply = ask(live, LIST, token, method, Origin=origin)
        assert (reply.status, reply.header("access-control-allow-origin")) == (status, origin)
        assert "RateLimit" in reply.header("access-control-expose-headers")
        assert reply.header("vary") == "Origin"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"Origin": "https://evil.example.com"}, 403),
        ({"Origin": "http://localhost.evil.example:80"}, 403),
        ({"Origin": "https://app.example.com:444"}, 403),
        ({"Origin": "http://localhost:80", "Host": "evil.example.com"}, 421),
        ({"Origin": "http://localhost:80.evil"}, 403),
    ],
    ids=str,
)
def test_other_preflights_are_empty(live: Live, ask: Ask, given: Mapping[str, str], status: int) -> None:
    reply = ask(live, b"", None, "OPTIONS", **PREFLIGHT, **given)
    assert (reply.status, reply.header("access-control-allow-origin")) == (status, None)


def test_cstp_has_no_cors(live: Live) -> None:
    asked = {"Origin": "http://localhost:80"}
    reply = live.call("cstp.whoami", live.token(), headers=asked)
    assert (reply.status, reply.header("access-control-allow-origin"), reply.header("vary")) == (200, None, None)


def test_the_public_url_is_host_and_origin(live_server: Start, ask: Ask) -> None:
    live = live_server({"server.public_url": "https://memory.example.org/team"})
    given = {"Host": "memory.example.org", "Origin": "https://memory.example.org"}
    assert ask(live, LIST, live.token(), **given).status == 200
    assert ask(live, LIST, live.token(), Host="memory.example.com").status == 421


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_streams_and_sessions_cannot_be_opened_or_ended(live: Live, ask: Ask, method: str) -> None:
    reply = ask(live, b"", live.token(), method)
    assert (reply.status, reply.header("allow")) == (405, "POST")


def test_type_and_size_are_checked_as_on_cstp(live_server: Start, ask: Ask) -> None:
    live = live_server({"server.max_body_bytes": 200})
    assert ask(live, LIST, live.token(), Content_Type="text/plain").status == 415
    assert ask(live, LIST, live.token(), Content_Encoding="gzip").status == 415
    reply = ask(live, {**LIST, "params": {"_meta": "x" * 200}}, live.token())
    assert reply.status == 413
    assert reply.json["error"]["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("draining", [True, False])
def test_a_full_server_answers_503(live_server: Start, ask: Ask, draining: bool) -> None:
    gate = AdmissionGate(1, 1) if draining else AdmissionGate(0, 0)
    gate.draining = draining
    live = live_server(gate=gate)
    reply = ask(live, LIST, live.token())
    assert reply.status == 503
    assert reply.header("retry-after") == "1"
    assert reply.json["error"]["code"] == "OVERLOADED"


def test_tools_cost_the_same_as_their_methods(live_server: Start, ask: Ask) -> None:
    live = live_server({"limits.default": "12/minute"})
    token = live.token()

    def left(body: object) -> str:
        reply = ask(live, body, token)
        return re.findall(r"r=(\d+)", reply.header("ratelimit"))[0]

    def tool(**params: object) -> dict[str, object]:
        return {**LIST, "method": "tools/call", "params": params}

    bodies = [LIST, b"no json", [LIST], {"id": 1}, {**LIST, "method": "ping"}, {**LIST, "method": 1}]
    assert [left(body) for body in bodies] == ["11", "10", "9", "8", "7", "6"]
    # no tool, an unknown tool, and a known tool
    tools = [tool(), tool(name="nothing"), tool(name="query_decisions", arguments={"query": "index"})]
    assert [left(body) for body in tools] == ["5", "4", "2"]
    assert [left(LIST), left(LIST)] == ["1", "0"]
    for body in (LIST, b"no json", tool()):
        reply = ask(live, body, token)
        assert (reply.status, reply.json["error"]["code"]) == (429, "RATE_LIMITED")
        assert int(reply.header("retry-after")) >= 1


def test_a_second_process_answers_after_a_notification_202(live: Live, ask: Ask) -> None:
    token = live.token()
    reply = ask(live, {"jsonrpc": "2.0", "method": "notifications/initialized"}, token)
    assert (reply.status, reply.body) == (202, b"")
    # no initialize came before this on any connection: nothing is kept between requests
    call: Mapping[str, object] = {**LIST, "method": "tools/call", "params": {"name": "list_episodes", "arguments": {}}}
    assert ask(live, call, token, path=ALL).json["result"]["structuredContent"]["status"] == "success"


def test_calls_of_tools_are_counted_and_logged_like_those_of_cstp(
    live_server: Start, ask: Ask, log_output: Callable[[str], Any]
) -> None:
    log = log_output("info")
    live = live_server()
    token = live.token("ada")
    secret = "what nobody must read in a log"
    arguments = {"query": secret}
    call = {**LIST, "method": "tools/call", "params": {"name": "query_decisions", "arguments": arguments}}
    assert ask(live, call, token, X_Request_ID="mine").status == 200
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    (line,) = [line for line in lines if line["event"] == "call"]
    logged = tuple(line[name] for name in ("method", "agent", "code", "request_id"))
    assert logged == ("cstp.queryDecisions", "ada", 0, "mine")
    assert secret not in log.getvalue()
    figures = live.get("/metrics").body.decode()
    assert 'cstp_calls_total{code="0",method="cstp.queryDecisions"} 1.0' in figures
    assert 'cstp_http_answers_total{status="200"} 1.0' in figures


def test_long_texts_cost_tools_the_same(live_server: Start, ask: Ask) -> None:
    live = live_server({"limits.default": "50/minute"})
    token = live.token()

    def left(length: int) -> str:
        call = {**LIST, "method": "tools/call", "params": {"name": "recall", "arguments": {"query": "x" * length}}}
        return str(ask(live, call, token, path=ALL).header("ratelimit"))

    assert left(1024).startswith('"minute";r=48;')
    assert left(4097).startswith('"minute";r=42;')


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/mcp", {"Accept": None}),
        ("/mcp", {"Accept": ""}),
        ("/mcp", {"Accept": "*/*"}),
        ("/mcp", {"Accept": "application/json"}),
        ("/mcp/", {}),
        ("/mcp/", {"Accept": None, "Content_Type": "Application/JSON"}),
        ("/mcp", {"Content_Type": "APPLICATION/json; Charset=UTF-8"}),
        ("/mcp", {"Content_Type": "application/json-rpc"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("version", [None, "2026-07-28"])
def test_clients_as_they_are_get_an_answer(
    live: Live, ask: Ask, path: str, given: Mapping[str, str | None], version: str | None
) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    modern = {"MCP_Protocol_Version": version, "Mcp_Method": "tools/list"} if version else {}
    body = {**LIST, "params": {"_meta": meta}} if version else LIST
    reply = ask(live, body, live.token(), path=path, **modern, **given)
    assert (reply.status, reply.header("content-type")) == (200, "application/json")
    assert len(reply.json["result"]["tools"]) == len(chosen_tools("ask"))


@pytest.mark.parametrize(
    ("body", "status", "id", "code"),
    [
        (b"", 400, None, -32700),
        (b'{"jsonrpc": "2.0", "id": 1', 400, 1, -32700),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', 400, None, -32700),
        (b"[" * 65 + b"]" * 65, 400, None, -32700),
        ([LIST, LIST], 400, None, -32600),
        (1, 400, None, -32600),
        pytest.param({**LIST, "params": {"a": [0] * 20_001}}, 400, 1, -32600, id="too many values"),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\\ud83d"}}', 400, 7, -32700),
        (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"limit":NaN}}', 400, "a", -32700),
        (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/call","params":{"limit":NaN}}', 400, 8, -32700),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":1},"id":"b"}', 200, "b", -32602),
        ({**LIST, "id": 1.5}, 400, None, -32600),
        ({**LIST, "id": None}, 400, None, -32600),
        ({**LIST, "params": [1]}, 400, 1, -32600),
        ({**LIST, "method": "tools/call", "params": {"name": "search", "arguments": []}}, 200, 1, -32602),
    ],
    ids=str,
)
def test_bad_bodies_are_answered(live: Live, ask: Ask, body: object, status: int, id: object, code: int) -> None:
    reply = ask(live, body, live.token())
    assert (reply.status, reply.json["id"], reply.code) == (status, id, code)


def deep(levels: int) -> str:
    return '{"a":' * levels + "1" + "}" * levels


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"query": "crane", "kinds": f"[{'[],' * 300_000}[]]"}, "kinds must have at most 20000 values"),
        ("search", {"query": "crane", "kinds": "[" * 1020 + "]" * 1020}, "kinds must nest at most 64 levels deep"),
        ("query_decisions", {"query": "crane", "filters": deep(1020)}, "filters must nest at most 64 levels deep"),
        ("query_decisions", {"query": "crane", "filters": {"tags": "[" * 65}}, "filters.tags must nest at most 64"),
        ("record_decision", {"decision": "Oil it", "confidence": 1, "trace": deep(500)}, "trace must nest at most 64"),
        ("record_decision", {"decision": "Oil it", "confidence": 1, "trace": f'{{"n":{2**64}}}'}, "at most 64 bits"),
        ("record_decision", {"decision": "Oil it", "confidence": 1, "trace": {"n": 2**63}}, "trace must have whole"),
        ("update_decision", {"id": "x", "updates": {"pre_decision": deep(65)}}, "updates.pre_decision must nest"),
        (
            "record_decision",
            {"decision": "Oil it", "confidence": 1, "trace": f"[{'1,' * 12_000}1]", "bridge": f"[{'1,' * 12_000}1]"},
            "bridge must have at most 20000 values, together with the other JSON texts of the call",
        ),
    ],
    ids=["values", "depth", "object", "inner", "trace", "bits", "bits-in-object", "updates", "sum"],
)
def test_a_json_text_has_the_bounds_of_a_body_and_is_read_after_the_charge(
    common_server: Start, ask: Ask, tool: str, arguments: object, told: str
) -> None:
    live = common_server({"limits.default": "1000000/minute"})
    token = live.token(tool + told[:9], scopes=("read", "write"))
    call = {**LIST, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    reply = ask(live, call, token, path=ALL)
    assert told in reply.json["result"]["content"][0]["text"]
    assert len(reply.body) < 1000
    largest = max(len(value) for value in json.dumps(arguments).split('"'))
    assert int(re.findall(r"r=(\d+)", reply.header("ratelimit"))[0]) <= 1_000_000 - largest // 1024
