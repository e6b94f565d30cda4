"""`cstp setup`: entries in configuration files of agents' programs."""

import difflib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Final

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.inspection import Glance, glance
from cstp_server.cli.conventions import DataDirOption, OptionGroup
from cstp_server.cli.options import FolderOptions, command_family, print_table
from cstp_server.cli.remote import base_of
from cstp_server.hook.programs import FORMS
from cstp_server.hook.run import EVENTS, answer_hook
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.mcp.profiles import UnknownTools, chosen_tools
from cstp_server.settings import Settings
from cstp_server.setup.clients import CLIENTS, TOKEN, Client, Entry, Places, Scope, places_here
from cstp_server.setup.hook_entries import HookEntry, hook_entries
from cstp_server.setup.installation import (
    Change,
    Conflict,
    apply_changes,
    count_entries,
    installed_server,
    plan_changes,
)
from cstp_server.setup.trial import started_server, try_hook
from cstp_server.terminal import say, say_lines
from cstp_server.tokens import AGENT_LIFETIME, AGENT_SCOPES, TokenBook, create_token, read_tokens, revoke_token

app = command_family()
_RECORDS: Final = "record_decision"  # a tool
_REMINDERS: Final = ("before-compact", "session-end")  # hooks that name it


@dataclass(frozen=True)
class SetupOptions(OptionGroup):
    """Options for the entries, and for what is done with them."""

    scope: Annotated[
        Scope, typer.Option(help="For this user, in this repository's files, or for this user in this repository.")
    ] = Scope.USER
    url: Annotated[
        str | None, typer.Option(metavar="URL", help=f"Use this server, with the token in {TOKEN}, not a data folder.")
    ] = None
    agent: Annotated[
        str | None, typer.Option(metavar="NAME", help="The agent whose token is used. Default: the program's name.")
    ] = None
    tools: Annotated[
        str | None,
        typer.Option(metavar="PROFILE", help="Tools: ask, record, all, or names with commas. Default: mcp.tools."),
    ] = None
    hooks: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Only these hooks, with commas, or none. Default: all.")
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the changes and make none.")] = False
    replacing: Annotated[bool, typer.Option("--replace", help="Also replace or remove entries that differ.")] = False
    removing: Annotated[bool, typer.Option("--remove", help="Take the entries out again.")] = False
    revoking: Annotated[bool, typer.Option("--revoke", help="With --remove, revoke the agent's tokens.")] = False
    listing: Annotated[bool, typer.Option("--list", help="List the clients that are set up.")] = False
    untested: Annotated[bool, typer.Option("--no-test", help="Do not start what was written.")] = False

    def __post_init__(self) -> None:
        """Raise BadParameter for unknown tools, and for options that need another one."""
        try:
            chosen_tools(self.tools or "all")
        except UnknownTools as error:
            raise typer.BadParameter(str(error), param_hint="--tools") from None
        if self.revoking and not self.removing:
            raise typer.BadParameter("requires --remove", param_hint="--revoke")

    @property
    def tool_words(self) -> Sequence[str]:
        """Return the option of `cstp mcp` for the tools."""
        return () if self.tools is None else ("--tools", self.tools)

    def hook_names(self, client: Client) -> Sequence[str]:
        """Return the chosen hooks; reminders to record only with the tool for it. Raise BadParameter."""
        if self.hooks is None:
            records = _RECORDS in chosen_tools(self.tools or "all")
            return [name for name in client.form.names if records or name not in _REMINDERS]
        named = [name.strip() for name in self.hooks.split(",") if name.strip() != "none"]
        if wrong := [name for name in named if name not in client.form.names]:
            known = ", ".join((*client.form.names, "none"))
            raise typer.BadParameter(
                f"{wrong[0]!r} is not known; for {client.title} known are {known}", param_hint="--hooks"
            )
        return named


@app.command("setup")
def setup_command(
    folder: FolderOptions,
    options: SetupOptions,
    client: Annotated[
        str | None, typer.Argument(metavar="[AGENT]", help=f"The program to set up: {', '.join(CLIENTS)}.")
    ] = None,
) -> None:
    """Add CSTP to the configuration of an agent's program: the MCP server, and the hooks that can add context.

    Other entries and comments keep every byte, a second run changes nothing, and --remove undoes it. Without --replace
    an entry that differs is shown and kept. Without --url the agent gets a token in the data folder if it has none, and
    the server and a hook are started once as a test. No token is written into a file. See docs/agents-setup.md.
    """
    places = places_here(Path.cwd(), os.environ)
    if options.listing:
        if client is not None or options.removing or options.dry_run or options.url is not None:
            raise typer.BadParameter("takes no other argument", param_hint="--list")
        _print_clients(places)
        return
    chosen = _chosen(client)
    if options.removing:
        _remove(chosen, places, folder, options)
    elif options.url is not None:
        if options.agent is not None or folder.data_dir is not None or folder.config is not None:
            reason = f"requires a token in {TOKEN}, without --agent, --data-dir or --config"
            raise typer.BadParameter(reason, param_hint="--url")
        _add_of_server(chosen, places, options.url, options)
    else:
        _add_of_folder(chosen, places, folder, options)


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
    form: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Form of input and answer, one of {', '.join(FORMS)}.")
    ] = None,
) -> int:
    """Give an agent context at an event of its program, which `cstp setup` has call this.

    Reads the program's JSON on standard input and answers in its form. A process that holds the data folder, or a
    server, must run. A fault is one line on standard error with exit code 0, so that it stops no agent.
    """
    given = {"--url": url, "--data-dir": data_dir, "--agent": agent, "--tokens": tokens, "--form": form}
    return answer_hook([event, *(f"{name}={value}" for name, value in given.items() if value is not None)])


def _add_of_server(client: Client, places: Places, url: str, options: SetupOptions) -> None:
    address = base_of(url, "--url").removesuffix("/mcp").rstrip("/")
    local = client.local(str(_program()), ["mcp", "--url", address, *options.tool_words])
    query = "" if options.tools is None else f"?tools={options.tools}"
    entry = local if client.remote is None else client.remote(f"{address}/mcp{query}")
    _add(client, places, entry, ["--url", address], options)
    if not options.dry_run:
        say(f"{client.title} needs {TOKEN} in its environment, a token of that server", err=True)
        say(f"restart {client.title}{client.then}")


def _add_of_folder(client: Client, places: Places, folder: FolderOptions, options: SetupOptions) -> None:
    loaded, name = folder.load_settings(), options.agent or client.name
    words, hook_words = _build_words(client, loaded, folder.config, name)
    command = [str(_program()), "mcp", *words, *options.tool_words]
    hooks = _add(client, places, client.local(command[0], command[1:]), hook_words, options)
    if options.dry_run:
        return
    _ensure_token(loaded.settings, name)
    if not options.untested:
        with started_server(client.start_in(command, places.project), places.project):
            for hook in hooks:
                if hook.ours == "session-start":
                    try_hook(hook, places.project)
    found = glance(loaded.settings.store_url) or Glance("", {}, {})
    count = found.kinds.get(Kind.DECISION, 0)
    shown = f"{count} decision{'' if count == 1 else 's'}, {found.governing} with patterns"
    more = "" if count else " (add some: cstp ingest PATH)"
    say(f"{shown}{more}; restart {client.title}{client.then if hooks else ''}")


def _add(
    client: Client, places: Places, entry: Entry, words: Sequence[str], options: SetupOptions
) -> Sequence[HookEntry]:
    """Add the server and the hooks with these words. Return the hooks. Raise ConfigurationError for a conflict."""
    names = options.hook_names(client) if options.scope in client.hooks else ()
    hooks = hook_entries(client.form, shlex.quote(str(_program())), shlex.join(words), names)
    changes, conflicts = plan_changes(client, options.scope, places, entry, hooks, replace=options.replacing)
    if not options.replacing:
        _refuse(conflicts, "nothing was changed; --replace puts the new entries in their place")
    _show(changes, options, done="added to")
    return hooks


def _remove(client: Client, places: Places, folder: FolderOptions, options: SetupOptions) -> None:
    args = (installed_server(client, options.scope, places) or {}).get("args")
    named = dict(zip(args[1::2], args[2::2], strict=False)) if isinstance(args, list) else {}
    changes, conflicts = plan_changes(client, options.scope, places, None, (), replace=options.replacing)
    _show(changes, options, done="removed from")
    if not options.dry_run and "--url" not in named:
        written = Path(str(named["--data-dir"])) if "--data-dir" in named else None
        settings = replace(folder, data_dir=folder.data_dir or written).load_settings().settings
        _end_tokens(settings, options.agent or str(named.get("--agent", client.name)), revoke=options.revoking)
    if not options.replacing:
        _refuse(conflicts, "these are not as setup writes them and were kept; --replace removes them, too")


def _refuse(conflicts: Sequence[Conflict], reason: str) -> None:
    """Show the conflicts, and raise ConfigurationError if there are some."""
    for one in conflicts:
        before, after = ("" if value is None else json.dumps(value, indent=2) for value in (one.before, one.after))
        _print_difference(one.place, before, after, err=True)
    if conflicts:
        raise ConfigurationError(reason)


def _end_tokens(settings: Settings, agent: str, *, revoke: bool) -> None:
    """Revoke the agent's live tokens, or name them."""
    for token in read_tokens(settings.tokens_path):
        if token.agent == agent and token.live(datetime.now(UTC)):
            if revoke:
                revoke_token(settings.tokens_path, token.id)
            state = "is revoked" if revoke else f"stays live; to revoke it: cstp token revoke {token.id}"
            say(f"the token {token.id} of {agent} {state}", err=True)


def _chosen(name: str | None) -> Client:
    if name is None:
        raise typer.BadParameter(f"give one of {', '.join(CLIENTS)}, or --list", param_hint="AGENT")
    if name not in CLIENTS:
        near = get_close_matches(name, CLIENTS, 1)
        known = f"did you mean {near[0]}?" if near else f"known are {', '.join(CLIENTS)}"
        raise typer.BadParameter(f"{name!r} is not known; {known}", param_hint="AGENT")
    return CLIENTS[name]


def _program() -> Path:
    """Return the full path of `cstp`: the starting program has another folder and another PATH."""
    for path in (sys.argv[0], Path(sys.executable).with_name("cstp"), shutil.which("cstp")):
        if path is not None and Path(path).name == "cstp" and Path(path).is_file():
            return Path(path).absolute()
    raise ConfigurationError("the program cstp was not found; install it, and start it by its path")


def _build_words(
    client: Client, loaded: LoadedSettings, config: Path | None, agent: str
) -> tuple[Sequence[str], Sequence[str]]:
    """Return the words after `cstp mcp` and after `cstp hook EVENT`, over a data folder.

    They name a folder only if it was named, or if the program cannot find it.
    """
    settings = loaded.settings
    config = config or (Path(os.environ["CSTP_CONFIG"]) if os.environ.get("CSTP_CONFIG") else None)
    place = ["--data-dir", os.path.abspath(settings.data_dir)]
    named = loaded.origin_of("data_dir") != "default"
    start = [*(client.start or ()), *(place if named or client.start is None else ())]
    tokens = [] if settings.auth.tokens_file is None else ["--tokens", str(settings.tokens_path.absolute())]
    file = [] if config is None else ["--config", str(config.absolute())]
    return [*start, "--agent", agent, *file], [*(place if named else ()), "--agent", agent, *tokens]


def _ensure_token(settings: Settings, agent: str) -> None:
    """Make a token for an agent without a live token. Raise ConfigurationError."""
    book = TokenBook(settings.tokens_path, settings.auth.reload_seconds)
    book.refresh(0)
    if book.newest(agent, datetime.now(UTC)) is not None:
        return
    token, _ = create_token(settings.tokens_path, agent, scopes=AGENT_SCOPES, lifetime=AGENT_LIFETIME)
    say(f"created a token of {agent} ({' '.join(token.scopes)}) until {token.expires}", err=True)


def _show(changes: Sequence[Change], options: SetupOptions, *, done: str) -> None:
    """Apply the changes and print the files, or print the differences."""
    different = [change for change in changes if change.differs]
    if not different:
        say("nothing to change")
    elif options.dry_run:
        for change in different:
            _print_difference(str(change.file.path), change.file.text or "", change.after or "")
    else:
        apply_changes(changes, options.scope)
        for change in different:
            say(f"{done} {change.file.path}")


def _print_difference(name: str, *texts: str, err: bool = False) -> None:
    before, after = (text.removesuffix("\n").split("\n") if text else [] for text in texts)
    say_lines("\n".join(difflib.unified_diff(before, after, name, name, lineterm="")), err=err)


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
