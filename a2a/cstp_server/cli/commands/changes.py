"""`cstp changes`: changes of records visible to a token, line by line."""

import json
from typing import Annotated

import typer

from cognition_engines.errors import ConfigurationError
from cstp.client.change_iterators import Changes, Cursor
from cstp.client.sync_client import Client
from cstp.errors import CstpError, TransportError
from cstp.methods.records import CHANGES
from cstp.values.fields import format_instant
from cstp.values.records import NOW
from cstp_server.cli.conventions import Unreachable, command_family
from cstp_server.cli.remote import AskedServer, base_of, print_error, required_token
from cstp_server.terminal import say

app = command_family()


@app.command()
def changes(
    server: AskedServer,
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="CURSOR", help="Start after this cursor or seq of an answer; 0 for all, or now."
        ),
    ] = "0",
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep waiting for changes until stopped.")] = False,
    kinds: Annotated[
        list[str] | None, typer.Option("--kind", metavar="KIND", help="Only this kind; repeatable.")
    ] = None,
) -> int:
    """Print changes of the records that the token can see, oldest first.

    Each line has the change (put: new or changed, delete: deleted or hidden), the kind, the id and the time. The last
    line on standard error has the cursor for --since.
    """
    try:
        client = Client(base_of(server.url, "--url"), required_token(server.token), server.timeout)
    except ValueError as error:
        raise ConfigurationError(str(error)) from None
    with client:
        found = client.changes(parse_cursor(since), kinds=kinds, follow=follow)
        try:
            _print(found, as_json=server.as_json)
        except TransportError as error:
            raise Unreachable(
                f"{server.url} does not answer ({error}); check the address, and that the server is running"
            ) from None
        except CstpError as error:
            return print_error(error, CHANGES.name, as_json=server.as_json)
        finally:
            say(f"next: --since {found.cursor}", err=True)
    return 0


def _print(found: Changes, *, as_json: bool) -> None:
    for change in found:
        if as_json:
            say(json.dumps(change.model_dump(mode="json", by_alias=True)))
        else:
            say(f"{change.op:6} {change.kind} {change.id} {format_instant(change.at)}")


def parse_cursor(text: str) -> Cursor:
    """Return the cursor of an option. Raise BadParameter for an invalid cursor."""
    if text == NOW:
        return NOW
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise typer.BadParameter("must be a number, or now", param_hint="--since")
    return int(text)
