"""Methods over a data folder, for commands reading a folder; loads the server, unneeded by other commands."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from cstp.client.methods import Methods
from cstp_server.cli.options import print_store
from cstp_server.cli.read_place import ReadPlace
from cstp_server.cli.read_store import require_records
from cstp_server.cli.remote_methods import server_methods
from cstp_server.folder_methods import reading_token
from cstp_server.observe.log import configure_logging, write_rest
from cstp_server.shared_folder import shared_methods


@contextmanager
def place_methods(place: ReadPlace, agent: str, projects: Sequence[str] | None = None) -> Iterator[Methods]:
    """Yield the methods for the chosen place; a folder is read as `agent`, in the audit, within `projects` if given."""
    if (url := place.server) is not None:
        with server_methods(url, place.token, place.timeout) as methods:
            yield methods
    else:
        loaded = place.load_settings()
        print_store(loaded)
        require_records(loaded)
        # otherwise each call would log a line
        configure_logging(loaded.settings.log.model_copy(update={"level": "warning"}))
        place.ctx.call_on_close(write_rest)
        with shared_methods(loaded.settings, reading_token(agent, place.level, projects), place.timeout) as methods:
            yield methods
