"""Records opened for reading only."""

from collections.abc import Iterator
from contextlib import contextmanager

from cognition_engines.errors import ConfigurationError
from cognition_engines.store.read_only import schema_at
from cognition_engines.store.readable_records import readable_records
from cognition_engines.store.record_reads import RecordReads
from cstp_server.cli.options import print_store, without_secrets
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.settings import Settings


def has_records(settings: Settings) -> bool:
    """Return whether a database with our tables exists. Creates nothing.

    Raise ConfigurationError for a URL naming no database, ComponentFailed if the database does not answer.
    """
    return schema_at(settings.store_url) is not None


def require_records(loaded: LoadedSettings) -> None:
    """Raise ConfigurationError if there is no store to read. Creates nothing."""
    if not has_records(loaded.settings):
        raise ConfigurationError(_nothing_there(loaded.settings))


@contextmanager
def printed_records(loaded: LoadedSettings) -> Iterator[RecordReads]:
    """Print the store on standard error, and open the records for reading, also if this user may not write them.

    Raise ConfigurationError if there are none.
    """
    print_store(loaded)
    require_records(loaded)
    with readable_records(loaded.settings.store_url, loaded.settings.store_named) as records:
        yield records


def _nothing_there(settings: Settings) -> str:
    if settings.store.url is None:
        return f"{settings.data_dir} holds no records yet: fill it with cstp ingest PATH, or name another --data-dir"
    where = without_secrets(settings.store.url)
    return f"store.url: {where} holds no records yet: correct it (CSTP_STORE__URL), or fill it with cstp ingest PATH"
