"""Options that several commands share, and the settings behind them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cstp_server.settings import Loaded, load_settings

DataDirOption = Annotated[
    Path | None, typer.Option("--data-dir", help="The folder that holds everything.", show_default="./data")
]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="A settings file in YAML.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line for machines.")]


@dataclass(frozen=True, slots=True)
class Given:
    """What was given before the command's name."""

    data_dir: Path | None
    config: Path | None


def settings_for(
    ctx: typer.Context, data_dir: Path | None, config: Path | None, **flags: object
) -> Loaded:
    """The settings in force; a flag after the command's name wins over one before it."""
    given = ctx.obj if isinstance(ctx.obj, Given) else Given(None, None)
    named = {name.replace("__", "."): value for name, value in flags.items()}
    return load_settings({"data_dir": data_dir or given.data_dir, **named}, config or given.config)
