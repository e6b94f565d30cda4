"""`cstp search`: the records of a server that answer a question, as a list for people."""

import re
from collections.abc import Iterator
from shutil import get_terminal_size
from textwrap import shorten, wrap
from typing import Annotated, Final

import typer

from cognition_engines.escapes import one_line
from cstp import DEFAULT_URL
from cstp.call import typed_call
from cstp.errors import CstpError
from cstp.fields import format_instant
from cstp.methods.everything import FOUND_TYPES, SEARCH, SearchedRecord
from cstp_server.cli.common import JsonOption, command_family
from cstp_server.cli.remote import (
    TimeoutOption,
    TokenOption,
    base_of,
    connected,
    print_error,
    required_token,
    show,
)
from cstp_server.terminal import say

app = command_family()
_WIDEST: Final = 100  # columns
_SNIPPET: Final = 240  # characters
_MARKS: Final = re.compile(r"(?m)^[ \t]*(?:#{1,6}|[*+-])[ \t]+")  # of Markdown, before headings and items


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(metavar="QUERY", help="The question, in plain words.")],
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kind", metavar="KIND", help=f"{', '.join(FOUND_TYPES)}; repeatable. Default: all."),
    ] = None,
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Only records of this project.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="Maximum number of records, 1 to 50.")] = 10,
    url: Annotated[str, typer.Option(envvar="CSTP_URL", metavar="URL", help="URL of the server.")] = DEFAULT_URL,
    token: TokenOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
) -> int:
    """Search records of all kinds, and print a list, best first: title, kind, status, date, id and a snippet.

    With --json, print the result of cstp.search. `cstp call` takes all of its parameters.
    """
    given = {"query": " ".join(words), "limit": limit, "kinds": kinds or None, "project": project}
    try:
        with connected(base_of(url, "--url"), required_token(token), timeout) as remote:
            result = remote.send(typed_call(SEARCH, given))
    except CstpError as error:
        return print_error(error, SEARCH.name, given, as_json=as_json)
    if as_json:
        show(result.model_dump(mode="json"), as_json=True)
    elif not result.results:
        say("no results", err=True)
    else:
        _print(result.results)
    return 0


def _print(results: list[SearchedRecord]) -> None:
    for number, found in enumerate(results):
        if number:
            say()
        say(_heading(found))
        say(f"  {', '.join(_facts(found))}")
        for line in _lines(found.snippet):
            say(f"  {line}")


def _heading(found: SearchedRecord) -> str:
    """Return the title, for a passage with its section."""
    title = found.title or found.source or str(found.id)
    section = None if found.place is None else found.place.section
    return title if section in (None, title) else f"{title} › {section}"


def _facts(found: SearchedRecord) -> Iterator[str]:
    yield found.type
    if found.superseded_by:
        yield f"superseded by {' and '.join(found.superseded_by)}"
    elif found.status:
        yield found.status
    if found.date is not None:
        yield format_instant(found.date)[:10]
    yield str(found.id)


def _lines(snippet: str) -> list[str]:
    """The snippet without marks of Markdown at the beginnings of its lines, in lines for a terminal."""
    text = shorten(one_line(" ".join(_MARKS.sub("", snippet).split())), _SNIPPET, placeholder=" …")
    return wrap(text, min(get_terminal_size().columns, _WIDEST) - 2)
