"""The records that a command works on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cognition_engines.errors import ConfigurationError
from cognition_engines.records.inspection import schema_at
from cognition_engines.records.store import Records, open_records
from cstp_server.cli.options import without_secrets
from cstp_server.settings import Settings


def has_records(settings: Settings) -> bool:
    """Whether there is a store to read: a database with our tables. Makes nothing.

    Raises ConfigurationError for a URL that names no database, ComponentFailed for one that does not answer.
    """
    return schema_at(settings.store_url) is not None


@contextmanager
def opened_records(settings: Settings, folder: Path | None = None) -> Iterator[Records]:
    """The records, made if missing, or those of another folder; closed in the end."""
    if folder is None:
        records = open_records(settings.store_url, named=settings.store_named)
    else:
        records = open_records(f"sqlite:///{folder / 'records.sqlite3'}", named=str(folder))
    try:
        yield records
    finally:
        records.close()


@contextmanager
def existing_records(settings: Settings) -> Iterator[Records]:
    """As `opened_records`, for what makes no sense without any: then ConfigurationError, and nothing is made."""
    if not has_records(settings):
        raise ConfigurationError(_nothing_there(settings))
    with opened_records(settings) as records:
        yield records


def _nothing_there(settings: Settings) -> str:
    if settings.store.url is None:
        return f"{settings.data_dir} holds no records yet: fill it with cstp ingest PATH, or name another --data-dir"
    where = without_secrets(settings.store.url)
    return f"store.url: {where} holds no records yet: correct it (CSTP_STORE__URL), or fill it with cstp ingest PATH"
