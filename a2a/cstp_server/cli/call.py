"""`cstp call`: one call to any CSTP server."""

import json
import os
from typing import Annotated, Final

import click
import httpx
import typer
from rich.console import Console

from cstp_server.cli.options import JsonOption

app = typer.Typer()
UNREACHABLE: Final = 3


@app.callback()
def _family() -> None:
    """Keeps the command's name with a single command in the family."""


@app.command("call")
def call_command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Such as cstp.queryDecisions.")],
    params: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="key=text or key:=json.")] = None,
    url: Annotated[str, typer.Option(envvar="CSTP_URL", help="Where the server is.")] = "http://127.0.0.1:8100",
    token: Annotated[str | None, typer.Option(help="The bearer token.", show_default="CSTP_TOKEN")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait.")] = 30.0,
    as_json: JsonOption = False,
) -> int:
    """Call a method and print its result. Exit code 1 for an error answer, 3 when the server cannot be reached."""
    secret = token or os.environ.get("CSTP_TOKEN")
    if not secret:
        raise click.UsageError("no token: give --token, or set CSTP_TOKEN")
    request = {"jsonrpc": "2.0", "method": method, "params": parse_params(params or []), "id": 1}
    endpoint = url.rstrip("/") if url.rstrip("/").endswith("/cstp") else f"{url.rstrip('/')}/cstp"
    try:
        answer = httpx.post(endpoint, json=request, headers={"Authorization": f"Bearer {secret}"}, timeout=timeout)
        reply = answer.json()
        failed = "error" in reply
        shown = reply["error"] if failed else reply["result"]
    except httpx.HTTPError as error:
        typer.echo(f"cstp: {endpoint} does not answer ({type(error).__name__}); is the server up?", err=True)
        return UNREACHABLE
    except (ValueError, KeyError, TypeError):
        typer.echo(f"cstp: {endpoint} is no CSTP server (HTTP {answer.status_code})", err=True)
        return UNREACHABLE
    if as_json:
        typer.echo(json.dumps(shown, ensure_ascii=False))
    else:
        Console(stderr=failed).print_json(json.dumps(shown), ensure_ascii=False)
    return 1 if failed else 0


def parse_params(pairs: list[str]) -> dict[str, object]:
    """`key=text` and `key:=json` as params. Raises UsageError naming the pair that is neither."""
    found: dict[str, object] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key.rstrip(":"):
            raise click.UsageError(f"{pair!r} must be key=text or key:=json")
        if not key.endswith(":"):
            found[key] = value
            continue
        try:
            found[key[:-1]] = json.loads(value)
        except ValueError as error:
            raise click.UsageError(f"{key[:-1]}: the value after := is not JSON") from error
    return found
