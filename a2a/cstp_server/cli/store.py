"""Records for commands working on a store."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from cognition_engines.store.read_only import may_be_written, read_only_store
from cognition_engines.store.records import Records, open_records
from cstp_server.cli.options import print_store
from cstp_server.cli.read_store import has_records, require_records
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.settings import Settings


@contextmanager
def opened_records(loaded: LoadedSettings, *, named: bool = False) -> Iterator[Records]:
    """Open the records, created if missing, and close them at the end.

    Names the store on standard error before it opens it, unless the command has done so (`named`).
    """
    if not named:
        print_store(loaded)
    with _open_records(loaded.settings) as records:
        yield records


@contextmanager
def records_in(folder: Path) -> Iterator[Records]:
    """Open records in a separate folder, created if missing, and close them at the end."""
    with closing(open_records(f"sqlite:///{folder / 'records.sqlite3'}", named=str(folder))) as records:
        yield records


@contextmanager
def existing_records(loaded: LoadedSettings, *, reads_only: bool = False) -> Iterator[Records]:
    """Open records as `opened_records` does. Raise ConfigurationError if there are none.

    With `reads_only`, also opens a store not writable by this user.
    """
    print_store(loaded)
    require_records(loaded)
    url, named = loaded.settings.store_url, loaded.settings.store_named
    if reads_only and not may_be_written(url, named):
        with read_only_store(url, named) as store:
            yield Records(store)
        return
    with _open_records(loaded.settings) as records:
        yield records


@contextmanager
def compared_records(loaded: LoadedSettings) -> Iterator[Records]:
    """Open records for a dry run; if there are none, empty ones elsewhere. Creates nothing."""
    print_store(loaded)
    if has_records(loaded.settings):
        with _open_records(loaded.settings) as records:
            yield records
        return
    with TemporaryDirectory(prefix="cstp-dry-") as folder, records_in(Path(folder)) as records:
        yield records


def _open_records(settings: Settings) -> closing[Records]:
    return closing(open_records(settings.store_url, named=settings.store_named))
