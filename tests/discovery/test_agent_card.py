"""The agent card, and A2A compatibility kit rules for card, JSON-RPC and authentication without tasks."""

import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import jsonschema
import pytest

import cstp
from cognition_engines.errors import ConfigurationError
from cstp.methods.registry import METHODS
from cstp_server.describe.agent_card import EXTENSION
from cstp_server.generate.reference import ROOT
from cstp_server.loaded_settings import load_settings

CARD = "/.well-known/agent-card.json"
METADATA = "/.well-known/oauth-protected-resource"
DOCUMENTS = ["/openrpc.json", CARD, "/.well-known/agent.json", METADATA]
A2A_METHODS = ["SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "GetExtendedAgentCard"]
A2A_03 = ["message/send", "message/stream", "tasks/get", "tasks/list", "tasks/cancel"]
A2A_03 += ["agent/getAuthenticatedExtendedCard"]


@pytest.fixture
def server(common_server: Any) -> Any:
    return common_server()


@pytest.fixture
def card(server: Any) -> Any:
    return server.get(CARD).json


def test_the_card_is_valid_against_the_schema_of_a2a(card: Any) -> None:
    schema = json.loads((ROOT / "tests" / "schemas" / "a2a-agent-card.json").read_text(encoding="utf-8"))
    validator = jsonschema.Draft7Validator(schema)
    validator.validate(card)
    for name in ("supportedInterfaces", "capabilities", "skills", "version"):
        assert not validator.is_valid({key: value for key, value in card.items() if key != name})
    assert not validator.is_valid({**card, "url": "http://old.example"})


def test_the_card_lists_served_features_and_no_tasks(card: Any) -> None:
    assert card["version"] == cstp.__version__
    assert "not serve A2A messages, tasks or streams" in card["description"]
    switches = ("streaming", "pushNotifications", "extendedAgentCard")
    assert [card["capabilities"][name] for name in switches] == [False] * 3
    # a client of A2A finds no binding for messages
    assert {one["protocolBinding"] for one in card["supportedInterfaces"]} == {EXTENSION}
    served = {method.name for method in METHODS if method.scope is not None}
    assert {skill["id"] for skill in card["skills"]} == served


def test_the_extension_lists_methods_limits_and_auth(live_server: Any) -> None:
    server = live_server(
        {"limits.default": "500/minute; 40/second", "limits.costs": {"cstp.recall": 7}, "server.max_batch": 9}
    )
    (extension,) = server.get(CARD).json["capabilities"]["extensions"]
    assert (extension["uri"], extension["required"]) == (EXTENSION, True)
    told = extension["params"]
    assert {one["name"]: (one["scope"], one["cost"]) for one in told["methods"]} == {
        method.name: (method.scope, 7 if method.name == "cstp.recall" else method.cost) for method in METHODS
    }
    second, minute = {"policy": "second", "limit": 40, "window": 1}, {"policy": "minute", "limit": 500, "window": 60}
    sizes = {"maxBatch": 9, "maxBodyBytes": 1_048_576, "maxAnswerBytes": 5_242_880}
    assert told["limits"] == {"perAgent": [second, minute], **sizes}
    scopes = ["admin", "ratify", "read", "review", "write"]
    assert told["auth"] == {"scheme": "Bearer", "header": "Authorization", "scopes": scopes}


def test_the_interface_named_by_the_card_answers(server: Any) -> None:
    card = server.get(CARD, {"Host": "elsewhere.example"}).json
    url = card["supportedInterfaces"][0]["url"]
    assert url == f"http://127.0.0.1:{server.port}/cstp"
    assert card["capabilities"]["extensions"][0]["params"]["openrpc"] == f"http://127.0.0.1:{server.port}/openrpc.json"


@pytest.mark.parametrize("given", ["https://a.example:8443/agents/one", "https://a.example:8443/agents/one/cstp/"])
def test_the_card_names_the_public_url(live_server: Any, given: str) -> None:
    card = live_server({"server.public_url": given}).get(CARD).json
    assert card["supportedInterfaces"][0]["url"] == "https://a.example:8443/agents/one/cstp"
    assert (
        card["capabilities"]["extensions"][0]["params"]["openrpc"] == "https://a.example:8443/agents/one/openrpc.json"
    )


@pytest.mark.parametrize("path", DOCUMENTS)
def test_an_unchanged_document_is_not_sent_again(server: Any, path: str) -> None:
    first = server.get(path)
    tag = first.header("etag")
    assert tag.startswith('"')
    assert first.header("cache-control") == "public, max-age=300"
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        again = server.get(path, {"If-None-Match": known})
        assert (again.status, again.body) == (304, b"")
        assert (again.header("etag"), again.header("cache-control")) == (tag, "public, max-age=300")
        assert again.header("content-length") is None
    for other in ('"other"', tag[1:-1], ""):
        assert server.get(path, {"If-None-Match": other}).status == 200


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_is_read_and_nothing_else(server: Any, path: str) -> None:
    head = server.get(path, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.header("etag") == server.get(path).header("etag")
    refused = server.get(path, method="POST")
    assert (refused.status, refused.header("allow")) == (405, "GET, HEAD")


@pytest.mark.long("starts several servers")
def test_a_document_changes_its_tag_when_it_changes(live_server: Any, common_server: Any) -> None:
    for path in DOCUMENTS:
        moved = live_server({"server.public_url": "https://b.example"}).get(path)
        assert moved.header("etag") != common_server().get(path).header("etag")


@pytest.mark.parametrize("method", [*A2A_METHODS, *A2A_03])
def test_the_methods_of_a2a_are_not_there(server: Any, method: str) -> None:
    reply = server.call(method, server.token(), {})
    assert (reply.status, reply.code) == (200, -32601)


def test_the_card_declares_the_scheme_of_tokens(card: Any) -> None:
    (requirement,) = card["securityRequirements"]
    assert set(requirement["schemes"]) == set(card["securitySchemes"])
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://a.example", "a.example", "https://", "https://me:secret@a.example"),
        *("https://a.example/?q=1", "https://a.example/#x"),
    ],
)
def test_an_invalid_public_url_is_refused_and_not_repeated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CSTP_SERVER__PUBLIC_URL", url)
    with pytest.raises(ConfigurationError, match=r"server\.public_url") as refused:
        load_settings({})
    assert "secret" not in str(refused.value)


def test_the_card_is_at_the_earlier_path_too(common_server: Any, card: Any) -> None:
    assert common_server().get("/.well-known/agent.json").json == card


@pytest.mark.parametrize("path", DOCUMENTS)
def test_if_modified_since_is_answered_with_304(live_server: Any, path: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    server = live_server()
    modified = server.get(path).header("last-modified")
    assert before <= parsedate_to_datetime(modified) <= datetime.now(UTC)

    def status(**given: str) -> Any:
        return server.get(path, given).status

    assert status(If_Modified_Since=modified) == 304
    assert status(If_Modified_Since="Mon, 01 Jan 2024 00:00:00 GMT") == 200
    assert status(If_Modified_Since="yesterday") == 200
    assert status(If_Modified_Since=modified, If_None_Match='"other"') == 200


@pytest.mark.long("starts several servers")
@pytest.mark.parametrize("path", ["/cstp", "/mcp", "/metrics"])
def test_a_refusal_names_the_resource_metadata(live_server: Any, path: str) -> None:
    headers = {"Content-Type": "application/json", "Authorization": "Bearer cstp_0_0"}
    for public in (None, "https://memory.example/team"):
        server = live_server({"server.public_url": public} if public else {})
        url = public or f"http://127.0.0.1:{server.port}"
        refused = server.ask(path, b"{}", headers, "GET" if path == "/metrics" else "POST")
        challenge = refused.header("www-authenticate")
        assert challenge == f'Bearer realm="cstp", error="invalid_token", resource_metadata="{url}{METADATA}"'
        assert server.get(METADATA).json == {
            "resource": url,
            "resource_name": "cstp (CSTP)",
            "bearer_methods_supported": ["header"],
            "scopes_supported": ["read", "write", "review", "ratify", "admin"],
        }
