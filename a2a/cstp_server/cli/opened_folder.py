"""Methods over a data folder, for commands reading a folder; loads the server, unneeded by other commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

from cognition_engines.errors import EngineError, FolderInUse
from cstp.client.methods import Methods
from cstp_server.cli.options import print_store
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.read_store import require_records
from cstp_server.cli.remote_methods import server_methods
from cstp_server.folder_methods import folder_methods, reading_token
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.tokens import Token


@contextmanager
def opened_methods(ctx: typer.Context, loaded: LoadedSettings, reader: Token) -> Iterator[Methods]:
    """Yield the methods over the data folder, with the rights of `reader`. Raise EngineError if a server holds it."""
    print_store(loaded)
    require_records(loaded)
    # otherwise each call would log a line
    configure_logging(loaded.settings.log.model_copy(update={"level": "warning"}))
    ctx.call_on_close(write_rest)
    try:
        with folder_methods(loaded.settings, reader) as methods:
            yield methods
    except FolderInUse as error:
        raise EngineError(f"{error}; ask that server instead, with --url and a token") from error


@contextmanager
def place_methods(place: ReadPlace, agent: str, projects: Sequence[str] | None = None) -> Iterator[Methods]:
    """Yield the methods for the chosen place; a folder is read as `agent`, in the audit, within `projects` if given."""
    if (url := place.server) is not None:
        with server_methods(url, place.token, place.timeout) as methods:
            yield methods
    else:
        reader = reading_token(agent, place.level, projects)
        with opened_methods(place.ctx, place.load_settings(), reader) as methods:
            yield methods
