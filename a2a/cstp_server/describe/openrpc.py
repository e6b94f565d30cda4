"""The OpenRPC document, generated from the method values: `docs/openrpc.json`, `GET /openrpc.json` and `rpc.discover`.

Each method's example comes from the first call with a result in the conversation with the method's name. Variable parts
are filled in: 1 for a number, a fixed time, an empty list or object.
"""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final, Literal

from pydantic.json_schema import models_json_schema

import cstp
from cstp.contract import Method
from cstp.error_models import data_models
from cstp.errors import ERRORS, CstpError
from cstp.methods.registry import METHODS
from cstp.values.base import Wire
from cstp.values.system import DiscoverResult
from cstp_server.conformance.wire_files import Conversation, calls, folder, read

OPENRPC: Final = "1.3.2"
_ABOUT: Final = (
    "The Cognition State Transfer Protocol: ask an agent what it decided, learned and remembers. JSON-RPC 2.0 over "
    "POST /cstp with Authorization: Bearer. Parameters are given by name, in camelCase or snake_case; unknown ones are "
    "refused; null for one that is not required counts as absent. Whole numbers may be written as 10 or 10.0. In the "
    "errors of this document, data is the JSON Schema of an error's data."
)
_NAMED: Final = re.compile("<(?:noted )?([A-Z_]+)>")
_NAMES: Final = {"FIRST": "dec_2f6b0c9d4e1a8b37", "RECORDED": "<time>", "SEQ": "<number>"}  # noted by conversations
_FILLED: Final[Mapping[str, object]] = {
    "<boolean>": True,
    "<number>": 1,
    "<text>": "text",
    "<time>": "2026-01-31T09:30:00Z",
    "<list>": [],
    "<object>": {},
    "<request id>": "8c1f0a5e",
}
_SCHEMAS: Final = "#/components/schemas/"
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
Schema = Mapping[str, Any]
Mode = Literal["validation", "serialization"]


def shipped_document() -> str:
    """Return the text of `docs/openrpc.json`: from the wheel, or from an editable install's checkout."""
    packaged = Path(str(files("cstp_server"))) / "openrpc.json"
    return (packaged if packaged.is_file() else _in_checkout()).read_text(encoding="utf-8")


def _in_checkout() -> Path:
    return Path(__file__).parents[3] / "docs" / "openrpc.json"


def discover(public_url: str | None) -> DiscoverResult:
    """Return the shipped document as a result, with `public_url` before the endpoint's path."""
    document = json.loads(shipped_document())
    document["servers"] = [{"name": "cstp", "url": f"{public_url or ''}/cstp"}]
    return DiscoverResult.model_validate(document)


def document_text() -> str:
    """Return the text of `docs/openrpc.json`."""
    return json.dumps(make_document(), indent=1, ensure_ascii=False) + "\n"


def make_document() -> dict[str, object]:
    """Return the document, made from METHODS, the errors' data and the conversations."""
    models: list[tuple[type[Wire], Mode]] = []
    for method in METHODS:
        models += [(method.params, "validation"), (method.result, "serialization")]
    of_errors = data_models()
    models += [(model, "serialization") for model in of_errors.values()]
    references, defined = models_json_schema(list(dict.fromkeys(models)), ref_template=_SCHEMAS + "{model}")
    schemas: dict[str, Any] = dict(defined["$defs"])
    methods = []
    for method in METHODS:
        name = references[method.params, "validation"]["$ref"].removeprefix(_SCHEMAS)
        methods.append(_method(method, schemas[name], references[method.result, "serialization"]))
    for method in METHODS:
        schemas.pop(references[method.params, "validation"]["$ref"].removeprefix(_SCHEMAS), None)
    data = {error: references[model, "serialization"] for error, model in of_errors.items()}
    return {
        "openrpc": OPENRPC,
        "info": {
            "title": "CSTP",
            "version": cstp.__version__,
            "description": _ABOUT,
            "license": {"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
        },
        "servers": [{"name": "cstp", "url": "/cstp"}],
        "methods": methods,
        "components": {"schemas": schemas, "errors": {error.__name__: _error(error, data) for error in ERRORS}},
    }


def _method(method: Method[Any, Any], params: Schema, result: Schema) -> dict[str, object]:
    needs = "Any live token may call it." if method.scope is None else f"Needs the scope {method.scope}."
    required = params.get("required", ())
    errors = (*method.errors, *method.common_errors)
    return {
        "name": method.name,
        "summary": method.summary,
        "description": f"{needs} A call costs {method.cost} of the agent's limit unless the server says otherwise, and "
        "one more for each 1,024 characters of a text beyond its first 1,024; up to three more where characters other "
        "than ASCII letters, digits and spaces, which count as four, make more of it.\n\n"
        f"{cleandoc(str(method.params.__doc__))}",
        "paramStructure": "by-name",
        "params": [_param(name, schema, name in required) for name, schema in params["properties"].items()]
        if "properties" in params
        else [],
        "result": {"name": method.result.__name__, "schema": result},
        "errors": [{"$ref": f"#/components/errors/{error.__name__}"} for error in errors],
        "examples": [_example(method)],
        "x-scope": method.scope,
        "x-cost": method.cost,
    }


def _param(name: str, schema: Schema, required: bool) -> dict[str, object]:
    described = {"description": schema["description"]} if "description" in schema else {}
    return {"name": name, **described, "required": required, "schema": schema}


def _error(error: type[CstpError], data: Mapping[type[CstpError], Schema]) -> dict[str, object]:
    return {"code": error.code, "message": error.message} | ({"data": data[error]} if error in data else {})


def conversation_of(method: str) -> str:
    """Return the conversation name for a method: `get-chunk` for `cstp.getChunk`."""
    return "-".join(_WORD.findall(method.removeprefix("cstp."))).lower()


def example_call(method: Method[Any, Any]) -> tuple[Mapping[str, Any], Any]:
    """Return a request to the method and the result, as in a conversation, with variable parts filled in."""
    conversation: Conversation = read(folder() / f"{conversation_of(method.name)}.txt")
    request, response = next(pair for pair in calls(conversation) if pair[0].get("method") == method.name)
    if not isinstance(request.get("params", {}), Mapping):
        raise ValueError(f"{conversation.name}: the first call has no params by name")
    filled = _fill_references(request)
    assert isinstance(filled, dict)
    return filled, _fill_references(response["result"])


def _example(method: Method[Any, Any]) -> dict[str, object]:
    request, result = example_call(method)
    name = conversation_of(method.name)
    return {
        "name": name,
        "description": f"From the conversation {name}.txt; what varies in the answer is filled in.",
        "params": [{"name": name, "value": value} for name, value in request.get("params", {}).items()],
        "result": {"name": "result", "value": result},
    }


def _fill_references(value: object) -> object:
    if isinstance(value, dict):
        return {name: _fill_references(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_fill_references(item) for item in value]
    if isinstance(value, str) and (named := _NAMED.fullmatch(value)):
        value = _NAMES.get(named[1], "<text>")
    return _FILLED.get(value, value) if isinstance(value, str) else value
