"""What a run reports in the end of records that are stored: those left behind, and references that say too much."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from cognition_engines.drafts.refusal_messages import kinds
from cognition_engines.ingest.plan import RecordSink
from cognition_engines.ingest.report import Tally, is_gone
from cognition_engines.ingest.repository import UNNAMED
from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.registry import PARENTS
from cognition_engines.kinds.spec import Role
from cognition_engines.models import Problem
from cognition_engines.store.values import DanglingReferences, ExposedRecords

_TARGETS: Final[Mapping[Role, str]] = {
    Role.SOURCE: "a source",
    Role.CLUSTER: "a cluster",
    Role.CHUNK: "a chunk",
    Role.ARTIFACT: "an artifact or turn",
    Role.FROM: "an entity",
    Role.TO: "an entity",
    Role.SUPERSEDED_BY: "a successor",
}
_KINDS: Final[Mapping[Role, Sequence[Kind]]] = {
    Role.SOURCE: (Kind.SOURCE,),
    Role.CLUSTER: (Kind.CLUSTER,),
    Role.CHUNK: (Kind.CHUNK,),
    Role.ARTIFACT: PARENTS,
    Role.FROM: (Kind.ENTITY,),
    Role.TO: (Kind.ENTITY,),
    Role.SUPERSEDED_BY: (Kind.DECISION,),
}


def left_behind(tally: Tally, records: RecordSink) -> Iterator[Problem]:
    """What came from a file or collection before, is not in it now, and stays in the store with what is new in it."""
    for place in sorted(tally.grown):
        source = tally.places[place].source
        root = tally.places[place].root
        unnamed = ("" if root is None else root.as_posix(), place[1])  # as long as it had no remote
        before = () if unnamed == place else records.origins.of_place(unnamed)
        former = [row for row in before if row.origin.source == source or is_gone(Path(row.origin.source))]
        rows = [row for row in (*records.origins.of_place(place), *former) if not tally.has(row.kind, row.id)]
        elsewhere = [row for row in rows if row.origin.ingested_as not in tally.projects.get(place, ())]
        if not tally.files[source] and len(rows) > len(elsewhere):
            kept = _kept(len(rows) - len(elsewhere))
            # without a name there is nothing that --prune could compare with
            remedy = "cstp delete removes" if source.startswith(UNNAMED) else "--prune deletes"
            yield Problem(source, None, f"{kept} before and not now; {remedy} what is no longer there")
        if elsewhere:
            names = {row.origin.ingested_as for row in elsewhere}
            with_ = {"no --project" if name is None else f"--project {name}" for name in names}
            reason = f"{_kept(len(elsewhere))} with {' and '.join(sorted(with_))}; cstp delete removes what is too many"
            yield Problem(source, None, reason)


def _kept(count: int) -> str:
    return "1 record is kept that was read here" if count == 1 else f"{count} records are kept that were read here"


def pointing_nowhere(found: DanglingReferences, records: RecordSink) -> Problem:
    """`12 chunks name a source that is not here, for example 'src-9'`."""
    many = f"{found.count} {kinds(found.kind, found.count)} {'names' if found.count == 1 else 'name'}"
    reason = f"{many} {_TARGETS[found.role]} that is not here, for example {found.example}"
    meant = records.origins.meant(_KINDS[found.role], found.example, None)
    if len(meant) > 1:
        several = ", ".join(f"{full} (from {stored.origin.source})" for full, stored in meant)
        reason += f", which several records are called: {several}"
    return Problem(found.source, None, reason)


def less_guarded(found: ExposedRecords) -> Problem:
    """`2 chunks are less sensitive than the source that they name, for example src-9`."""
    many = f"{kinds(found.kind, found.count)} {'is' if found.count == 1 else 'are'}"
    said = f"{found.count} {many} less sensitive than the source named there, for example {found.example}"
    return Problem(found.source, None, said)
