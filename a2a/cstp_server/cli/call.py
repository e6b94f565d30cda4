"""`cstp call`: one call to any CSTP server."""

import json
import os
from typing import Annotated, Final

import httpx
import typer
from rich.console import Console

from cstp_server.cli.options import JsonOption, command_family

app = command_family()
UNREACHABLE: Final = 3


@app.command("call")
def call_command(
    method: Annotated[str, typer.Argument(metavar="METHOD", help="Such as cstp.queryDecisions.")],
    params: Annotated[list[str] | None, typer.Argument(metavar="KEY=VALUE", help="key=text or key:=json.")] = None,
    url: Annotated[
        str, typer.Option(envvar="CSTP_URL", metavar="URL", help="Where the server is.")
    ] = "http://127.0.0.1:8100",
    token: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="The bearer token; better in CSTP_TOKEN, where no ps shows it.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="How long to wait.")] = 30.0,
    as_json: JsonOption = False,
) -> int:
    """Call a method and print its result. Exit code 1 for an error answer, 3 when the server cannot be reached."""
    secret = token or os.environ.get("CSTP_TOKEN")
    if not secret:
        raise typer.BadParameter("give one, or set CSTP_TOKEN", param_hint="--token")
    if not secret.isascii() or not secret.isprintable():
        raise typer.BadParameter("must be printable ASCII", param_hint="--token")
    request = {"jsonrpc": "2.0", "method": method, "params": parse_params(params or []), "id": 1}
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    endpoint = url.rstrip("/") if url.rstrip("/").endswith("/cstp") else f"{url.rstrip('/')}/cstp"
    try:
        answer = httpx.post(endpoint, content=json.dumps(request), headers=headers, timeout=timeout)
        reply = answer.json()
        failed = "error" in reply
        shown = reply["error"] if failed else reply["result"]
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        raise typer.BadParameter("must read like http://host:8100", param_hint="--url") from None
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
    """`key=text` and `key:=json` as params. Raises BadParameter naming the pair that is neither, or given twice."""
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
            found[name] = json.loads(value, parse_constant=_no_json)
        except ValueError as error:
            raise typer.BadParameter(f"{name}: the value after := is not JSON", param_hint="KEY=VALUE") from error
    return found


def _no_json(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
