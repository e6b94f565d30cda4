"""Agents' decisions as MADR files for a pull request; ingesting a merged file makes the file their owner."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from pydantic import JsonValue

from cognition_engines.exchange.lines import record_members
from cognition_engines.kinds.decisions import DecisionLink
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import EVERYTHING, Decision
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.reads.by_key import RowReader
from cognition_engines.store.reads.decisions import DecisionHistory
from cognition_engines.store.records import Records

EXPORTED: Final = "cstp-export"  # the front matter member with the content hash
_PAGE: Final = 200
_LONGEST_NAME: Final = 60  # title characters in a file name
_NO_LETTERS: Final = re.compile(r"[^a-z0-9]+")
_NOT_IN_YAML: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Members without a counterpart in files: metadata there.
_OTHERS: Final = (
    *("feature", "pr", "validFrom", "validTo", "file", "line", "commit", "reviewBy", "sources"),
    "kpiIndicators",
)


@dataclass(frozen=True, slots=True)
class DecisionFile:
    """A file's name and whole text."""

    name: str
    text: str


def decision_files(records: Records, set_aside: SetAside, project: str | None = None) -> Iterator[DecisionFile]:
    """Yield a file for each decision by an agent that is in no file yet, by id, for a project or for all.

    Decisions that cannot be written are left out and noted in `set_aside`.
    """
    ids, rows = records.ids(Kind.DECISION), RowReader(set_aside, Part.EXPORT)
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        found = records.reads.by_ids(Kind.DECISION, page, rows)
        for id in page:
            one = found.get(id)
            if one is None or not one.origin.is_written or project not in (None, one.record.project):
                continue
            file = set_aside.attempt(Part.EXPORT, one, partial(_read_file, records, id), None)
            if file is not None:
                yield file


def _read_file(records: Records, id: str) -> DecisionFile | None:
    """Return a decision's file; None if it was deleted meanwhile."""
    whole = records.decisions.history(id, EVERYTHING)
    return None if whole is None else decision_file(whole)


def decision_file(found: DecisionHistory) -> DecisionFile:
    """Return a decision as it states itself; the effects of reviews and successors stay in the store."""
    decision = found.revisions[-1].record
    assert isinstance(decision, Decision)
    members = {
        name: value
        for name, value in _front_matter(decision, found.stored.origin.content_hash).items()
        if value not in (None, [], {})
    }
    front = [f"{name}: {_write_yaml(value)}" for name, value in members.items()]
    links = [_link_text(str(decision.id), link) for link in found.links]
    body = [f"# {decision.title}", decision.text, "## Links\n\n" + "\n".join(links) if links else ""]
    text = "\n".join(["---", *front, "---"]) + "\n" + "\n\n".join(filter(None, body)) + "\n"
    return DecisionFile(_file_name(decision), text)


def _write_yaml(value: JsonValue) -> str:
    """Return a value as JSON that is also YAML: without characters forbidden in YAML or read there as a line end."""
    text = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _file_name(decision: Decision) -> str:
    words = _NO_LETTERS.sub("-", decision.title.lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return f"{words or 'decision'}-{str(decision.id).rpartition('_')[2]}.md"


def _front_matter(decision: Decision, content_hash: str) -> Mapping[str, JsonValue]:
    stated = record_members(decision)
    found = stated | (stated["details"] or {})
    sources = [_without_null(one) for one in found.get("sources", ())]
    others = {name: found.get(name) for name in _OTHERS} | {"sources": sources}
    seconds = None if decision.date is None else decision.date.replace(microsecond=0)  # as files have it
    return {
        "id": decision.id,
        EXPORTED: content_hash,
        "status": decision.status,
        "date": None if seconds is None else seconds.isoformat().replace("+00:00", "Z"),
        "category": decision.category,
        "stakes": decision.stakes,
        "confidence": decision.confidence,
        "tags": list(decision.tags),
        "reasons": [_without_null(one) for one in stated["reasons"]],
        "affects": stated["affects"],
        "project": decision.project,
        "sensitivity": stated["sensitivity"] if decision.sensitivity else None,
        "metadata": decision.metadata | {name: value for name, value in others.items() if value not in (None, [])},
    }


def _without_null(members: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: value for name, value in members.items() if value is not None}


def _link_text(id: str, link: DecisionLink) -> str:
    kind = link.type.replace("_", " ")
    said = f"* {kind} {link.target}" if link.source == id else f"* {link.source} {kind} this"
    return said if link.context is None else f"{said}: {' '.join(link.context.split())}"
