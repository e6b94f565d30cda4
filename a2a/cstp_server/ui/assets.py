"""Web page files as sent: read and compressed once, identified by a common digest."""

import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Final

INDEX: Final = "index.html"
PLACEHOLDER: Final = b"{{assets}}"  # the placeholder in index.html for the paths of the other files
ALL_SCRIPTS: Final = "all.js"  # the placeholder for the scripts named in index.html
_SCRIPT: Final = re.compile(rb'<script defer src="\{\{assets\}\}([^"]+)"></script>\n')
_DIGEST_CHARACTERS: Final = 16
TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file; `compressed` is the gzip form, if smaller."""

    content_type: str
    content: bytes
    compressed: bytes | None


@dataclass(frozen=True, slots=True)
class Assets:
    """The page and other files, by path below `assets/DIGEST/`."""

    digest: str
    index: bytes
    files: Mapping[str, Asset]


def static_folder() -> Path:
    """Return the files' folder, in the wheel or in a checkout."""
    return Path(str(files("cstp_server"))) / "ui" / "static"


def load_assets(folder: Path) -> Assets:
    """Read all files with a type in `TYPES`; others, such as editor drafts, are ignored.

    The scripts in index.html are sent as a single file, because a browser takes longer for each request than for the
    answer. Takes about 50 ms, mostly to compress. Raise OSError for an unreadable file.
    """
    paths = sorted(path for path in folder.rglob("*") if path.suffix in TYPES and path.is_file())
    contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    digest = sha256()
    for name, content in contents.items():
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(content), content))  # lengths, so no two lists are equal
    short = digest.hexdigest()[:_DIGEST_CHARACTERS]
    names = [name.decode() for name in _SCRIPT.findall(contents[INDEX])]
    contents[ALL_SCRIPTS] = b"\n;\n".join(contents[name] for name in names)
    one = b'<script defer src="%s%s"></script>\n' % (PLACEHOLDER, ALL_SCRIPTS.encode())
    index = _SCRIPT.sub(b"", contents[INDEX]).replace(b"</head>", one + b"</head>")
    index = index.replace(PLACEHOLDER, f"assets/{short}/".encode())
    return Assets(short, index, {name: _asset(name, content) for name, content in contents.items() if name != INDEX})


def _asset(name: str, content: bytes) -> Asset:
    compressed = gzip.compress(content, mtime=0)
    return Asset(TYPES[Path(name).suffix], content, compressed if len(compressed) < len(content) else None)
