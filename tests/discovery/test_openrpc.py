"""The OpenRPC document: valid, complete, equal everywhere, with examples from real conversations."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from cstp.error_models import data_models
from cstp.errors import ERRORS
from cstp.methods.registry import METHODS
from cstp.validation import parse_params
from cstp_server.conformance.wire_files import agree, calls, folder, parse, read
from cstp_server.describe.openrpc import conversation_of, document_text, shipped_document
from cstp_server.generate.reference import EXAMPLES, ROOT

SCHEMAS = ROOT / "tests" / "schemas"
PATH = "/openrpc.json"
NAMES = [method.name for method in METHODS]


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(shipped_document())


def described(document: Any, name: str) -> Any:
    return next(method for method in document["methods"] if method["name"] == name)


def whole(document: Any, schema: Any) -> jsonschema.Draft202012Validator:
    """Return a validator for a schema in the document."""
    return jsonschema.Draft202012Validator({**schema, "components": document["components"]})


def load(name: str) -> Any:
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


def test_the_checked_in_document_equals_the_generated_document() -> None:
    assert (ROOT / "docs" / "openrpc.json").read_text(encoding="utf-8") == document_text(), "run: make docs"


@pytest.mark.long("starts several servers")
def test_the_document_is_valid_against_the_openrpc_meta_schema(document: Any) -> None:
    json_schema: Resource[Any] = DRAFT7.create_resource(load("json-schema.json"))
    # it is referred to with and without the slash at the end
    registry: Any = Registry().with_resources(
        [("https://meta.json-schema.tools", json_schema), ("https://meta.json-schema.tools/", json_schema)]
    )
    validator = jsonschema.Draft7Validator(load("openrpc.json"), registry=registry)
    validator.validate(document)
    broken = json.loads(shipped_document())
    del broken["methods"][0]["result"]
    broken["methods"][1]["params"][0]["schema"] = {"type": "text"}
    assert not validator.is_valid(broken)
    broken["methods"][0]["result"] = document["methods"][0]["result"]
    assert not validator.is_valid(broken), "schemas inside are looked at, too"


def test_every_method_is_documented_with_every_parameter_bound_and_error(document: Any) -> None:
    assert [method["name"] for method in document["methods"]] == NAMES
    for method in METHODS:
        entry = described(document, method.name)
        schema = method.params.model_json_schema(ref_template="#/components/schemas/{model}")
        properties = schema.get("properties", {})
        assert {param["name"]: param["schema"] for param in entry["params"]} == properties
        required = {param["name"] for param in entry["params"] if param["required"]}
        assert required == set(schema.get("required", ()))
        codes = {document["components"]["errors"][one["$ref"].rpartition("/")[2]]["code"] for one in entry["errors"]}
        assert codes >= {error.code for error in method.errors} | {-32602, -32603, -32001, -32002, -32010}
        assert (-32009 in codes) == (method.scope is not None)
        assert (entry["x-scope"], entry["x-cost"]) == (method.scope, method.cost)
    asked = {param["name"]: param["schema"] for param in described(document, "cstp.queryDecisions")["params"]}
    assert asked["limit"] == {"default": 10, "maximum": 50, "minimum": 1, "title": "Limit", "type": "integer"}


def test_every_error_is_documented_with_the_shape_of_its_data(document: Any) -> None:
    errors = document["components"]["errors"]
    assert set(errors) == {error.__name__ for error in ERRORS}
    for error in EXAMPLES:
        entry = errors[type(error).__name__]
        assert (entry["code"], entry["message"]) == (error.code, error.message)
        assert ("data" in entry) == (error.data is not None) == (type(error) in data_models())
        if error.data is not None:
            validator = whole(document, entry["data"])
            validator.validate(error.data)
            assert not validator.is_valid({})
            assert not validator.is_valid({**error.data, "another": 1})


def test_every_reference_in_the_document_leads_somewhere(document: Any) -> None:
    open_, seen = [document], 0
    while open_:
        value = open_.pop()
        if isinstance(value, dict) and isinstance(reference := value.get("$ref"), str):
            found: Any = document
            for step in reference.removeprefix("#/").split("/"):
                found = found[step]
            seen += 1
        open_ += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    assert seen > 50


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_method_is_from_its_conversation_and_valid(document: Any, name: str) -> None:
    method = next(one for one in METHODS if one.name == name)
    (example,) = described(document, name)["examples"]
    params = {one["name"]: one["value"] for one in example["params"]}
    parse_params(method.params, params)
    method.result.model_validate_json(json.dumps(example["result"]["value"]))
    whole(document, described(document, name)["result"]["schema"]).validate(example["result"]["value"])
    said = [
        (request.get("params", {}), response["result"])
        for request, response in calls(read(folder() / f"{conversation_of(name)}.txt"))
        if request["method"] == name
    ]
    # values noted by a conversation vary
    said_once = (re.sub("<(noted )?SEQ>", "<number>", json.dumps(one)) for one in said[0])
    given, result = (re.sub("<(noted )?[A-Z_]+>", "<text>", one) for one in said_once)
    agree(parse(given), parse(json.dumps(params)), None, "params")
    want, got = parse(result), parse(json.dumps(example["result"]["value"]))
    agree(want, got, None, "example")


def test_the_document_is_public_and_equals_that_of_rpc_discover(common_server: Any) -> None:
    server = common_server()
    reply = server.get(PATH)
    assert (reply.status, reply.header("content-type")) == (200, "application/json")
    assert reply.json == json.loads(shipped_document())
    for scopes in (["read"], ["admin"]):
        assert server.call("rpc.discover", server.token(scopes=scopes)).json["result"] == reply.json
    assert server.post({"jsonrpc": "2.0", "method": "rpc.discover", "id": 1}).status == 401


def test_the_document_names_the_public_url(live_server: Any) -> None:
    server = live_server({"server.public_url": "https://agents.example/a/"})
    assert server.get(PATH).json["servers"] == [{"name": "cstp", "url": "https://agents.example/a/cstp"}]


def test_the_wheel_has_the_document_and_the_conversations() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"docs/openrpc.json" = "cstp_server/openrpc.json"' in text
    assert '"tests/wire" = "cstp_server/wire"' in text
    assert not [path for path in Path(ROOT / "tests" / "wire").iterdir() if path.suffix not in (".txt", ".jsonl")]


def test_reading_methods_spell_common_parameters_alike(document: Any) -> None:
    asked = {
        name: set(parameter_names(document, described(document, name)["params"]))
        for name in NAMES
        if not next(method for method in METHODS if method.name == name).writes
    }
    about = re.compile("date|since|until|before|after|project|^id$|Id$", re.IGNORECASE)
    usual = {"dateFrom", "dateTo", "project", "id"}
    others = {
        name: sorted(odd)
        for name, names in asked.items()
        if (odd := {one for one in names if about.search(one)} - usual)
    }
    assert others == {
        "cstp.queryDecisions": ["dateAfter", "dateBefore"],
        "cstp.getGraph": ["nodeId"],
        "cstp.getChunk": ["chunkId"],
        "cstp.listEpisodes": ["since"],
        "cstp.recall": ["conversationId"],
        "cstp.getSessionContext": ["since"],  # a cursor
        "cstp.changes": ["since"],  # a number
        "cstp.audit": ["before", "since", "until"],  # `before` is a number
    }


def parameter_names(document: Any, params: Any) -> Iterator[str]:
    """Yield parameter names, and member names in their objects."""
    open_ = [(param["name"], param["schema"]) for param in params]
    while open_:
        name, schema = open_.pop()
        yield name
        if reference := next((one["$ref"] for one in schema.get("anyOf", [schema]) if "$ref" in one), None):
            open_ += document["components"]["schemas"][reference.rpartition("/")[2]]["properties"].items()
