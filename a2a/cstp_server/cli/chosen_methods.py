"""The methods of a server or of a data folder, as the options of a reading command choose."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from cognition_engines.errors import EngineError, FolderInUse
from cognition_engines.models import SENSITIVITIES
from cstp.call import Call
from cstp.client.methods import Methods
from cstp_server.cli.options import name_store
from cstp_server.cli.remote import Remote, base_of, connect, required_token
from cstp_server.cli.store import require_records
from cstp_server.folder_methods import folder_methods
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.tokens import Token

R = TypeVar("R")
ServerOption = Annotated[
    str | None, typer.Option(metavar="URL", help="Ask this server. Default: CSTP_URL, unless --data-dir is given.")
]
ClearanceOption = Annotated[
    str | None,
    typer.Option(metavar="LEVEL", help="Of a data folder: normal (the default), sensitive or highly_sensitive."),
]


class _RemoteMethods(Methods):
    """Calls a server. A limit that is used up is waited for; a connection that broke is tried again."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def send(self, call: Call[R]) -> R:
        """Send one call and return its result. Raise CstpError, and Unreachable without an answer in time."""
        return self._remote.send_patiently(call, tries=3)


def server_of(url: str | None, data_dir: Path | None) -> str | None:
    """Return the URL of the server to ask; None for the data folder, which, if named, wins over CSTP_URL."""
    if url is not None and data_dir is not None:
        raise typer.BadParameter("cannot be combined with --data-dir", param_hint="--url")
    return url or (None if data_dir is not None else os.environ.get("CSTP_URL") or None)


def refuse_with_server(given: Mapping[str, object]) -> None:
    """Raise BadParameter if one of these options has a value."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter("requires a data folder: with a server, the token decides", param_hint=option)


def level_of(clearance: str | None) -> str:
    """Return the clearance of the option. Raise BadParameter for an unknown one."""
    level = clearance or "normal"
    if level not in SENSITIVITIES:
        raise typer.BadParameter(f"must be one of {', '.join(SENSITIVITIES)}", param_hint="--clearance")
    return level


@contextmanager
def server_methods(url: str, token: str | None, timeout: float) -> Iterator[Methods]:
    """Yield the methods of a server. Raise BadParameter without a token."""
    with connect(base_of(url, "--url"), required_token(token), timeout) as remote:
        yield _RemoteMethods(remote)


@contextmanager
def opened_methods(ctx: typer.Context, loaded: LoadedSettings, reader: Token) -> Iterator[Methods]:
    """Yield the methods over the data folder, with the rights of `reader`. Raise EngineError if a server holds it."""
    name_store(loaded)
    require_records(loaded)
    # each call would have a line
    configure_logging(loaded.settings.log.model_copy(update={"level": "warning"}))
    ctx.call_on_close(write_rest)
    try:
        with folder_methods(loaded.settings, reader) as methods:
            yield methods
    except FolderInUse as error:
        raise EngineError(f"{error}; ask that server instead, with --url and a token") from error
