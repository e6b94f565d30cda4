"""A form in the caller's editor for method parameters missing on the command line."""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from textwrap import fill
from typing import Any, Final

import typer
import yaml

from cstp.contract import Method
from cstp.errors import InvalidParams
from cstp.validation import parse_params
from cstp_server.terminal import say

WIDTH: Final = 100
_EDITORS: Final = ("VISUAL", "EDITOR")
_FALLBACK: Final = "vi"
# Members set by a command, from other options or directly.
_LEFT_OUT: Final = frozenset({"idempotencyKey", "agentId", "dryRun"})
# Texts with many lines.
_LONG: Final = frozenset({"context", "actualResult", "lessons", "notes", "reflection", "content"})
_WORDS: Final = {"boolean": "true or false", "object": "an object"}
_HEAD: Final = "# {summary}\n# Save and close to send it; close it unchanged to cancel. Empty members are not sent.\n"


@dataclass(frozen=True, slots=True)
class FilledForm:
    """A form filled in by the caller, and the file, kept until the call was sent."""

    params: Mapping[str, object]
    path: Path


def filled_form(method: Method[Any, Any], given: Mapping[str, object], saved: Path | None = None) -> FilledForm:
    """Open a form with `given`, or a saved form, until it is valid.

    Raise BadParameter without a terminal or an editor, and Abort if the caller gives up; the file stays then.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        needed = ", ".join(sorted(_required_names(method) - given.keys()))
        raise typer.BadParameter(f"required without a terminal: {needed}")
    path = _new_file(form_of(method, given)) if saved is None else saved
    while True:
        before = path.read_text(encoding="utf-8")
        _edit(path)
        text = path.read_text(encoding="utf-8")
        wrong = list(_find_faults(method, given, text))
        if saved is None and text == before:
            path.unlink()
            raise typer.Abort
        if not wrong:
            return FilledForm(read_form(text), path)
        for one in wrong:
            say(one, err=True)
        if not typer.confirm("edit it again?", default=True, err=True):
            say(f"the form is kept; open it again with --form {path}", err=True)
            raise typer.Abort
        saved = path


def _find_faults(method: Method[Any, Any], given: Mapping[str, object], text: str) -> Iterator[str]:
    """Yield the faults for which every server would refuse the form."""
    try:
        parse_params(method.params, {**given, **read_form(text)})
    except InvalidParams as error:
        yield from (f"{one.field}: {one.message}" for one in error.violations)
    except ValueError as error:
        yield str(error)


def _new_file(text: str) -> Path:
    with tempfile.NamedTemporaryFile("w", prefix="cstp-", suffix=".yaml", delete=False, encoding="utf-8") as file:
        file.write(text)
    return Path(file.name)


def form_of(method: Method[Any, Any], given: Mapping[str, object]) -> str:
    """Return all parameters as commented YAML, required parameters first, with the values in `given`."""
    schema = method.params.model_json_schema()
    required = _required_names(method)
    names = sorted(
        (name for name in schema["properties"] if name not in _LEFT_OUT), key=lambda one: one not in required
    )
    lines = [line for name in names for line in _member(name, schema, name in required, given.get(name))]
    return _HEAD.format(summary=method.summary) + "\n".join(lines) + "\n"


def read_form(text: str) -> dict[str, object]:
    """Return the members with a value. Raise ValueError with the line of invalid YAML."""
    try:
        found = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = "" if error.problem_mark is None else f"line {error.problem_mark.line + 1}: "
        raise ValueError(f"{line}{error.problem or 'is not YAML'}") from None
    if found is None:
        return {}
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise ValueError("must be members with their values")
    return {name: _to_json_value(value) for name, value in found.items() if value not in (None, "", [], {})}


def _to_json_value(value: object) -> object:
    """Return a value as JSON has it: YAML dates as text; text without line feeds at the ends."""
    if isinstance(value, str):
        return value.strip("\n")
    if isinstance(value, dict):
        return {str(name): _to_json_value(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_to_json_value(one) for one in value]
    return value.isoformat() if hasattr(value, "isoformat") else value


def _member(name: str, schema: Mapping[str, Any], required: bool, given: object) -> Iterator[str]:
    member = schema["properties"][name]
    kinds = list(dict.fromkeys(_describe_kinds(member, schema.get("$defs", {}))))
    about = ", ".join(filter(None, ["required" if required else "", " or ".join(kinds)]))
    yield ""
    yield fill(f"{about}. {member.get('description', '')}".strip(), WIDTH, initial_indent="# ", subsequent_indent="# ")
    if given is not None:
        yield yaml.safe_dump({name: given}, allow_unicode=True, width=WIDTH).rstrip("\n")
    elif kinds == ["text"] and (required or name in _LONG):
        yield f"{name}: |\n  "
    else:
        yield f"{name}:"


def _describe_kinds(schema: Mapping[str, Any], models: Mapping[str, Any]) -> Iterator[str]:
    """Yield a schema's allowed value kinds, in words."""
    if "enum" in schema:
        yield ", ".join(str(one) for one in schema["enum"])
    elif "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from _describe_kinds(branch, models)
    elif "$ref" in schema:
        yield f"{{{', '.join(models[schema['$ref'].rpartition('/')[2]]['properties'])}}}"
    elif (named := schema.get("type")) == "string":
        yield "text" if "format" not in schema else "a time"
    elif named in ("number", "integer"):
        low, high = schema.get("minimum"), schema.get("maximum")
        yield "a number" if low is None or high is None else f"a number from {low:g} to {high:g}"
    elif named == "array":
        items = " or ".join(dict.fromkeys(_describe_kinds(schema.get("items", {}), models)))
        yield f"a list of {items}" if items else "a list"
    elif named in _WORDS:
        yield _WORDS[named]


def _required_names(method: Method[Any, Any]) -> set[str]:
    return set(method.params.model_json_schema().get("required", ()))


def _edit(path: Path) -> None:
    """Open the environment's editor. Raise BadParameter if it cannot be started or fails."""
    editor = next((os.environ[name] for name in _EDITORS if os.environ.get(name)), _FALLBACK)
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        raise typer.BadParameter(f"the editor {editor!r} does not start ({error}); set EDITOR") from None
    if code != 0:
        raise typer.BadParameter(
            f"the editor {editor!r} ended with {code}; the form is kept; open it again with --form {path}"
        )
