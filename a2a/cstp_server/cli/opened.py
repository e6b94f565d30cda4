"""The records that a command works on."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cognition_engines.errors import ConfigurationError
from cognition_engines.records.store import Records, open_records
from cstp_server.settings import Settings


def has_records(settings: Settings) -> bool:
    """Whether there is a database to read: a folder that was never written to has none."""
    return settings.store.url is not None or (settings.data_dir / "records.sqlite3").exists()


@contextmanager
def opened_records(settings: Settings, folder: Path | None = None) -> Iterator[Records]:
    """The records, made if missing, or those of another folder; closed in the end."""
    records = open_records(settings.store_url if folder is None else f"sqlite:///{folder / 'records.sqlite3'}")
    try:
        yield records
    finally:
        records.close()


@contextmanager
def existing_records(settings: Settings) -> Iterator[Records]:
    """As `opened_records`, for what makes no sense without any: then ConfigurationError, and nothing is made."""
    if not has_records(settings):
        raise ConfigurationError(
            f"{settings.data_dir} holds no records yet: fill it with cstp ingest PATH, or name another --data-dir"
        )
    with opened_records(settings) as records:
        yield records
