"""Options shared by several commands, and the settings behind them.

Every command with settings imports this module, so it imports nothing else slow: `cli/store.py` opens the records.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cognition_engines.checkouts import Repository, repositories_around
from cognition_engines.errors import ComponentFailed
from cognition_engines.escapes import one_line
from cstp_server.cli.conventions import (
    CommonOptions as CommonOptions,
    ConfigOption,
    DataDirOption,
    JsonOption as JsonOption,
    OptionGroup,
    TimeoutOption,
    TokenOption,
    command_family as command_family,
)
from cstp_server.loaded_settings import LoadedSettings, load_settings
from cstp_server.settings import Settings
from cstp_server.terminal import say

_WIDEST: Final = 1_000_000  # columns
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/]*(?=@)")
# inside a URL's query: ?password=..., &sslpassword=...
_SECRET_PARAMETER: Final = re.compile(r"(?i)(?<=[?&])((?:[^&=]*(?:password|secret|token|key))=)[^&]*")


def settings_for(
    ctx: typer.Context,
    data_dir: Path | None,
    config: Path | None,
    flags: Mapping[str, object] = MappingProxyType({}),
    start: Path | None = None,
) -> LoadedSettings:
    """Return the settings; a flag after the command's name takes precedence over a flag before it."""
    given = ctx.obj if isinstance(ctx.obj, CommonOptions) else CommonOptions(None, None)
    return load_settings({"data_dir": data_dir or given.data_dir, **flags}, config or given.config, start)


@dataclass(frozen=True)
class FolderOptions(OptionGroup):
    """Options for the data folder and the settings file."""

    ctx: typer.Context
    data_dir: DataDirOption = None
    config: ConfigOption = None

    def load_settings(self, flags: Mapping[str, object] = MappingProxyType({})) -> LoadedSettings:
        """Return the settings. Raise SettingsError if they cannot be read."""
        return settings_for(self.ctx, self.data_dir, self.config, flags)


OtherServerOption = Annotated[
    str | None,
    typer.Option("--url", envvar="CSTP_URL", metavar="URL", help="URL of a server to ask; ignored with --data-dir."),
]


@dataclass(frozen=True)
class ServerOrFolder(OptionGroup):
    """Options for a server or the data folder, and for the form of what is printed."""

    ctx: typer.Context
    url: OtherServerOption = None
    token: TokenOption = None
    timeout: TimeoutOption = 30.0
    as_json: JsonOption = False
    data_dir: DataDirOption = None
    config: ConfigOption = None

    def load_settings(self) -> LoadedSettings:
        """Return the settings. Raise SettingsError if they cannot be read."""
        return settings_for(self.ctx, self.data_dir, self.config)


def repository_here() -> Repository | None:
    """Return the checkout in which the command runs; None outside of one."""
    with suppress(OSError):  # the working folder is removed
        return next(iter(repositories_around(str(Path.cwd()))), None)
    return None


def store_place(settings: Settings) -> str:
    """Return the records' location: an absolute path, or a URL without credentials."""
    if settings.store.url is not None:
        return without_secrets(settings.store.url)
    return str((settings.data_dir / "records.sqlite3").absolute())


def places_of(loaded: LoadedSettings) -> dict[str, str]:
    """Return the records' location, and the settings' sources except flags."""
    return {"records": store_place(loaded.settings), "settings": loaded.named_sources}


def store_line(loaded: LoadedSettings) -> str:
    """Return a line for readers with both places."""
    return "cstp: " + "; ".join(f"{name}: {place}" for name, place in places_of(loaded).items())


def print_store(loaded: LoadedSettings) -> None:
    """Print the store and the settings' sources on standard error."""
    with suppress(OSError):  # the reader is closed
        say(store_line(loaded), err=True)


@contextmanager
def naming_a_store_that_fails(loaded: LoadedSettings) -> Iterator[None]:
    """Name the store if the body fails before the server has logged it."""
    try:
        yield
    except ComponentFailed:
        print_store(loaded)
        raise


def without_secrets(text: str) -> str:
    """Return a URL without credentials; any other text unchanged."""
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub("***", text))


def print_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; ids are never cut, and outside a terminal every row is a single line, however long."""
    console, table = Console(), Table(box=None)
    for name in names:
        table.add_column(name, no_wrap=name == "id")  # other commands take an id, so it is never cut
    for cells in rows:
        table.add_row(*(Text(one_line(cell)) for cell in cells))
    if not console.is_terminal:
        console.width = _WIDEST  # without a terminal, not cut at 80 columns
        console.width = console.measure(table).maximum
    console.print(table)
