"""A server or a data folder, chosen by a reading command's options.

It imports no client: only commands calling a server need a client.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from cognition_engines.models import SENSITIVITIES
from cstp_server.cli.conventions import ConfigOption, DataDirOption, TimeoutOption, TokenOption
from cstp_server.cli.options import settings_for
from cstp_server.loaded_settings import LoadedSettings

ServerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask this server. Default: CSTP_URL, unless --data-dir is given.")
]
ClearanceOption = Annotated[
    str | None,
    typer.Option(metavar="LEVEL", help="Of a data folder: normal (the default), sensitive or highly_sensitive."),
]


def server_of(url: str | None, data_dir: Path | None) -> str | None:
    """Return the URL of the server to ask; None for the data folder. A named folder wins over CSTP_URL."""
    if url is not None and data_dir is not None:
        raise typer.BadParameter("cannot be combined with --data-dir", param_hint="--url")
    return url or (None if data_dir is not None else os.environ.get("CSTP_URL") or None)


@dataclass(frozen=True, slots=True)
class ReadPlace:
    """The server to ask with a token, or, if `url` is None, the data folder to read within a clearance."""

    ctx: typer.Context
    url: str | None
    token: str | None
    timeout: float
    clearance: str
    data_dir: Path | None
    config: Path | None

    def load_settings(self) -> LoadedSettings:
        """Return the data folder's settings. Raise SettingsError if they cannot be read."""
        return settings_for(self.ctx, self.data_dir, self.config)

    def require_folder(self, option: str, value: object) -> None:
        """Raise BadParameter if an option restricting a folder's reader is given for a server."""
        if self.url is not None and value:
            raise typer.BadParameter("requires a data folder: with a server, the token decides", param_hint=option)


def read_place(
    ctx: typer.Context,
    clearance: ClearanceOption = None,
    url: ServerOption = None,
    token: TokenOption = None,
    timeout: TimeoutOption = 30.0,
    data_dir: DataDirOption = None,
    config: ConfigOption = None,
) -> ReadPlace:
    """Return the place chosen by these options. Raise BadParameter if they contradict each other."""
    level = clearance or "normal"
    if level not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--clearance")
    place = ReadPlace(ctx, server_of(url, data_dir), token, timeout, level, data_dir, config)
    place.require_folder("--clearance", clearance)
    return place


def reads_place(command: Callable[..., int]) -> Callable[..., int]:
    """Return a command with the options of `read_place` where it has the parameter `place`."""
    read_options = signature(read_place).parameters
    options: list[Parameter] = []
    for name, option in signature(command).parameters.items():
        options.extend(read_options.values() if name == "place" else (option,))

    @wraps(command)
    def run(**given: Any) -> int:
        place = read_place(**{name: given.pop(name) for name in read_options})
        return command(place=place, **given)

    # typer reads both
    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__dict__["__signature__"] = Signature([option.replace(kind=Parameter.KEYWORD_ONLY) for option in options])
    return run
