"""All checks, one after the other."""

from collections.abc import Iterator
from typing import Final

from cstp_server.doctor import components as parts, environment as places, indexes
from cstp_server.doctor.finding import Finding, within
from cstp_server.doctor.sources import check_sources
from cstp_server.loaded_settings import LoadedSettings
from cstp_server.tokens import FIX_TOKENS

_SECONDS: Final = 20.0
_FILE_SECONDS: Final = 600.0  # reads every page of the database
_INDEX_SECONDS: Final = 120.0  # reads every file of an index


def diagnose(loaded: LoadedSettings) -> Iterator[Finding]:
    """Run every check over the settings in force. Changes nothing, raises nothing."""
    settings = loaded.settings
    yield from within(_SECONDS, "settings", "see cstp config", lambda: places.check_settings(loaded)).findings
    yield from within(
        _SECONDS, "folder", "make it readable for this user", lambda: places.check_folder(settings)
    ).findings
    yield from within(_SECONDS, "tokens", FIX_TOKENS, lambda: places.check_tokens(settings)).findings
    remedy = "see the embedding settings (cstp config)"
    model = within(_SECONDS, "model", remedy, lambda: parts.check_model(settings))
    yield from model.findings
    remedy = "check that the database is running and undamaged (see store.url in cstp config), or restore a backup"
    seconds = _FILE_SECONDS if settings.store_url.startswith("sqlite") else _INDEX_SECONDS
    store = within(seconds, "store", remedy, lambda: parts.check_store(settings, model.learned))
    yield from store.findings
    if (held := store.learned) is not None:
        if model.learned is not None or settings.embedding.model == "none":
            yield from within(_SECONDS, "records", "", lambda: parts.check_records(held, model.learned)).findings
        remedy = f"the next cstp serve moves it away and rebuilds it; to do it now: {indexes.REINDEX}"
        yield from within(_INDEX_SECONDS, "keywords", remedy, lambda: indexes.check_keywords(settings, held)).findings
    remedy = "check that Chroma is running (vectors.url) and its folder is readable"
    yield from within(
        _INDEX_SECONDS, "vectors", remedy, lambda: indexes.check_vectors(settings, store.learned, model.learned)
    ).findings
    if settings.sources:
        remedy = "check that the sources are reachable (sources)"
        yield from within(_INDEX_SECONDS, "sources", remedy, lambda: check_sources(settings)).findings
    remedy = "check that Python can start a process"
    yield from within(_SECONDS, "documents", remedy, parts.check_documents).findings
    remedy = "see the limits settings (cstp config); without Redis each server counts separately"
    yield from within(_SECONDS, "limits", remedy, lambda: parts.check_limits(settings)).findings
    remedy = "see the server's log; stop it and start it again"
    yield from within(_SECONDS, "server", remedy, lambda: parts.check_server(settings)).findings
