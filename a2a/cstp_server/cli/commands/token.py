"""`cstp token`: make, list, revoke and rotate bearer tokens."""

import json
import re
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.masking.masked_values import mask_values
from cognition_engines.masking.policy import name_refusal
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, print_store, print_table
from cstp_server.terminal import say
from cstp_server.tokens import Token, TokenRefused, create_token, read_tokens, revoke_token, rotate_token

app = command_family("Create, list, revoke and rotate bearer tokens.")

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_LONGEST: Final = timedelta(days=3660)

ExpiresOption = Annotated[
    str, typer.Option("--expires", metavar="LIFETIME", help="Lifetime, such as 30m, 12h, 90d or 4w.")
]
IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the token: the part between cstp_ and the next _.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print only the token.")]


def parse_lifetime(text: str, option: str) -> timedelta:
    """Parse a lifetime such as `90d`; at most ten years. Raise TokenRefused naming the option."""
    shape = re.fullmatch(r"([0-9]{1,6})([smhdw])", text)
    if shape is None or not (found := timedelta(**{_UNITS[shape[2]]: int(shape[1])})) or found > _LONGEST:
        raise TokenRefused(f"{option} must be a lifetime such as 12h or 90d, at most 3660d")
    return found


@app.command()
def create(
    folder: FolderOptions,
    agent: Annotated[str, typer.Option("--agent", metavar="NAME", help="The agent that the token belongs to.")],
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope", metavar="SCOPE", help="Scope: read, write, review, ratify or admin; repeatable. Default: read."
        ),
    ] = None,
    expires: ExpiresOption = "90d",
    clearance: Annotated[
        str, typer.Option(metavar="LEVEL", help="Clearance: normal, sensitive or highly_sensitive.")
    ] = "normal",
    project: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only records of this project; repeatable. Default: all.")
    ] = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Create a token. Its text is shown once and not stored.

    No scope includes another. read: read all records that the clearance and the projects allow. write: add records
    under its own name, and change or forget these. review: state outcomes and link decisions, of all visible records.
    ratify: give decisions of agents a binding status. admin: change and forget records of other agents, import records,
    and read the audit.

    An agent may have two live tokens with different rights: to replace one, create the next one before you revoke the
    old one, or use cstp token rotate. A running server accepts a new token at once.
    """
    path = _tokens_path(folder, quiet=quiet)
    if secrets := mask_values([agent]).secrets:
        raise TokenRefused(f"--agent {name_refusal(secrets[0].kind)}")
    token, text = create_token(
        path,
        agent,
        scopes=[part for given in scope or ["read"] for part in given.split(",")],
        lifetime=parse_lifetime(expires, "--expires"),
        clearance=clearance,
        projects=project or None,
    )
    _show(token, text, quiet=quiet, as_json=as_json)


@app.command("list")
def list_tokens(folder: FolderOptions, as_json: JsonOption = False) -> None:
    """List the tokens, without their texts."""
    tokens = read_tokens(_tokens_path(folder))
    if as_json:
        say(json.dumps([_public(token) for token in tokens]))
        return
    if not tokens:
        say("no tokens yet; create one: cstp token create --agent NAME")
        return
    print_table(("id", "agent", "scopes", "clearance", "projects", "expires", "state"), map(_cells, tokens))


@app.command()
def revoke(folder: FolderOptions, token_id: IdArgument) -> None:
    """Revoke a token; running servers reject it within five seconds. Prints the other live tokens of the agent."""
    path = _tokens_path(folder)
    token = revoke_token(path, token_id)
    say(f"revoked {token.id} of {token.agent}")
    now = datetime.now(UTC)
    for other in read_tokens(path):
        if other.agent == token.agent and other.live(now):
            say(
                f"{other.id} of {other.agent} is still live; to revoke it as well: cstp token revoke {other.id}",
                err=True,
            )


@app.command()
def rotate(
    folder: FolderOptions,
    token_id: IdArgument,
    expires: ExpiresOption = "90d",
    overlap: Annotated[str, typer.Option(metavar="LIFETIME", help="How long the old token stays valid.")] = "24h",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Create a successor with the same rights; the old token expires after the overlap."""
    path = _tokens_path(folder, quiet=quiet)
    token, text = rotate_token(
        path, token_id, lifetime=parse_lifetime(expires, "--expires"), overlap=parse_lifetime(overlap, "--overlap")
    )
    _show(token, text, quiet=quiet, as_json=as_json)


def _tokens_path(folder: FolderOptions, *, quiet: bool = False) -> Path:
    """Return the file of tokens, and print the store on standard error."""
    loaded = folder.load_settings()
    if not quiet:
        print_store(loaded)
    return loaded.settings.tokens_path


def _show(token: Token, text: str, *, quiet: bool, as_json: bool) -> None:
    if quiet:
        say(text)
    elif as_json:
        say(json.dumps({**_public(token), "token": text}))
    else:
        say(text)
        say()
        say(f"This is the token of {token.agent}; it is not shown again.")
        say(f"id {token.id}, scopes {' '.join(token.scopes)}, until {token.expires}")


def _public(token: Token) -> dict[str, object]:
    return {name: value for name, value in asdict(token).items() if name != "digest"} | {"state": _state(token)}


def _cells(token: Token) -> tuple[str, ...]:
    projects = "all" if token.projects is None else ", ".join(token.projects)
    expires = token.expires.removesuffix("+00:00") + "Z"
    return (token.id, token.agent, " ".join(token.scopes), token.clearance, projects, expires, _state(token))


def _state(token: Token) -> str:
    if token.revoked is not None:
        return "revoked"
    return "live" if token.live(datetime.now(UTC)) else "expired"
