"""The page of a site: that of the server, with a local reader in the place of signing in and of calls."""

import shutil
from html import escape
from pathlib import Path
from typing import Final

from cstp_server.ui.assets import INDEX, PLACEHOLDER, TYPES

# `file:` is for browsers in which a page of a disk is not of the same origin as its files; nothing is ever fetched
_FROM: Final = "'self' file:"
POLICY: Final = (
    f"default-src 'none'; script-src {_FROM}; style-src {_FROM}; img-src {_FROM} data:; font-src {_FROM}; "
    "base-uri 'none'; form-action 'none'"
)
_CHARSET: Final = '<meta charset="utf-8">\n'
_NO_REFERRER: Final = '<meta name="referrer" content="no-referrer">\n'
_TITLE: Final = "<title>CSTP</title>"
_LIVE: Final = ("page/sign_in.js", "page/start.js")  # what only a page with a server has
_LOCAL: Final = ("page/site.js", "page/site_decisions.js", "page/site_search.js", "page/site_start.js")


def write_page(static: Path, folder: Path, title: str) -> None:
    """Write `index.html` and copy its files from the page. Raises OSError."""
    for path in sorted(static.rglob("*")):
        name = path.relative_to(static).as_posix()
        if path.suffix in TYPES and path.is_file() and name not in (INDEX, *_LIVE):
            _copy(path, folder / name)
    for path in sorted(static.parent.glob("licences/*.txt")):
        _copy(path, folder / "licences" / path.name)
    (folder / INDEX).write_text(site_index((static / INDEX).read_text(encoding="utf-8"), title), encoding="utf-8")


def site_index(template: str, title: str) -> str:
    """Return `index.html` of a site, with relative links. Raises ValueError if the template differs."""
    live = "".join(map(_script, _LIVE))
    local = "".join(map(_script, _LOCAL))
    guards = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n{_NO_REFERRER}'
    page = template.replace(PLACEHOLDER.decode(), "")
    for old, new in ((_CHARSET, _CHARSET + guards), (_TITLE, f"<title>{escape(title)}</title>"), (live, local)):
        if page.count(old) != 1:
            raise ValueError(f"{INDEX} must have once: {old}")
        page = page.replace(old, new)
    return page


def _script(name: str) -> str:
    return f'<script defer src="{name}"></script>\n'


def _copy(source: Path, target: Path) -> None:
    """The contents alone: a file of an installation may be read-only."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
