"""No text in any writing method passes a secret on: into a data folder file, or into an answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cognition_engines.masking.scanner import find_secrets
from cstp.methods.registry import METHODS
from tests.chaos.values import Parameter, parameters, variants
from tests.masking.fakes import fake
from tests.masking.full_calls import Path as JsonPath, full_calls, named, texts_in, turn, with_text
from tests.mcp.conftest import body_of, mcp_url, over_http
from tests.serving import SeededEmbedder, Serving

WRITING = sorted(method.name for method in METHODS if method.stores or method.writes)
OPEN = ("trace", "deliberation", "bridge", "preDecision")  # members with the agent's own texts and keys
FIXED = {"kind", "type", "outcome", "status", "edgeType", "updatedAt", "digest"}  # partly valid texts
OF_A_FORM = ("records", 0, "record", "id")  # begins with art_
pytestmark = pytest.mark.embedded_only("reads the bytes of the folder")


def is_text(one: Parameter) -> bool:
    """Return whether a parameter is free text, long enough for a secret."""
    of = [each for each in variants(one.schema, one.definitions) if each.get("type") == "string"]
    return any(not {"enum", "const", "format"} & each.keys() and each.get("maxLength", 100) >= 40 for each in of)


def secret_for(name: str) -> str:
    return "ghp_" + fake(36, seed=name)


def cases(method: str, params: Any) -> list[tuple[JsonPath, str, Any]]:
    """Return for each text of a call the path, the secret, and the call with the secret in place."""
    found = []
    for path in texts_in(params):
        if path[-1] not in FIXED and path != OF_A_FORM:
            secret = secret_for(f"{method} {path}")
            found.append((path, secret, with_text(params, path, secret)))
    return found


def leaks(folder: Path, secrets: list[str]) -> list[tuple[str, str]]:
    contents = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return [(name, one) for one in secrets for name, content in contents.items() if one.encode() in content]


def served(serve: Callable[..., Serving], policy: str) -> tuple[Serving, dict[str, Any]]:
    serving = serve(SeededEmbedder(), secrets={"agents": policy, "files": policy})
    one, other = [
        serving.ask("recordDecision", decision=f"use tool {number}", confidence=0.5)["id"] for number in range(2)
    ]
    memory = serving.ask("remember", content="a text that is replaced", project="text")["id"]
    return serving, dict(full_calls(one, other, memory))


def test_each_text_of_each_writing_method_is_in_its_full_call() -> None:
    calls = full_calls("dec_1", "dec_2", "art_1")
    assert sorted(calls) == WRITING
    for one in parameters():
        if one.method not in WRITING or not is_text(one) or one.path[-1] == "agentId" or one.path[0] in OPEN:
            continue
        if one.method == "cstp.putRecords" and one.path[0] in ("replaces", "lookUp"):
            continue  # names of stored records, only compared
        inside = [*texts_in(calls[one.method]), *(texts_in(turn()) if one.method == "cstp.remember" else ())]
        assert one.path in inside or one.path[-1] in FIXED | {"reviewIn"}, str(one)


@pytest.mark.long("calls for each text of a method")
@pytest.mark.parametrize("method", WRITING)
def test_a_masked_secret_is_in_no_file_and_in_no_answer(method: str, serve: Callable[..., Serving]) -> None:
    serving, calls = served(serve, "mask")
    if method == "cstp.storeKnowledge":  # clusters come from files alone, and the call needs the named clusters
        del calls[method]["records"][1]["clusterIds"]
    found = cases(method, calls[method]) + (cases("turn", turn()) if method == "cstp.remember" else [])
    for number, (path, secret, params) in enumerate(found):
        key = params["idempotencyKey"] if path == ("idempotencyKey",) else f"call-{number}"
        unique = params | {"idempotencyKey": key}
        answer = serving.send(method.removeprefix("cstp."), **unique)
        assert secret not in json.dumps(answer), named(path)
        fields = answer.get("result", {}).get("secrets") or answer.get("error", {}).get("data", {}).get("violations")
        assert [one["field"] for one in fields or ()] == [named(path)], (path, answer)
        again = serving.send(method.removeprefix("cstp."), **unique)
        assert again.get("result", {}).get("secrets") == answer.get("result", {}).get("secrets")
    left = leaks(serving.settings.data_dir, [secret for _, secret, _ in found])
    assert [(name, path) for name, one in left for path, secret, _ in found if secret == one] == []


@pytest.mark.long("calls for each text of a method")
@pytest.mark.parametrize("method", WRITING)
def test_a_refused_secret_is_named_by_its_field_alone(method: str, serve: Callable[..., Serving]) -> None:
    serving, calls = served(serve, "refuse")
    found = cases(method, calls[method]) + (cases("turn", turn()) if method == "cstp.remember" else [])
    for path, secret, params in found:
        answer = serving.send(method.removeprefix("cstp."), **params)
        assert answer["error"]["code"] == -32602, answer
        assert [one["field"] for one in answer["error"]["data"]["violations"]] == [named(path)], answer
        assert "github" in answer["error"]["data"]["violations"][0]["message"]
        assert secret not in json.dumps(answer), named(path)
    left = leaks(serving.settings.data_dir, [secret for _, secret, _ in found])
    assert [(name, path) for name, one in left for path, secret, _ in found if secret == one] == []


def test_keys_of_json_are_masked_like_values(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "mask")
    secret = secret_for("key")
    trace = {secret: 1, "inner": [{secret: {"password": "W1nter-in-Graz"}}]}
    done = serving.ask("recordDecision", decision="use keys", confidence=0.5, trace=trace)
    assert [one["kind"] for one in done["secrets"]] == ["github-pat", "github-pat", "password"]
    shown = serving.ask("getDecision", id=done["id"])["decision"]["trace"]
    assert shown["[masked: github-pat]"] == 1
    assert secret not in json.dumps(done) + json.dumps(shown)
    assert leaks(serving.settings.data_dir, [secret, "W1nter-in-Graz"]) == []


def test_a_warned_secret_is_stored_and_reported(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "warn")
    secret = secret_for("warned")
    done = serving.ask("remember", content=f"the key is {secret}")
    assert done["secrets"] == [{"field": "content", "kind": "github-pat", "masked": False}]
    assert leaks(serving.settings.data_dir, [secret]) != []


def test_an_allowed_secret_is_stored_without_a_look(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "allow")
    assert "secrets" not in serving.ask("remember", content=f"the key is {secret_for('allowed')}")


def test_a_call_without_secrets_has_no_member_for_them(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "mask")
    assert "secrets" not in serving.ask("remember", content="a plain text")


def test_equal_calls_under_a_key_get_equal_answers_with_masks(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "mask")
    call = {"content": f"the key is {secret_for('repeated')}", "idempotencyKey": "k1"}
    first, second = serving.ask("remember", **call), serving.ask("remember", **call)
    assert first["id"] == second["id"]
    assert first["secrets"] == second["secrets"]


async def test_a_tool_of_mcp_masks_secrets_and_reports_them(serve: Callable[..., Serving]) -> None:
    serving, _ = served(serve, "mask")
    secret = secret_for("tool")
    async with over_http(mcp_url(serving), serving.tokens[0]) as client:
        result = await client.call_tool("remember", {"content": f"the key is {secret}"})
    assert body_of(result)["secrets"] == [{"field": "content", "kind": "github-pat", "masked": True}]
    assert leaks(serving.settings.data_dir, [secret]) == []


def test_marks_in_place_of_a_password_are_no_secret() -> None:
    assert find_secrets("postgresql://cstp:…@db/cstp and redis://:***@cache/0") == ()
