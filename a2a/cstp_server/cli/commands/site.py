"""`cstp site`: records visible to a token, as files for use without a server."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.set_aside import SetAside
from cstp.client.methods import Methods
from cstp.errors import CstpError
from cstp_server.cli.left_out import report_left_out
from cstp_server.cli.opened_folder import place_methods
from cstp_server.cli.options import command_family
from cstp_server.cli.progress import record_bars
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.remote import print_error
from cstp_server.terminal import say
from cstp_server.ui.site_files import FolderRefused, check_replaceable
from cstp_server.ui.site_records import SITE_KINDS, SiteKind, WrittenSite, write_site

app = command_family()
KindOption = Annotated[
    list[str] | None,
    typer.Option("--kind", metavar="KIND", help=f"{', '.join(SITE_KINDS)}; repeatable. Default: all of these."),
]


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
