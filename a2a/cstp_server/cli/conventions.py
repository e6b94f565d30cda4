"""Conventions of all commands: exit codes, common options, command groups.

`cstp --help` and shell completion import this module, so it imports nothing slow.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

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
    typer.Option("--data-dir", metavar="FOLDER", help="Data folder. Default: that of the repository, else ./data."),
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="A settings file in YAML. Default: CSTP_CONFIG.")
]
TokenOption = Annotated[
    str | None, typer.Option(metavar="TOKEN", help="The bearer token; CSTP_TOKEN is safer, since ps shows options.")
]
UrlOption = Annotated[str, typer.Option(envvar="CSTP_URL", metavar="URL", help="URL of the server.")]
TimeoutOption = Annotated[
    float, typer.Option(min=0.1, max=3600, metavar="SECONDS", help="Timeout of an answer in seconds.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON line for machines.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """Options given before the command's name."""

    data_dir: Path | None
    config: Path | None


C = TypeVar("C", bound=Callable[..., Any])


@dataclass(frozen=True)
class OptionGroup:
    """Options of several commands: a command with a parameter of a subclass has these options, after its own."""


class CommandFamily(typer.Typer):
    """Commands with options of their own, and with those of groups."""

    def command(self, name: str | None = None, **settings: Any) -> Callable[[C], C]:
        register = super().command(name, **settings)

        def add(command: C) -> C:
            register(_with_group_options(command))
            return command

        return add


def _with_group_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return the command with an option for each field of its groups."""
    parameters = signature(command).parameters.values()
    groups = {one.name: one.annotation for one in parameters if _is_group(one.annotation)}
    own = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in parameters if one.name not in groups]
    options = [*own, *(option for group in groups.values() for option in _group_options(group))]

    @wraps(command)
    def run(**given: Any) -> Any:
        made = {
            name: group(**{one.name: given.pop(one.name) for one in fields(group)}) for name, group in groups.items()
        }
        return command(**made, **given)

    # typer reads both
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__dict__["__signature__"] = Signature(options)
    return run


def _is_group(annotation: object) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OptionGroup)


def _group_options(group: type[OptionGroup]) -> Iterator[Parameter]:
    for one in fields(group):
        default = Parameter.empty if one.default is MISSING else one.default
        yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=one.type)


def command_family(help: str | None = None) -> CommandFamily:
    """Return an empty group of commands with plain-text help."""
    family = CommandFamily(rich_markup_mode=None, add_completion=False, help=help)

    @family.callback()
    def _keeps_the_names() -> None:
        """Do nothing: without a callback, a single command would lose its name."""

    return family
