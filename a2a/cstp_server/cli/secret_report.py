"""The report of `cstp doctor --secrets`: stored texts with secrets, never the secrets themselves."""

import json
from dataclasses import asdict
from typing import Final

from rich.console import Console
from rich.text import Text

from cognition_engines.escapes import one_line
from cognition_engines.store.read_only import read_only_store
from cognition_engines.store.stored_secrets import StoredSecret, find_stored_secrets
from cstp_server.cli.progress import record_bars
from cstp_server.cli.read_store import require_records
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.terminal import say

_REMEDY: Final = (
    "change the secret where it is in use. Then, for a record of a file, remove it from the file and ingest again (if "
    "the field is source or path, rename the file and ingest with --prune); for a record of an agent, cstp call "
    "cstp.forget. See docs/security.md"
)


def report_stored_secrets(loaded: LoadedSettings, *, as_json: bool) -> int:
    """Print the secrets in the store by record and field; return the exit code, 1 if there are any.

    Raise ConfigurationError if there is no store, ComponentFailed if it does not answer.
    """
    require_records(loaded)
    console, count = Console(), 0
    found: list[StoredSecret] = []
    with (
        read_only_store(loaded.settings.store_url, loaded.settings.store_named) as store,
        record_bars(quiet=as_json) as bars,
    ):
        for one in find_stored_secrets(store, bars):
            count += 1
            if as_json:
                found.append(one)
            else:
                line = one_line(f"{one.of} {one.id}: {one.field} has a secret ({one.kind})")
                console.print(Text(line), soft_wrap=True)
    if as_json:
        say(json.dumps({"secrets": [asdict(one) for one in found]}))
    else:
        say(f"{count} {'field has' if count == 1 else 'fields have'} a secret" + (f"; {_REMEDY}" if count else ""))
    return 1 if count else 0
