"""`cstp setup`: entries in configuration files of agents' programs."""

import difflib
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.errors import ConfigurationError
from cstp_server.cli.conventions import DataDirOption
from cstp_server.cli.options import FolderOptions, command_family, print_table
from cstp_server.cli.remote import base_of
from cstp_server.hook.run import EVENTS, answer_hook
from cstp_server.settings import Settings
from cstp_server.setup.clients import CLIENTS, TOKEN, Client, Entry, Places, Scope, places_here
from cstp_server.setup.hook_entries import hook_entries
from cstp_server.setup.installation import Change, apply_changes, count_entries, plan_addition, plan_removal
from cstp_server.terminal import say, say_lines
from cstp_server.tokens import TokenBook, create_token

app = command_family()
_SCOPES: Final = ("read", "write", "review")  # of a new token: the hooks remind to record
_LIFETIME: Final = timedelta(days=90)


class Where(StrEnum):
    USER = "user"
    PROJECT = "project"


@app.command("setup")
def setup_command(
    folder: FolderOptions,
    client: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", help=f"The program to set up: {', '.join(CLIENTS)}.")
    ] = None,
    scope: Annotated[
        Where, typer.Option(help="For this user, or in this repository's own files.", metavar="user|project")
    ] = Where.USER,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help=f"Use this server, with the token in {TOKEN}, not a data folder.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="The agent whose token is used. Default: the program's name.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")] = False,
    removing: Annotated[bool, typer.Option("--remove", help="Take the entries out again.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the clients that are set up.")] = False,
) -> None:
    """Add CSTP to the configuration of an agent's program: the MCP server, and for Claude Code the hooks.

    Other entries and comments keep every byte, a second run changes nothing, and --remove undoes it. Without --url the
    agent gets a token in the data folder if it has none. No token is written into a file. See docs/agents-setup.md.
    """
    places = places_here(Path.cwd(), os.environ)
    if listing:
        if client is not None or removing or dry_run or url is not None:
            raise typer.BadParameter("takes no other argument", param_hint="--list")
        _print_clients(places)
        return
    chosen, where = _chosen(client), _scope(scope)
    if removing:
        _show(plan_removal(chosen, where, places), where, dry_run=dry_run, done="removed from")
    elif url is not None:
        if agent is not None or folder.data_dir is not None or folder.config is not None:
            reason = f"requires a token in {TOKEN}, without --agent, --data-dir or --config"
            raise typer.BadParameter(reason, param_hint="--url")
        _add_of_server(chosen, where, places, url, dry_run=dry_run)
    else:
        named = folder.config or (Path(os.environ["CSTP_CONFIG"]) if os.environ.get("CSTP_CONFIG") else None)
        settings, name = folder.load_settings().settings, agent or chosen.name
        words, hook_words = _build_words(settings, named, name)
        _add(chosen, where, places, chosen.local(str(_program()), ["mcp", *words]), hook_words, dry_run=dry_run)
        if not dry_run:
            _ensure_token(settings, name)


@app.command("hook")
def hook_command(
    event: Annotated[str, typer.Argument(metavar="EVENT", help=f"One of {', '.join(EVENTS)}.")],
    url: Annotated[
        str | None, typer.Option(envvar="CSTP_URL", metavar="URL", help=f"Ask this server, with the token in {TOKEN}.")
    ] = None,
    data_dir: DataDirOption = None,
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="Use the rights of this agent's newest live token.")
    ] = None,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The file of tokens. Default: tokens.json in the data folder.")
    ] = None,
) -> int:
    """Give an agent context at an event of its program, which `cstp setup` has call this.

    Reads the program's JSON on standard input and answers in its form. A process that holds the data folder, or a
    server, must run. A fault is one line on standard error with exit code 0, so that it stops no agent.
    """
    given = {"--url": url, "--data-dir": data_dir, "--agent": agent, "--tokens": tokens}
    return answer_hook([event, *(f"{name}={value}" for name, value in given.items() if value is not None)])


def _add_of_server(client: Client, scope: Scope, places: Places, url: str, *, dry_run: bool) -> None:
    address = base_of(url, "--url").removesuffix("/mcp").rstrip("/")
    local = client.local(str(_program()), ["mcp", "--url", address])
    entry = local if client.remote is None else client.remote(f"{address}/mcp")
    _add(client, scope, places, entry, ["--url", address], dry_run=dry_run)
    if not dry_run:
        say(f"{client.title} needs {TOKEN} in its environment, a token of that server", err=True)


def _add(client: Client, scope: Scope, places: Places, entry: Entry, words: Sequence[str], *, dry_run: bool) -> None:
    hooks = hook_entries(shlex.quote(str(_program())), shlex.join(words))
    _show(plan_addition(client, scope, places, entry, hooks), scope, dry_run=dry_run, done="added to")


def _chosen(name: str | None) -> Client:
    if name is None:
        raise typer.BadParameter(f"give one of {', '.join(CLIENTS)}, or --list", param_hint="AGENT")
    if name not in CLIENTS:
        near = get_close_matches(name, CLIENTS, 1)
        known = f"did you mean {near[0]}?" if near else f"known are {', '.join(CLIENTS)}"
        raise typer.BadParameter(f"{name!r} is not known; {known}", param_hint="AGENT")
    return CLIENTS[name]


def _scope(where: Where) -> Scope:
    return "user" if where is Where.USER else "project"


def _program() -> Path:
    """Return the full path of `cstp`: the starting program has another folder and another PATH."""
    for path in (sys.argv[0], Path(sys.executable).with_name("cstp"), shutil.which("cstp")):
        if path is not None and Path(path).name == "cstp" and Path(path).is_file():
            return Path(path).absolute()
    raise ConfigurationError("the program cstp was not found; install it, and start it by its path")


def _build_words(settings: Settings, config: Path | None, agent: str) -> tuple[list[str], list[str]]:
    """Return the words after `cstp mcp` and after `cstp hook EVENT`, over a data folder."""
    words = ["--data-dir", str(settings.data_dir.absolute()), "--agent", agent]
    tokens = [] if settings.auth.tokens_file is None else ["--tokens", str(settings.tokens_path.absolute())]
    return words if config is None else [*words, "--config", str(config.absolute())], words + tokens


def _ensure_token(settings: Settings, agent: str) -> None:
    """Make a token for an agent without a live token. Raise ConfigurationError."""
    book = TokenBook(settings.tokens_path, settings.auth.reload_seconds)
    book.refresh(0)
    if book.newest(agent, datetime.now(UTC)) is not None:
        return
    token, _ = create_token(settings.tokens_path, agent, scopes=_SCOPES, lifetime=_LIFETIME)
    say(f"created a token of {agent} ({' '.join(token.scopes)}) until {token.expires}", err=True)


def _show(changes: Sequence[Change], scope: Scope, *, dry_run: bool, done: str) -> None:
    """Apply the changes and print the files, or print the differences."""
    if not any(change.differs for change in changes):
        say("nothing to change")
        return
    if dry_run:
        for change in changes:
            path = str(change.file.path)
            before, after = ((text or "").removesuffix("\n").split("\n") for text in (change.file.text, change.after))
            say_lines("\n".join(difflib.unified_diff(before, after, path, path, lineterm="")))
        return
    apply_changes(changes, scope)
    for change in changes:
        if change.differs:
            say(f"{done} {change.file.path}")


def _print_clients(places: Places) -> None:
    rows = []
    for client in CLIENTS.values():
        for scope, file in client.files.items():
            try:
                found, total = count_entries(client, scope, places)
                state = "yes" if found == total else f"{found} of {total} entries" if found else "no"
            except ConfigurationError as error:
                state = str(error)
            rows.append((client.name, scope, state, str(file(places))))
    print_table(("agent", "scope", "set up", "file"), rows)
