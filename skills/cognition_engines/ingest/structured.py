"""Records in YAML, JSON and JSONL."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cognition_engines.ingest.dates import iso_date
from cognition_engines.ingest.json_values import parse_json
from cognition_engines.ingest.records import Unacceptable, read_fields, readable_id
from cognition_engines.ingest.schema import NAMES
from cognition_engines.ingest.statuses import normalise_status
from cognition_engines.ingest.values import Parsed, Refused, Unreadable, Value
from cognition_engines.ingest.yaml_values import parse_yaml
from cognition_engines.models import Draft, Problem, Reading

UNRECOGNISED: Final = Reading(recognised=False)
# A line that gives a member called title, in either notation: what a broken file must have to be worth a refusal.
_TITLE: Final = re.compile(r"""^[ \t{\[,-]{0,80}["']?title["']?[ \t]{0,8}:""", re.MULTILINE)
_JSON_TITLE: Final = re.compile(r'"title"\s{0,8}:')


@dataclass(frozen=True, slots=True)
class _Candidate:
    """What may be a record, and its 1-based line. `broken` when its line could not be parsed at all."""

    value: Value
    line: int
    broken: bool = False


def _is_record(value: Value) -> bool:
    """Two known names, or a title or text with at most one unknown: much else in JSON and YAML has a title."""
    if not isinstance(value, dict):
        return False
    names = {NAMES[name] for name in value if name in NAMES}
    return len(names) >= 2 or (bool(names & {"title", "text"}) and len(value) - len(names) <= 1)


def _candidates(parsed: Parsed) -> Iterator[_Candidate]:
    value = parsed.value
    if isinstance(value, list):
        yield from map(_Candidate, value, parsed.items)
    elif isinstance(value, dict) and isinstance(value.get("decisions"), list) and "title" not in value:
        inner = value["decisions"]
        if isinstance(inner, list):
            yield from map(_Candidate, inner, parsed.decisions)
    elif value is not None:
        yield _Candidate(value, parsed.line)


def _left_out(path: str, documents: Sequence[Parsed]) -> Iterator[Problem]:
    for parsed in documents:
        value = parsed.value
        if isinstance(value, dict) and parsed.decisions and "title" not in value and len(value) > 1:
            yield Problem(path, parsed.line, "only decisions is read here; the members beside it are left out")


def _draft(path: str, candidate: _Candidate, ordinal: int) -> tuple[Draft, tuple[Problem, ...]]:
    """Raises `Unacceptable`."""
    if isinstance(candidate.value, Refused):
        raise Unacceptable(candidate.value.reason)
    if not isinstance(candidate.value, dict):
        raise Unacceptable("a record must be an object with a title")
    fields = read_fields(candidate.value)
    if fields.title is None:
        raise Unacceptable("title is required")
    date = iso_date(fields.date) if isinstance(fields.date, str) else None
    warnings: tuple[Problem, ...] = ()
    if date is None and fields.date is not None:
        warnings = (Problem(path, candidate.line, "date is not an ISO 8601 date, so none is recorded"),)
    draft = Draft(
        title=fields.title,
        text=fields.text,
        ordinal=ordinal,
        line=candidate.line,
        id=fields.id,
        category=fields.category,
        confidence=fields.confidence,
        stakes=fields.stakes,
        status_text=fields.status,
        status=normalise_status(fields.status) if fields.status is not None else None,
        outcome=fields.outcome,
        date=date,
        reasons=fields.reasons,
        tags=fields.tags,
        supersedes=fields.supersedes,
        superseded_by=fields.superseded_by,
        project=fields.project,
        sensitivity=fields.sensitivity,
    )
    return draft, warnings


def _read(path: str, candidates: Sequence[_Candidate], warnings: Sequence[Problem] = ()) -> Reading:
    drafts: list[Draft] = []
    rejected: list[Problem] = []
    rejected_ids: list[str] = []
    noticed = list(warnings)
    seen: set[str] = set()
    for ordinal, candidate in enumerate(candidates):
        try:
            draft, problems = _draft(path, candidate, ordinal)
            if draft.id is not None and draft.id in seen:
                raise Unacceptable("id is the id of an earlier record of this file")
        except Unacceptable as error:
            rejected.append(Problem(path, candidate.line, str(error)))
            refused_id = readable_id(candidate.value)
            rejected_ids += [refused_id] if refused_id is not None and refused_id not in seen else []
            continue
        drafts.append(draft)
        noticed += problems
        if draft.id is not None:
            seen.add(draft.id)
    return Reading(tuple(drafts), tuple(rejected), tuple(noticed), rejected_ids=tuple(rejected_ids))


def _read_documents(
    path: str, documents: Sequence[Parsed], explicit: bool, broken: tuple[Problem, ...] = ()
) -> Reading:
    candidates = [candidate for parsed in documents for candidate in _candidates(parsed)]
    if explicit and not candidates and any(_is_empty_list(parsed.value) for parsed in documents):
        return Reading()
    if not any(_is_record(candidate.value) for candidate in candidates):
        return UNRECOGNISED
    reading = _read(path, candidates, tuple(_left_out(path, documents)))
    return replace(reading, rejected=reading.rejected + broken)


def _is_empty_list(value: Value) -> bool:
    """Whether a document says that there are no records."""
    return value == [] or (isinstance(value, dict) and value == {"decisions": []})


def _broken(path: str, text: str, error: Unreadable, explicit: bool) -> Reading:
    if explicit or _TITLE.search(text) or _JSON_TITLE.search(text):
        return Reading(rejected=(Problem(path, error.line, error.reason),))
    return UNRECOGNISED


def _starts_lines(text: str) -> bool:
    """Whether the first line that is not blank is a whole JSON object and more lines follow."""
    first, _, rest = text.strip().partition("\n")
    if not rest or not first.startswith("{"):
        return False
    try:
        parse_json(first)
    except Unreadable:
        return False
    return True


def read_json_lines(path: str, text: str, explicit: bool) -> Reading:
    """One record a line, or one JSON document; a line that is not well-formed is refused alone."""
    try:
        return _read_documents(path, [parse_json(text)], explicit)
    except Unreadable:
        return _read_lines(path, text, explicit)


def _read_lines(path: str, text: str, explicit: bool) -> Reading:
    candidates: list[_Candidate] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            candidates.append(_Candidate(parse_json(line).value, number))
        except Unreadable as error:
            candidates.append(_Candidate(Refused(error.reason), number, broken=True))
    if not any(_is_record(candidate.value) for candidate in candidates):
        first = next((candidate for candidate in candidates if candidate.broken), None)
        if first is None or not isinstance(first.value, Refused):
            return UNRECOGNISED
        return _broken(path, text, Unreadable(first.line, first.value.reason), explicit)
    return _read(path, candidates)


def read_json(path: str, text: str, explicit: bool) -> Reading:
    """One JSON document; or, where the first line is one by itself, one record a line."""
    try:
        return _read_documents(path, [parse_json(text)], explicit)
    except Unreadable as error:
        if _starts_lines(text):
            return _read_lines(path, text, explicit)
        return _broken(path, text, error, explicit)


def read_yaml(path: str, text: str, explicit: bool) -> Reading:
    """YAML of one or several documents, or JSON."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return _read_documents(path, [parse_json(text)], explicit)
        except Unreadable:
            if _starts_lines(text):
                return _read_lines(path, text, explicit)
    try:
        documents = parse_yaml(text)
    except Unreadable as error:
        # the documents before the one that is broken are whole
        reading = _read_documents(path, error.before, explicit, (Problem(path, error.line, error.reason),))
        return reading if reading.drafts else _broken(path, text, error, explicit)
    return _read_documents(path, documents, explicit)
