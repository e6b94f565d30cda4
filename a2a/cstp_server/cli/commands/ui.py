"""`cstp ui` and `cstp site`: the web page, opened in a browser by a single-use link, or written as files."""

import json
import os
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

import typer

from cognition_engines.errors import ConfigurationError
from cognition_engines.indexes.index_folder import holder, is_address
from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.set_aside import SetAside
from cstp.client.methods import Methods
from cstp.errors import CstpError, TransportError
from cstp_server.cli.commands.token import parse_lifetime
from cstp_server.cli.conventions import Unreachable
from cstp_server.cli.left_out import report_left_out
from cstp_server.cli.opened_folder import place_methods
from cstp_server.cli.options import FolderOptions, JsonOption, command_family, print_store
from cstp_server.cli.progress import record_bars
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.remote import base_of, connect, print_error
from cstp_server.process.local_probe import probe
from cstp_server.settings import Settings
from cstp_server.terminal import say
from cstp_server.ui.grants import LINK_LIFETIME, Grant, make_grant, make_link
from cstp_server.ui.site_files import FolderRefused, check_replaceable
from cstp_server.ui.site_records import SITE_KINDS, SiteKind, WrittenSite, write_site

app = command_family()
_PAGE: Final = "/ui/"
_PAGE_SECONDS: Final = 10.0
_LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_BROWSERS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")  # without these, Linux has browsers for a terminal alone

KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help=f"{', '.join(SITE_KINDS)}; repeatable. Default: all of these."),
]


@dataclass(frozen=True, slots=True)
class _Rights:
    """Rights requested on the command line; None if an option was not given."""

    agent: str | None
    scope: Sequence[str] | None
    clearance: str | None
    project: Sequence[str] | None
    expires: str | None


@app.command("ui")
def ui_command(
    folder: FolderOptions,
    agent: Annotated[str | None, typer.Option(metavar="NAME", help="Agent of the page's token. Default: ui.")] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(metavar="SCOPE", help="Scope: read, write, review, ratify or admin; repeatable. Default: read."),
    ] = None,
    clearance: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="Clearance: normal, sensitive or highly_sensitive. Default: normal."),
    ] = None,
    project: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only records of this project; repeatable. Default: all.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="LIFETIME", help="Lifetime of the page's token: 30m, 12h, 90d. Default: 12h.")
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the link and open no browser.")] = False,
    url: Annotated[
        str | None,
        typer.Option(envvar="CSTP_URL", metavar="URL", help="Another server; paste one of its tokens into the page."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Open the page that shows the records in a browser, and print its link.

    The link works once, for a minute, and gives the page a token with these rights. If the agent has two live tokens,
    the oldest one made by a link is revoked. Other users of the machine can see the link in the list of processes; use
    --no-browser to prevent that.
    """
    loaded = folder.load_settings()
    held = holder(loaded.settings.indexes_path)
    rights = _Rights(agent, scope, clearance, project, expires)
    if url is not None and not _same(base_of(url, "--url"), held):
        page, grant = _page_elsewhere(base_of(url, "--url"), rights), None
    else:
        print_store(loaded)
        base, grant = _server_here(held, loaded.settings), _grant(rights)
        page = make_link(base, loaded.settings.ui_links_path, grant)
    if not as_json:
        say(page)
        say(_about(grant))
    opened = not no_browser and _open_browser(page)
    if as_json:
        say(json.dumps({"url": page, "opened": opened, **_describe_grant(grant)}))
    elif not opened and not no_browser:
        say("no browser was found; open the link yourself", err=True)


def _grant(rights: _Rights) -> Grant:
    """Make a grant. Raise TokenRefused, naming the option, for rights no token can have."""
    scopes = [part for given in rights.scope or ["read"] for part in given.split(",")]
    return make_grant(
        "ui" if rights.agent is None else rights.agent,
        scopes=tuple(dict.fromkeys(scopes)),
        clearance="normal" if rights.clearance is None else rights.clearance,
        projects=tuple(rights.project) if rights.project else None,
        lifetime=parse_lifetime("12h" if rights.expires is None else rights.expires, "--expires"),
    )


def _same(base: str, held: str | None) -> bool:
    """Return whether an address belongs to the server holding the data folder."""
    if held is None or not is_address(held):
        return False
    one, other = urlsplit(base), urlsplit(held)
    local = one.hostname in _LOOPBACK and other.hostname in _LOOPBACK
    return base == held or (local and (one.scheme, one.port) == (other.scheme, other.port))


def _server_here(held: str | None, settings: Settings) -> str:
    """Return the address of the server holding the data folder, by `held`, the lock's holder.

    Raise Unreachable without an answer, ConfigurationError if the server has no page.
    """
    folder = settings.data_dir.absolute()
    if held is None:
        raise Unreachable(f"no server uses the data folder {folder}; start one: cstp serve")
    if not is_address(held):
        by = held or "a server that still starts, or another command"
        raise Unreachable(f"the data folder {folder} is held by {by}, and no server answers for it yet")
    answer = probe(held, _PAGE, _PAGE_SECONDS)
    if isinstance(answer, TransportError):
        raise Unreachable(f"{held} does not answer ({answer})")
    _check_page(answer.status, held)
    return held


def _page_elsewhere(base: str, rights: _Rights) -> str:
    """Return a server's page. Raise as `_server_here`, and ConfigurationError for rights: the token has them."""
    if given := [field.name for field in fields(rights) if getattr(rights, field.name) is not None]:
        raise ConfigurationError(
            f"--{given[0]} means nothing for {base}, where the token that you paste has the rights; "
            "without --url and CSTP_URL the link is one to the server of the data folder"
        )
    with connect(base, "", _PAGE_SECONDS) as remote:
        _check_page(remote.get(_PAGE).status, base)
    return base + _PAGE


def _check_page(status: int, base: str) -> None:
    if status == HTTPStatus.NOT_FOUND:
        raise ConfigurationError(f"ui.enabled: is off on {base}; set it to true there, and start that server again")
    if status != HTTPStatus.OK:
        raise Unreachable(f"{base}{_PAGE} answers with HTTP {status}")


def _about(grant: Grant | None) -> str:
    if grant is None:
        return "Paste a token into the page; create one on that machine: cstp token create --agent NAME"
    projects = "" if grant.projects is None else f", projects {', '.join(grant.projects)}"
    rights = f"scopes {' '.join(grant.scopes)}, clearance {grant.clearance}{projects}"
    seconds = LINK_LIFETIME.total_seconds()
    return f"The link works once, within {seconds:.0f} s. The page then acts as the agent {grant.agent}: {rights}."


def _describe_grant(grant: Grant | None) -> dict[str, object]:
    if grant is None:
        return {}
    return {
        "agent": grant.agent,
        "scopes": grant.scopes,
        "clearance": grant.clearance,
        "projects": grant.projects,
        "tokenSeconds": grant.token_seconds,
        "linkEnds": grant.ends,
    }


def _open_browser(link: str) -> bool:
    """Return whether a browser opened the link; avoid terminal browsers: they take the terminal and run no scripts."""
    if sys.platform == "linux" and not any(os.environ.get(name) for name in _BROWSERS):
        return False
    return webbrowser.open(link)


@app.command("site")
def site_command(
    place: ReadPlace,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; an earlier site there is replaced.")],
    title: Annotated[
        str | None, typer.Option(metavar="NAME", help="Title of the site. Default: the agent's name.")
    ] = None,
    kind: KindOption = None,
    project: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="With a data folder: only this project; repeatable. Default: all."),
    ] = None,
) -> int:
    """Write records as a static site: a page to open from disk, or to put on any web host.

    The site has complete decisions with reviews, links and history, episodes, extractions and passages, and a search by
    words. With --url or CSTP_URL it has the records that the token can see; otherwise those of the data folder within
    --clearance and --project. A folder that is neither empty nor an earlier site is not changed.

    Exit code 1 if a record cannot be written; standard error names it, and the site has all others.
    """
    kinds, set_aside = _parse_kinds(kind), SetAside(logged=False)
    try:
        check_replaceable(folder)
        place.require_folder("--project", project)
        with place_methods(place, "site", _projects(project)) as methods:
            written = _write_site(methods, folder, title, kinds, set_aside, quiet=place.as_json)
    except FolderRefused as refused:
        raise typer.BadParameter(str(refused), param_hint="DIR") from None
    except CstpError as error:
        return print_error(error, "", as_json=place.as_json)
    _report(written, folder, as_json=place.as_json)
    return report_left_out(set_aside)


def _parse_kinds(names: Sequence[str] | None) -> frozenset[SiteKind]:
    known = {name: name for name in SITE_KINDS}
    if any(name not in known for name in names or ()):
        raise typer.BadParameter(f"must be one of {', '.join(SITE_KINDS)}", param_hint="--kind")
    return frozenset(known[name] for name in known if not names or name in names)


def _projects(names: Sequence[str] | None) -> Sequence[str] | None:
    for name in names or ():
        if not is_line(name, 200):
            raise typer.BadParameter(f"must be {a_line(200)}", param_hint="--project")
    return names or None


def _write_site(
    methods: Methods,
    folder: Path,
    title: str | None,
    kinds: frozenset[SiteKind],
    set_aside: SetAside,
    *,
    quiet: bool,
) -> WrittenSite:
    with record_bars(quiet=quiet) as bars:
        return write_site(methods, folder, title, kinds, bars, set_aside)


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
