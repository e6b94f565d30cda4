"""Conventions of all commands: exit codes, common options, command groups.

`cstp --help` and shell completion import this module, so it imports nothing slow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

if TYPE_CHECKING:  # the command line needs this module before any slow import
    from cstp.errors import Family

DONE: Final = 0
FAILED: Final = 1
MISUSED: Final = 2
UNREACHABLE: Final = 3
STOPPED: Final = 130

# of error answers
FAMILIES: Final[Mapping["Family", int]] = {
    "other": FAILED,
    "not allowed": 4,
    "refused": 5,
    "not found": 6,
    "later": 7,
    "broken": 8,
}

MEANINGS: Final[Mapping[int, str]] = {
    DONE: "done",
    FAILED: "it failed, completely or in part; the message gives the reason",
    MISUSED: "wrong usage or configuration; nothing was done",
    UNREACHABLE: "no CSTP server answers there",
    FAMILIES["not allowed"]: "the token is unknown, expired, revoked or lacks a scope",
    FAMILIES["refused"]: "the server rejects the method or its parameters",
    FAMILIES["not found"]: "no such record for this token",
    FAMILIES["later"]: "the limit is used up or the server is busy; try later",
    FAMILIES["broken"]: "a part of the server failed",
    STOPPED: "stopped by Ctrl-C",
}


class Unreachable(Exception):
    """No server answers, or the server is not a CSTP server; the message names the address."""


DataDirOption = Annotated[
    Path | None,
    typer.Option("--data-dir", metavar="FOLDER", help="Data folder. Default: ./data."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A settings file in YAML. Default: CSTP_CONFIG.")
]
TokenOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="The bearer token; CSTP_TOKEN is safer, since ps shows options.")
]
TimeoutOption = Annotated[
    float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="Timeout of an answer in seconds.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line for machines.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """Options given before the command's name."""

    data_dir: Path | None
    config: Path | None


def command_family(help: str | None = None) -> typer.Typer:
    """Return an empty group of commands with plain-text help."""
    family = typer.Typer(rich_markup_mode=None, add_completion=False, help=help)

    @family.callback()
    def _keeps_the_names() -> None:
        """Do nothing: without a callback, a single command would lose its name."""

    return family
