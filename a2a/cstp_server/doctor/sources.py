"""Collections, folders and files that the server follows."""

from pathlib import Path
from typing import Final

from cognition_engines.errors import EngineError
from cognition_engines.ingest.collections.addresses import checked_address, shown_address
from cognition_engines.ingest.collections.open_collection import opened
from cognition_engines.ingest.follow import file_states
from cognition_engines.ingest.options import Selection
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.settings import Settings, SourceSettings

_SOURCE_SECONDS: Final = 10.0


def check_sources(settings: Settings) -> CheckResult[None]:
    """Check whether each collection that is followed is there and answers, and each folder and file can be read."""
    findings = []
    for source in settings.sources:
        try:
            seen = _files(source.path, source) if source.path is not None else _items(source.address)
            findings.append(Finding("sources", Level.OK, f"{shown_address(source.address)}: {seen}"))
        except FileNotFoundError:
            remedy = "mount it, or change sources; its records stay as last read"
            findings.append(Finding("sources", Level.PROBLEM, f"{source.address} not found", remedy))
        except (EngineError, OSError) as error:
            remedy = "check that it is running, and its address (sources); its records stay as last read"
            findings.append(Finding("sources", Level.PROBLEM, str(error), remedy))
    return CheckResult(findings)


def _files(path: Path, source: SourceSettings) -> str:
    """Raises OSError."""
    selection = Selection(source.include, source.exclude, any_extension=source.kind is not None)
    return f"{len(file_states([path], selection)):,} files"


def _items(address: str) -> str:
    """Raises EngineError."""
    checked_address(address)
    with opened(address, None, _SOURCE_SECONDS) as collection:
        return f"{collection.count():,} items"
