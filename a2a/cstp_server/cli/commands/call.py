"""`cstp call` prints results or all pages of a list; `cstp search` prints a list for people."""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size
from textwrap import shorten, wrap
from typing import Annotated, Any, Final

import typer

from cognition_engines.escapes import one_line
from cstp import DEFAULT_URL
from cstp.call import typed_call
from cstp.client.methods import Methods
from cstp.contract import Method
from cstp.errors import CstpError
from cstp.methods.everything import SEARCH
from cstp.methods.registry import METHODS
from cstp.values.everything import FOUND_TYPES, SearchedRecord
from cstp.values.fields import format_instant
from cstp_server.cli.conventions import JsonOption, TimeoutOption, TokenOption, UrlOption, command_family
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.remote import Remote, base_of, connect, print_error, required_token, show, types_of
from cstp_server.cli.utf8_texts import require_utf8
from cstp_server.terminal import say

app = command_family()
_FOLDER: Final = "cstp_server.cli.opened_folder"  # loaded by name: a host that only asks servers lacks its packages
_LARGEST: Final = 16 * 2**20  # bytes of a file of parameters; a server takes less
_OF_METHOD: Final[Mapping[str, Method[Any, Any]]] = {method.name: method for method in METHODS}


def method_names(incomplete: str) -> list[tuple[str, str]]:
    """Return the methods with their summaries."""
    return [(method.name, method.summary) for method in METHODS if method.name.startswith(incomplete)]


def parameter_names(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return `query=` for a text and `limit:=` for other values, without parameters already given."""
    method = next((one for one in METHODS if one.name == ctx.params.get("method")), None)
    if method is None:
        return []
    given = {word.partition("=")[0].removesuffix(":") for word in ctx.params.get("params") or ()}
    properties = method.params.model_json_schema().get("properties", {})
    offered = [(name, schema) for name, schema in properties.items() if name not in given]
    return [
        (f"{name}{'=' if 'string' in types_of(schema) else ':='}", schema.get("description", ""))
        for name, schema in offered
        if name.startswith(incomplete)
    ]


@app.command("call")
def call_command(
    method: Annotated[
        str,
        typer.Argument(
            metavar="METHOD", help="Name of the method, such as cstp.queryDecisions.", autocompletion=method_names
        ),
    ],
    params: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="KEY=VALUE", help="Parameters, as key=text or key:=json.", autocompletion=parameter_names
        ),
    ] = None,
    url: UrlOption = DEFAULT_URL,
    token: TokenOption = None,
    params_file: Annotated[
        str | None, typer.Option("--params", metavar="FILE", help="Parameters as a JSON object; - is standard input.")
    ] = None,
    every_page: Annotated[
        bool, typer.Option("--all", help="Read all pages of a list; with --json, one item per line.")
    ] = False,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> int:
    """Call a method and print its result.

    An error is printed on standard error with its remedy; with --json, as JSON. The exit code is its family: 4 not
    allowed, 5 refused, 6 not found, 7 later, 8 the server fails; 3 if no server answers.
    """
    secret = required_token(token)
    given = _read_params(params_file, params or [])
    listed = _list_member(method) if every_page else ""
    try:
        with connect(base_of(url, "--url"), secret, timeout) as remote:
            found = _items(remote, method, given, listed) if every_page else [remote.call(method, given)]
            for one in found:
                show(one, as_json=as_json)
    except CstpError as error:
        return print_error(error, method, given, as_json=as_json)
    return 0


def _items(remote: Remote, method: str, given: Mapping[str, object], listed: str) -> Iterator[object]:
    """Yield the items of all pages, of maximum size unless `limit` is given."""
    schema = _OF_METHOD[method].params.model_json_schema()["properties"]
    asked = {"limit": schema["limit"]["maximum"], "offset": 0, **given}
    if not isinstance(offset := asked["offset"], int) or isinstance(offset, bool):
        raise typer.BadParameter("offset: must be an integer", param_hint="KEY=VALUE")
    while True:
        page = remote.call(method, {**asked, "offset": offset})
        items = page.get(listed) if isinstance(page, dict) else None
        if not items or not isinstance(items, list):
            return
        yield from items
        offset += len(items)


def _list_member(method: str) -> str:
    """Return the result member with the items. Raise BadParameter for a method without pages."""
    paged = {name: one for name, one in _OF_METHOD.items() if "offset" in one.params.model_fields}
    if method not in paged:
        raise typer.BadParameter(f"only these methods have pages: {', '.join(paged)}", param_hint="--all")
    members = paged[method].result.model_json_schema(mode="serialization")["properties"]
    return next(str(name) for name, schema in members.items() if schema.get("type") == "array")


def _read_params(file: str | None, pairs: list[str]) -> dict[str, object]:
    """Return the params from the file and the words. Raise BadParameter for a param invalid or given twice."""
    found = {} if file is None else read_params(file)
    for name, value in parse_params(pairs).items():
        if name in found:
            raise typer.BadParameter(f"{name} is given twice", param_hint="KEY=VALUE")
        found[name] = value
    return found


def _start_of(path: Path) -> bytes:
    """Read enough from a file, pipe or device to see whether it is too large."""
    with path.open("rb") as file:
        return file.read(_LARGEST + 1)


def read_params(file: str) -> dict[str, object]:
    """Return a JSON object from a file, or from standard input for `-`. Raise BadParameter for anything else."""
    try:
        text = sys.stdin.buffer.read(_LARGEST + 1) if file == "-" else _start_of(Path(file))
        if len(text) > _LARGEST:
            raise typer.BadParameter(f"{file}: must have at most {_LARGEST:,} bytes", param_hint="--params")
        found = _load(text)
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--params") from None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise typer.BadParameter("must hold one JSON object", param_hint="--params")
    return found


def parse_params(pairs: list[str]) -> dict[str, object]:
    """Parse `key=text` and `key:=json`. Raise BadParameter for other pairs and repeated keys."""
    found: dict[str, object] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        name = key.removesuffix(":")
        if not separator or not name:
            raise typer.BadParameter(f"{pair!r} must be key=text or key:=json", param_hint="KEY=VALUE")
        if name in found:
            raise typer.BadParameter(f"{name} is given twice", param_hint="KEY=VALUE")
        if name == key:
            found[name] = value
            continue
        try:
            found[name] = _load(value)
        except (ValueError, RecursionError) as error:
            raise typer.BadParameter(f"{name}: the value after := is not JSON", param_hint="KEY=VALUE") from error
    return found


def _load(text: str | bytes) -> object:
    """Return the value of a JSON text. Raise ValueError for anything servers reject, such as 1e400 or \\ud800."""
    found: object = json.loads(text, parse_constant=_no_json)
    json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    return found


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_WIDEST: Final = 100  # columns
_SNIPPET: Final = 240  # characters
_MARKS: Final = re.compile(r"(?m)^[ \t]*(?:#{1,6}|[*+-])[ \t]+")  # of Markdown, before headings and items


@app.command()
def search(
    place: ReadPlace,
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="The question, in plain words.")],
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help=f"{', '.join(FOUND_TYPES)}; repeatable. Default: all."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Only records of this project.")
    ] = None,
    current: Annotated[
        bool, typer.Option("--current", help="Leave out superseded memories, and decisions that are not in force.")
    ] = False,
    paths: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="FILE", help="Only decisions that govern this file; repeatable."),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of records, 1 to 50.")] = 10,
) -> int:
    """Search records of all kinds, and print a list, best first: title, kind, status, date, id and a snippet.

    It reads the data folder, which needs no token, or asks the server of --url or CSTP_URL. With --json, print the
    result of cstp.search. `cstp call` accepts all of its parameters.
    """
    require_utf8(paths or (), "--path")
    given = {
        "query": " ".join(words),
        "limit": limit,
        "kinds": kinds or None,
        "project": project,
        "current": current or None,
        "paths": paths or None,
    }
    try:
        with _methods_of(place) as methods:
            result = methods.send(typed_call(SEARCH, given))
    except CstpError as error:
        return print_error(error, SEARCH.name, given, as_json=place.as_json)
    if place.as_json:
        show(result.model_dump(mode="json"), as_json=True)
    elif not result.results:
        say("no results", err=True)
    else:
        _print(result.results)
    return 0


def _methods_of(place: ReadPlace) -> AbstractContextManager[Remote | Methods]:
    if (url := place.server) is not None:
        return connect(base_of(url, "--url"), required_token(place.token), place.timeout)
    opened: AbstractContextManager[Methods] = import_module(_FOLDER).place_methods(place, "search")
    return opened


def _print(results: list[SearchedRecord]) -> None:
    for number, found in enumerate(results):
        if number:
            say()
        title = found.title or found.source or str(found.id)
        section = None if found.place is None else found.place.section
        say(title if section in (None, title) else f"{title} › {section}")
        say(f"  {', '.join(_facts(found))}")
        for line in _split_snippet(found.snippet or ""):
            say(f"  {line}")


def _facts(found: SearchedRecord) -> Iterator[str]:
    yield found.type
    if found.superseded_by:
        yield f"superseded by {' and '.join(found.superseded_by)}"
    elif found.status:
        yield found.status
    if found.date is not None:
        yield format_instant(found.date)[:10]
    yield str(found.id)


def _split_snippet(snippet: str) -> list[str]:
    """Return a snippet as terminal lines, without Markdown marks at line starts."""
    text = shorten(one_line(" ".join(_MARKS.sub("", snippet).split())), _SNIPPET, placeholder=" …")
    return wrap(text, min(get_terminal_size().columns, _WIDEST) - 2)
