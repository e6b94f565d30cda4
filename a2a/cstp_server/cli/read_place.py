"""A server or a data folder, chosen by a reading command's options.

It imports no client: only commands calling a server need a client.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cognition_engines.models import SENSITIVITIES
from cstp_server.cli.conventions import ConfigOption, DataDirOption, JsonOption, OptionGroup, TimeoutOption, TokenOption

if TYPE_CHECKING:
    from cstp_server.loaded_settings import LoadedSettings

_SETTINGS: Final = "cstp_server.cli.options"  # loaded by name: a host that only asks servers lacks its packages
ServerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask this server. Default: CSTP_URL, unless --data-dir is given.")
]
ClearanceOption = Annotated[
    str | None,
    typer.Option(metavar="LEVEL", help="Of a data folder: normal (the default), sensitive or highly_sensitive."),
]


@dataclass(frozen=True)
class ReadPlace(OptionGroup):
    """Options for the server to ask with a token, or the data folder to read within a clearance."""

    ctx: typer.Context
    clearance: ClearanceOption = None
    url: ServerOption = None
    token: TokenOption = None
    timeout: TimeoutOption = 30.0
    data_dir: DataDirOption = None
    config: ConfigOption = None
    as_json: JsonOption = False

    def __post_init__(self) -> None:
        """Raise BadParameter if the options contradict each other."""
        if self.level not in SENSITIVITIES:
            raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--clearance")
        if self.url is not None and self.data_dir is not None:
            raise typer.BadParameter("cannot be combined with --data-dir", param_hint="--url")
        self.require_folder("--clearance", self.clearance)

    @property
    def level(self) -> str:
        """Return the clearance for reading a data folder."""
        return self.clearance or "normal"

    @property
    def server(self) -> str | None:
        """Return the URL of the server to ask; None for the data folder. A named folder wins over CSTP_URL."""
        return self.url or (None if self.data_dir is not None else os.environ.get("CSTP_URL") or None)

    def load_settings(self, start: Path | None = None) -> "LoadedSettings":
        """Return the settings, with a data folder found from `start`, or here. Raise ConfigurationError."""
        load: Callable[..., LoadedSettings] = import_module(_SETTINGS).settings_for
        return load(self.ctx, self.data_dir, self.config, start=start)

    def require_folder(self, option: str, value: object) -> None:
        """Raise BadParameter if an option restricting a folder's reader is given for a server."""
        if self.server is not None and value:
            raise typer.BadParameter("requires a data folder: with a server, the token decides", param_hint=option)
