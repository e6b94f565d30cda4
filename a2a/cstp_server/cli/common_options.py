"""Options that many commands share, and those before a command's name.

`cstp --help` and shells that complete a line import this module, so it imports nothing that takes time.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="FOLDER", help="Data folder. Default: ./data."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A settings file in YAML. Default: CSTP_CONFIG.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line for machines.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What was given before the command's name."""

    data_dir: Path | None
    config: Path | None


def command_family(help: str | None = None) -> typer.Typer:
    """Return an empty group of commands with plain-text help."""
    family = typer.Typer(rich_markup_mode=None, add_completion=False, help=help)

    @family.callback()
    def _keeps_the_names() -> None:
        """Without a callback, a single command would lose its name."""

    return family
