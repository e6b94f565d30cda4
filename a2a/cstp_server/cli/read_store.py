"""Records opened for reading only."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from cognition_engines.errors import ConfigurationError
from cognition_engines.store.database import failures
from cognition_engines.store.opening import open_store
from cognition_engines.store.read_only import may_be_written, read_only_store, schema_at
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
def readable_records(loaded: LoadedSettings) -> Iterator[RecordReads]:
    """Print the store on standard error, and open the records for reading, also if this user may not write them.

    Raise ConfigurationError if there are none.
    """
    print_store(loaded)
    require_records(loaded)
    url, named = loaded.settings.store_url, loaded.settings.store_named
    if not may_be_written(url, named):
        with read_only_store(url, named) as store:
            yield RecordReads(store)
        return
    with failures():
        store = open_store(url, named=named)
    with closing(RecordReads(store)) as records:
        yield records


def _nothing_there(settings: Settings) -> str:
    if settings.store.url is None:
        return f"{settings.data_dir} holds no records yet: fill it with cstp ingest PATH, or name another --data-dir"
    where = without_secrets(settings.store.url)
    return f"store.url: {where} holds no records yet: correct it (CSTP_STORE__URL), or fill it with cstp ingest PATH"
