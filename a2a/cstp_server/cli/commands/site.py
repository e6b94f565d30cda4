"""`cstp site`: the records that a token may see, as files that need no server."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from cognition_engines.errors import EngineError, FolderInUse
from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.models import SENSITIVITIES
from cstp.call import Call
from cstp.client.methods import Methods
from cstp.errors import CstpError
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, command_family, name_store, settings_for
from cstp_server.cli.progress import record_bars
from cstp_server.cli.remote import Remote, TimeoutOption, TokenOption, base_of, connect, print_error, required_token
from cstp_server.cli.store import require_records
from cstp_server.folder_methods import folder_methods, reading_token
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.terminal import say
from cstp_server.ui.site_files import FolderRefused, check_replaceable
from cstp_server.ui.site_records import SITE_KINDS, SiteKind, WrittenSite, write_site

app = command_family()
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help=f"{', '.join(SITE_KINDS)}; repeatable. Default: all of these."),
]
R = TypeVar("R")
_AGENT: Final = "site"  # who reads a folder, in the audit


class _RemoteMethods(Methods):
    """Calls a server. A limit that is used up is waited for; a connection that broke is tried again."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def send(self, call: Call[R]) -> R:
        """Send one call and return its result. Raise CstpError, and Unreachable without an answer in time."""
        return self._remote.send_patiently(call, tries=3)


@app.command("site")
def site_command(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; an earlier site there is replaced.")],
    title: Annotated[
        str | None, typer.Option(metavar="NAME", help="Title of the site. Default: the agent's name.")
    ] = None,
    kind: KindOption = None,
    clearance: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Of a data folder: normal (the default), sensitive or highly_sensitive."),
    ] = None,
    project: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With a data folder: only this project; repeatable. Default: all."),
    ] = None,
    url: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Ask this server. Default: CSTP_URL, unless --data-dir is given."),
    ] = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 30.0,
    as_json: JsonOption = False,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> int:
    """Write records as a static site: a page to open from disk, or to put on any web host.

    The site has complete decisions with reviews, links and history, episodes, extractions and passages, and a search by
    words. With --url or CSTP_URL it has the records that the token can see; otherwise those of the data folder within
    --clearance and --project. A folder that is neither empty nor an earlier site is not changed.
    """
    kinds = _kinds(kind)
    try:
        check_replaceable(folder)
        server = _server(url, data_dir)
        if server is not None:
            _check_folder_options(clearance, project)
            with connect(base_of(server, "--url"), required_token(token), timeout) as remote:
                written = _write_site(_RemoteMethods(remote), folder, title, kinds, quiet=as_json)
        else:
            with _open_methods(ctx, settings_for(ctx, data_dir, config), clearance, project) as methods:
                written = _write_site(methods, folder, title, kinds, quiet=as_json)
    except FolderRefused as refused:
        raise typer.BadParameter(str(refused), param_hint="DIR") from None
    except CstpError as error:
        return print_error(error, "", as_json=as_json)
    _report(written, folder, as_json=as_json)
    return 0


def _kinds(names: Sequence[str] | None) -> frozenset[SiteKind]:
    known = {name: name for name in SITE_KINDS}
    if any(name not in known for name in names or ()):
        raise typer.BadParameter(f"must be one of {', '.join(SITE_KINDS)}", param_hint="--kind")
    return frozenset(known[name] for name in known if not names or name in names)


def _server(url: str | None, data_dir: Path | None) -> str | None:
    """Return the URL of the server to ask; None for the data folder, which, if named, wins over CSTP_URL."""
    if url is not None and data_dir is not None:
        raise typer.BadParameter("cannot be combined with --data-dir", param_hint="--url")
    return url or (None if data_dir is not None else os.environ.get("CSTP_URL") or None)


def _check_folder_options(clearance: str | None, project: Sequence[str] | None) -> None:
    for option, given in (("--clearance", clearance), ("--project", project)):
        if given:
            raise typer.BadParameter("requires a data folder: with a server, the token decides", param_hint=option)


@contextmanager
def _open_methods(
    ctx: typer.Context, loaded: LoadedSettings, clearance: str | None, projects: Sequence[str] | None
) -> Iterator[Methods]:
    """Open the methods over the data folder, with these rights."""
    level = clearance or "normal"
    if level not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--clearance")
    for name in projects or ():
        if not is_line(name, 200):
            raise typer.BadParameter(f"must be {a_line(200)}", param_hint="--project")
    name_store(loaded)
    require_records(loaded)
    # each call would have a line
    configure_logging(loaded.settings.log.model_copy(update={"level": "warning"}))
    ctx.call_on_close(write_rest)
    try:
        with folder_methods(loaded.settings, reading_token(_AGENT, level, projects or None)) as methods:
            yield methods
    except FolderInUse as error:
        raise EngineError(f"{error}; ask that server instead, with --url and a token") from error


def _write_site(
    methods: Methods, folder: Path, title: str | None, kinds: frozenset[SiteKind], *, quiet: bool
) -> WrittenSite:
    with record_bars(quiet=quiet) as bars:
        return write_site(methods, folder, title, kinds, bars)


def _report(written: WrittenSite, folder: Path, *, as_json: bool) -> None:
    counts = written.counts
    if as_json:
        figures = {"folder": str(folder), **asdict(counts), "files": written.files, "bytes": written.bytes}
        say(json.dumps(figures))
        return
    held = {"decision": counts.decisions, "episode": counts.episodes, "extraction": counts.extractions}
    held["passage"] = counts.passages
    parts = ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in held.items())
    say(f"{parts} written to {folder} in {written.files} files ({written.bytes / 1e6:.1f} MB)")
    say(f"open {folder / 'index.html'} in a browser, or put the folder on any web host")
