"""Chroma collections that the server follows."""

from typing import Final

from cognition_engines.errors import EngineError
from cognition_engines.ingest.chroma.names import checked_address
from cognition_engines.ingest.chroma.source import opened
from cstp_server.doctor.finding import CheckResult, Finding, Level
from cstp_server.settings import Settings

_SOURCE_SECONDS: Final = 10.0


def check_sources(settings: Settings) -> CheckResult[None]:
    """Whether each collection that is followed is there and answers."""
    findings = []
    for source in settings.sources:
        try:
            checked_address(source.url)
            with opened(source.url, None, _SOURCE_SECONDS) as collection:
                seen = f"{source.url}: {collection.count():,} items"
            findings.append(Finding("sources", Level.OK, seen))
        except EngineError as error:
            remedy = "check that it is up and named right (sources); its records stay as they were last read"
            findings.append(Finding("sources", Level.PROBLEM, str(error), remedy))
    return CheckResult(findings)
