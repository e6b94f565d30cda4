"""`cstp conform`: the project's wire conversations against any CSTP server."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from cstp.errors import CstpError
from cstp_server.cli.conventions import JsonOption, TimeoutOption, Unreachable, command_family
from cstp_server.cli.remote import base_of, connect, given_token, print_error
from cstp_server.conformance.run import NEEDS_RIGHTS, Caller, Declared, Verdict, conversations, replay
from cstp_server.terminal import say

app = command_family()
_RECORDS = "decisions.jsonl, knowledge.jsonl or memory.jsonl"


@app.command("conform")
def conform_command(
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the server.")],
    tokens: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TOKEN", help="Tokens; several with different rights run more conversations. Default: CSTP_TOKEN."
        ),
    ] = None,
    holds: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"The server has only these records: {_RECORDS}.")
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A setting of the server that differs from its default."),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Skip requests that a proxy may answer itself.")
    ] = False,
    only: Annotated[str, typer.Option(metavar="TEXT", help="Only conversations with this text in their name.")] = "",
    timeout: TimeoutOption = 20.0,
    as_json: JsonOption = False,
) -> int:
    """Replay the conversations that define the protocol against a server, and report differences.

    A conversation is skipped, with the reason, if the server lacks its settings, records or rights. Some test the
    limits of HTTP, such as requests that are too large: a proxy in front of the server answers these itself.

    Exit code 1 if one failed or none could be run.
    """
    base = base_of(url, "URL")
    chosen = [one for one in conversations() if only in one.name]
    known = {one.records for one in chosen} - {None}
    if holds is not None and holds not in known:
        raise typer.BadParameter(f"must be {_RECORDS}", param_hint="--holds")
    declared = Declared(_settings(settings or []), holds, behind_proxy)
    texts = tokens or [secret for secret in [given_token(None)] if secret is not None]
    if not texts:
        raise typer.BadParameter("give one, or set CSTP_TOKEN", param_hint="TOKEN")
    callers: list[Caller] = []
    try:
        with connect(base, "", timeout) as remote:
            for text in texts:
                given_token(text)
                callers.append(_caller(text, replace(remote, token=text).call("cstp.whoami", {}), base))
    except CstpError as error:
        return print_error(error, "cstp.whoami", as_json=as_json)
    verdicts = [*_show_progress(replay(chosen, base, callers, declared, timeout), len(chosen), quiet=as_json)]
    _tell(verdicts, callers, behind_proxy, as_json=as_json)
    outcomes = {verdict.outcome for verdict in verdicts}
    return 0 if "passed" in outcomes and "failed" not in outcomes else 1


def _show_progress(verdicts: Iterable[Verdict], total: int, *, quiet: bool) -> Iterator[Verdict]:
    """Yield the verdicts, with a progress bar on a terminal."""
    console = Console(stderr=True)
    with Progress(console=console, disable=quiet or not console.is_terminal, transient=True) as progress:
        task = progress.add_task("conversations", total=total)
        for verdict in verdicts:
            yield verdict
            progress.advance(task)


def _caller(token: str, whoami: Any, base: str) -> Caller:
    try:
        projects = whoami["projects"]
        return Caller(
            token,
            frozenset(map(str, whoami["scopes"])),
            str(whoami["clearance"]),
            None if projects is None else frozenset(map(str, projects)),
            str(whoami["server"]["agent"]),
        )
    except (KeyError, TypeError):
        raise Unreachable(
            f"{base}/cstp does not answer cstp.whoami as a CSTP server does; check the address; check the address"
        ) from None


def _settings(pairs: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name or name in found:
            raise typer.BadParameter(f"{pair!r} must be NAME=VALUE, each name once", param_hint="--set")
        found[name] = value
    return found


def _tell_rights(verdicts: Sequence[Verdict], callers: Sequence[Caller]) -> None:
    """Print which rights the tokens have, if conversations were skipped because a right is missing."""
    lacking = sum(one.reason.startswith(NEEDS_RIGHTS) for one in verdicts)
    if lacking:
        had = "; ".join(dict.fromkeys(one.rights for one in callers))
        say(
            f"{lacking} were skipped because no token has exactly the rights that they are written for; "
            f"those given have: {had}. For most, make one on the server's machine: "
            "`cstp token create --agent conform --scope read --data-dir FOLDER`, with the server's data folder",
            err=True,
        )


def _tell(verdicts: Sequence[Verdict], callers: Sequence[Caller], behind_proxy: bool, *, as_json: bool) -> None:
    of = {name: [one for one in verdicts if one.outcome == name] for name in ("passed", "failed", "skipped")}
    if as_json:
        failed = [{"name": one.name, "line": one.line, "reason": one.reason} for one in of["failed"]]
        skipped = [{"name": one.name, "reason": one.reason} for one in of["skipped"]]
        say(json.dumps({"passed": [one.name for one in of["passed"]], "failed": failed, "skipped": skipped}))
        return
    for one in of["skipped"]:
        say(f"skipped: {one.name}: {one.reason}", err=True)
    for one in of["failed"]:
        say(f"failed: {one.name}.txt:{one.line}: {one.reason}", err=True)
    _tell_rights(of["skipped"], callers)
    if len(of["skipped"]) == len(verdicts):
        say("failed: no conversation was held, so nothing is known of this server", err=True)
    edge = [one.name for one in of["skipped" if behind_proxy else "failed"] if one.edge]
    if edge and not behind_proxy:
        hint = "--behind-proxy skips requests that a proxy may answer itself; of those that failed"
        say(f"{hint}: {', '.join(edge)}", err=True)
    left_out = f"; skipped behind a proxy: {', '.join(edge)}" if edge and behind_proxy else ""
    say(", ".join(f"{len(found)} {name}" for name, found in of.items()) + left_out)
