"""`cstp status` and `cstp config`: what is there, and which settings are in force."""

import json
import re
from datetime import UTC, datetime
from typing import Final

import httpx
import typer
from rich.console import Console
from rich.table import Table

from cognition_engines.errors import FolderInUse
from cognition_engines.indexes.lock import FolderLock
from cognition_engines.records.store import open_records
from cstp_server.cli.options import ConfigOption, DataDirOption, JsonOption, settings_for
from cstp_server.settings import Settings
from cstp_server.tokens import read_tokens

app = typer.Typer()
_PASSWORD: Final = re.compile(r"(?<=://)([^/@]*:)?[^/@]*(?=@)")


@app.command()
def status(
    ctx: typer.Context, as_json: JsonOption = False, data_dir: DataDirOption = None, config: ConfigOption = None
) -> None:
    """Tell what the data folder holds and whether a server answers."""
    settings = settings_for(ctx, data_dir, config).settings
    records = open_records(settings.store_url)
    try:
        now = datetime.now(UTC)
        found = {
            "dataDir": str(settings.data_dir.absolute()),
            "decisions": records.count(),
            "vectors": records.models(),
            "liveTokens": sum(token.live(now) for token in read_tokens(settings.tokens_path)),
            "indexes": "held by a server" if _held(settings) else "free",
            "server": _health(settings),
        }
    finally:
        records.close()
    if as_json:
        typer.echo(json.dumps(found))
        return
    for name, value in found.items():
        typer.echo(f"{name}: {value if isinstance(value, str | int) else json.dumps(value)}")


def _held(settings: Settings) -> bool:
    try:
        FolderLock(settings.indexes_path).close()
    except FolderInUse:
        return True
    return False


def _health(settings: Settings) -> str:
    url = f"http://{settings.server.host}:{settings.server.port}"
    try:
        answer = httpx.get(f"{url}/healthz", timeout=2.0)
    except httpx.HTTPError:
        return f"none on {url}"
    return f"alive on {url}" if answer.status_code == httpx.codes.OK else f"HTTP {answer.status_code} on {url}"


@app.command("config")
def show_config(
    ctx: typer.Context, as_json: JsonOption = False, data_dir: DataDirOption = None, config: ConfigOption = None
) -> None:
    """Show every setting, its value and where it came from. Passwords are left out."""
    loaded = settings_for(ctx, data_dir, config)
    rows = [(name, _shown(value), loaded.origins.get(name, "default")) for name, value in _values(loaded.settings)]
    if as_json:
        typer.echo(json.dumps([{"name": name, "value": value, "from": origin} for name, value, origin in rows]))
        return
    table = Table("setting", "value", "from")
    for name, value, origin in rows:
        table.add_row(name, json.dumps(value), origin)
    Console().print(table)


def _values(settings: Settings) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for section, value in settings.model_dump(mode="json").items():
        if isinstance(value, dict):
            found += [(f"{section}.{name}", inner) for name, inner in value.items()]
        else:
            found.append((section, value))
    return found


def _shown(value: object) -> object:
    return _PASSWORD.sub("***", value) if isinstance(value, str) else value
