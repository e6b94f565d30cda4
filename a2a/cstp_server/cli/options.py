"""Options that several commands share, and the settings behind them.

Every command imports this module, so it imports nothing that takes time: the records are opened in `opened.py`.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from cstp_server.settings import Loaded, Settings, load_settings

DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="FOLDER", help="The folder that holds everything; ./data unless named."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A settings file in YAML; else CSTP_CONFIG names one.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line for machines.")]

_CREDENTIALS: Final = re.compile(r"(?<=://)[^/]*(?=@)")
# inside a URL's query: ?password=..., &sslpassword=...
_SECRET_PARAMETER: Final = re.compile(r"(?i)(?<=[?&])((?:[^&=]*(?:password|secret|token|key))=)[^&]*")


def command_family(help: str | None = None) -> typer.Typer:
    """A set of commands, still empty, whose help is plain text."""
    family = typer.Typer(rich_markup_mode=None, add_completion=False, help=help)

    @family.callback()
    def _keeps_the_names() -> None:
        """Without a callback, a single command would lose its name."""

    return family


@dataclass(frozen=True, slots=True)
class Given:
    """What was given before the command's name."""

    data_dir: Path | None
    config: Path | None


def settings_for(ctx: typer.Context, data_dir: Path | None, config: Path | None, **flags: object) -> Loaded:
    """The settings in force; a flag after the command's name wins over one before it."""
    given = ctx.obj if isinstance(ctx.obj, Given) else Given(None, None)
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return load_settings({"data_dir": data_dir or given.data_dir, **named}, config or given.config)


def store_place(settings: Settings) -> str:
    """Where the records are: an absolute path, or a URL without its credentials."""
    if settings.store.url is not None:
        return without_secrets(settings.store.url)
    return str((settings.data_dir / "records.sqlite3").absolute())


def places_of(loaded: Loaded) -> dict[str, str]:
    """Where the records are, and where the settings come from, but for flags."""
    return {"records": store_place(loaded.settings), "settings": ", ".join(loaded.sources) or "defaults"}


def store_line(loaded: Loaded) -> str:
    """One line for people that names both places."""
    return "cstp: " + "; ".join(f"{name}: {place}" for name, place in places_of(loaded).items())


def name_store(loaded: Loaded) -> None:
    """Says on standard error which store a command has opened, and by which settings."""
    with suppress(OSError):  # whoever was to read it has gone
        typer.echo(store_line(loaded), err=True)


def without_secrets(text: str) -> str:
    """A URL without its credentials; any other text as it is."""
    return _SECRET_PARAMETER.sub(r"\1***", _CREDENTIALS.sub("***", text))


def print_table(table: Table) -> None:
    """Prints a table; where nobody looks at it, every row is one line, however long."""
    console = Console()
    console.print(table, width=None if console.is_terminal else console.measure(table).maximum)
