"""`cstp context`: a briefing for a session start, from a server or a data folder."""

from collections.abc import Mapping
from typing import Annotated

import typer

from cstp.call import typed_call
from cstp.client.methods import Methods
from cstp.errors import CstpError
from cstp.methods.everything import GET_SESSION_CONTEXT
from cstp.values.session_context import SECTIONS
from cstp_server.cli.allowed_values import allowed_values
from cstp_server.cli.commands.changes import parse_cursor
from cstp_server.cli.opened_folder import place_methods
from cstp_server.cli.options import command_family, repository_here
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.remote import print_error, show
from cstp_server.cli.utf8_texts import require_utf8
from cstp_server.hook.touched import Touched, touched_in
from cstp_server.terminal import say, say_lines

app = command_family()
SinceOption = Annotated[
    str | None, typer.Option("--since", metavar="CURSOR", help="The cursor of an earlier briefing: adds changes.")
]


@app.command("context")
def context_command(
    place: ReadPlace,
    task: Annotated[list[str] | None, typer.Argument(metavar="TASK", help="The task, in plain words.")] = None,
    files: Annotated[
        list[str] | None,
        typer.Option("--file", metavar="PATH", help="To be worked on, from the root of the repository; repeatable."),
    ] = None,
    project: Annotated[str | None, typer.Option("--project", metavar="NAME", help="Only this project.")] = None,
    since: SinceOption = None,
    include: Annotated[
        list[str] | None,
        typer.Option("--include", metavar="SECTION", help=f"{', '.join(SECTIONS)}; repeatable. Default: all."),
    ] = None,
    max_tokens: Annotated[
        int,
        typer.Option("--max-tokens", metavar="N", help=f"Length, {allowed_values(GET_SESSION_CONTEXT, 'max_tokens')}."),
    ] = GET_SESSION_CONTEXT.params.model_fields["max_tokens"].default,
) -> int:
    """Print a briefing for the start of a session: decisions for the task, reviews that are due, changes, lessons.

    It is Markdown in a fence, for the context of an agent; the line on standard error has the cursor for --since. With
    --json, print the result of cstp.getSessionContext.
    """
    require_utf8(files or (), "--file")
    here = repository_here()
    touched = touched_in(here.root) if here and not (task or files) else Touched((), "")
    given = {
        "task_description": " ".join(task or ()) or touched.words or None,
        "files": files or touched.files or None,
        "repository": here and here.name,
        "project": project,
        "since": None if since is None else parse_cursor(since),
        "include": include or None,
        "max_tokens": max_tokens,
        "format": "json" if place.as_json else "markdown",
    }
    try:
        with place_methods(place, "context") as methods:
            _print(methods, given, as_json=place.as_json)
    except CstpError as error:
        return print_error(error, GET_SESSION_CONTEXT.name, given, as_json=place.as_json)
    return 0


def _print(methods: Methods, given: Mapping[str, object], *, as_json: bool) -> None:
    found = methods.send(typed_call(GET_SESSION_CONTEXT, given))
    if as_json:
        show(found.model_dump(mode="json"), as_json=True)
        return
    say_lines((found.markdown or "").rstrip("\n"))
    left = ", ".join(f"{count} of {name}" for name, count in (found.omitted or {}).items())
    say(f"next: --since {found.cursor}" + (f"; did not fit: {left}" if left else ""), err=True)
