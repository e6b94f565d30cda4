"""Reads an architecture decision record in Markdown, in any common form, into a draft."""

import re
from collections.abc import Collection, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from cognition_engines.drafts.plain_values import RefusedValue, Unacceptable, Value, join_reasons, list_names
from cognition_engines.ingest.adr.decide import (
    STATUS_LENGTH,
    Status,
    changed_status,
    decide_date,
    decide_status,
    status_of,
)
from cognition_engines.ingest.adr.header import Header, StatedText, read_header
from cognition_engines.ingest.adr.references import listed_references, references_in
from cognition_engines.ingest.adr.sections import (
    DECIDING,
    NYGARD,
    PAIRS,
    field_sections,
    filling,
    form_sections,
    has_several,
    is_minutes,
)
from cognition_engines.ingest.adr.titles import (
    FileName,
    clean_title,
    file_name,
    is_placeholder,
    names_form,
    names_guide,
    names_record,
    title_heading,
    title_line,
)
from cognition_engines.ingest.dates import find_dates
from cognition_engines.ingest.items import Item, RecordDraft, Warned, rejected
from cognition_engines.ingest.parse.front_matter import FrontMatter, plain_name, read_front_matter
from cognition_engines.ingest.statuses import drop_choices, is_of_decisions, normalise_status
from cognition_engines.ingest.structured.decisions import HEADINGS, read_decision
from cognition_engines.kinds.decisions import TEXT_LENGTH
from cognition_engines.kinds.fields import sound
from cognition_engines.markdown.document import Document, Heading
from cognition_engines.markdown.front_block import Notice
from cognition_engines.markdown.inline import LONGEST_LINE, bare, without_links
from cognition_engines.models import Decision, Problem

_CHECKED: Final = (
    "id", "category", "confidence", "stakes", "outcome", "tags", "project", "sensitivity", "reasons", "metadata",
    "affects",
)  # fmt: skip
_PATHS: Final = "paths"  # another name of `affects`
_EXPORTED: Final = "cstpexport"  # of a decision recorded by an agent: see exchange/decision_files.py
_LONGEST_TITLE: Final = 3_990  # a Markdown line is read up to 4,000 characters; a longer line is cut
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_DATE_MEMBERS: Final = ("date", "decisiondate", "decided", "created", "creationdate")
_BY_MEMBERS: Final = ("supersededby", "replacedby")
_OVER_MEMBERS: Final = ("supersedes", "replaces")
_MARKS_IN_FOLDER: Final = frozenset({"decision", "status"})  # of files without a number
# Front matter such as `type: adr` gives the type of a file; names without case, blanks, `-` and `_`.
_KIND_MEMBERS: Final = ("kind", "type", "doctype", "documenttype", "layout", "template")
_DECISION_NAMES: Final = frozenset(
    {"adr", "madr", "decision", "decisionrecord", "architecturedecision", "architecturaldecision"}
    | {"architecturedecisionrecord", "architecturaldecisionrecord"}
)
_STATUS_MEMBERS: Final = ("status", "stage", "state")
# Members that become fields and sections; MADR's own members and the file's kind are kept without a warning.
_READ: Final = frozenset(
    {"title", _EXPORTED, _PATHS, *_CHECKED, *_STATUS_MEMBERS, *_DATE_MEMBERS, *_BY_MEMBERS, *_OVER_MEMBERS}
)
_OF_TEXT: Final = frozenset(map(plain_name, HEADINGS))
_QUIET: Final = frozenset({"deciders", "decisionmakers", "consulted", "informed", "number", "links", *_KIND_MEMBERS})


@dataclass(frozen=True, slots=True)
class _File:
    """A split Markdown file: statements and the parts of the file name."""

    path: str
    document: Document
    front: FrontMatter
    heading: Heading | None
    header: Header
    name: FileName


@dataclass(frozen=True, slots=True)
class _Title:
    text: str
    line: int
    heading: Heading | None  # the heading left out of the text
    from_member: bool
    from_name: bool = False


def _title(file: _File) -> _Title | None:
    """Return the title from front matter, else a heading, else the words in the file name; None if all lack a title."""
    member = file.front.text("title")
    heading = file.heading
    words = clean_title(heading.text, file.name) if heading is not None else ""
    if member and not names_form(member):
        title = clean_title(member, file.name)
        return _Title(title, file.front.line("title"), heading if title == words else None, from_member=True)
    form = heading if not member and is_placeholder(words) else None
    if heading is not None and form is None and words:
        return _Title(words, heading.start + 1, heading, from_member=False)
    line = title_line(file.document) if heading is None else None
    if line is not None and not is_placeholder(line.text):
        return _Title(clean_title(line.text, file.name), line.line, None, from_member=False)
    words = file.name.words()
    if not words:
        return None
    return _Title(words, 1, form, from_member=False, from_name=True)


def _states_date(file: _File) -> bool:
    texts = [file.front.text(name) for name in _DATE_MEMBERS] + [
        each.text for each in (*file.header.dates, *file.header.lone_dates)
    ]
    return any(hit.date is not None for text in texts for hit in find_dates(bare(text)))


def _status(file: _File) -> tuple[Status | None, str | None, list[Notice]]:
    """Return the status, the front matter member it came from, and warnings."""
    notices: list[Notice] = []
    stated = file.front.text("status")
    if stated:
        decided = decide_status([StatedText(stated, file.front.line("status"))])
        if isinstance(decided, Status):
            return decided, "status", notices
        notices += [decided] if decided is not None else []
    for lines in [*file.header.statuses, *_status_sections(file.header.late_statuses)]:
        decided = decide_status(lines)
        if isinstance(decided, Status):
            return decided, None, notices
        notices += [decided] if decided is not None else []
    for name in ("stage", "state"):
        text = file.front.text(name)
        if text and drop_choices(text) is not None:
            return status_of(text), name, notices
    ended = [each for each in file.header.relations if normalise_status(each.text) == "superseded"]
    changed = status_of(ended[0].text) if ended else changed_status(file.header.changes)
    if changed is not None:
        return changed, None, notices
    tags = [tag for tag in file.front.tags() if normalise_status(tag) != "other" and len(tag.split()) <= 2]
    return (status_of(tags[0]) if len(tags) == 1 else None), None, notices


def _status_sections(sections: Sequence[tuple[StatedText, ...]]) -> Iterator[tuple[StatedText, ...]]:
    """Yield the status sections below the body that begin with words for a status; others have another subject."""
    for lines in sections:
        first = without_links(lines[0].text)
        if len(first) <= STATUS_LENGTH and (drop_choices(first) is None or normalise_status(first) != "other"):
            yield lines


def _references(file: _File) -> tuple[tuple[str, ...], tuple[str, ...]]:
    over: list[str] = []
    by: list[str] = []
    for names, found in ((_OVER_MEMBERS, over), (_BY_MEMBERS, by)):
        for name in names:
            for text in file.front.texts(name):
                found += listed_references(text)
        found += _linked(file.front, names)
    for stated, found in ((file.header.supersedes, over), (file.header.superseded_by, by)):
        for each in stated:
            found += listed_references(each.text)
    status = file.front.text("status")
    lines = [each.text for group in [*file.header.statuses, *file.header.late_statuses] for each in group]
    for text in [status, *lines, *(each.text for each in file.header.relations)]:
        made = drop_choices(text) if len(text) <= LONGEST_LINE else None
        references = references_in(text if made == text else made or "")
        over += references.supersedes
        by += references.superseded_by
    return tuple(dict.fromkeys(over)), tuple(dict.fromkeys(by))


def _linked(front: FrontMatter, kinds: Collection[str]) -> Iterator[str]:
    """Yield the targets of links of these kinds, as the program adrs writes `links`."""
    links = front.value("links")
    for link in links if isinstance(links, list) else ():
        if isinstance(link, dict) and plain_name(str(link.get("kind"))) in kinds:
            yield from listed_references(str(link.get("target")))


def _stated_statuses(file: _File) -> list[str]:
    front = file.front.text("status")
    groups = [*file.header.statuses, *_status_sections(file.header.late_statuses)]
    return ([front] if front else []) + [group[0].text for group in groups]


def _form_sign(file: _File, title: _Title | None) -> str | None:
    """Return what shows that the file was never filled in, a title only without a status or date; None if filled."""
    untitled = title is None or title.from_name
    guided, filled = filling(file.document, asks=untitled or file.name.template)
    if file.name.template and (untitled or guided or not filled):
        return "its name is that of a form"
    if guided and not filled:
        return "its sections have blanks or the guidance of a form only"
    known = any(normalise_status(text) != "other" for text in _stated_statuses(file))
    of_form = title is not None and title.from_name and title.heading is not None
    unknown = of_form and not (known and _states_date(file))
    return "its title is a placeholder" if unknown else None


def _is_decision(file: _File, title: _Title, folders: Collection[str]) -> bool:
    """Return whether the front matter, the place and name, or the sections and a status make it a decision."""
    if file.front.has(_EXPORTED):
        return True
    if any(plain_name(file.front.text(name)) in _DECISION_NAMES for name in _KIND_MEMBERS):
        return True
    roles = form_sections(file.document)
    statuses = _stated_statuses(file)
    typical = any(map(is_of_decisions, statuses))
    in_folder = not file.name.listing and file.name.lies_in(folders)
    if in_folder and file.name.has_number:
        return not title.from_name or bool(roles - {"status"}) or bool(file.document.entries)
    guides = names_guide(file.heading) and not (statuses or file.name.has_number)
    if guides or is_minutes(file.document) or (has_several(file.document) and not file.name.has_number):
        return False
    if file.name.listing:
        return _is_stated(roles, [text for text in statuses if normalise_status(text) != "other"])
    parts = roles | field_sections(file.document)
    marked = bool(statuses) or not parts.isdisjoint(_MARKS_IN_FOLDER) or names_record(file.heading)
    if in_folder and marked and (typical or not (statuses and file.name.has_date)):
        return True
    in_table = bool(file.header.supersedes) and typical
    return (
        any(roles >= pair for pair in PAIRS)
        or in_table
        or _is_stated(roles, statuses)
        or _is_named(file, roles, typical=typical)
    )


def _is_stated(roles: AbstractSet[str], statuses: Sequence[str]) -> bool:
    """Return whether a status and the sections make a file a decision."""
    typical = any(map(is_of_decisions, statuses))
    marked = not roles.isdisjoint(DECIDING)
    formed = (marked and len(roles) > 1) or roles >= NYGARD
    proposes = "proposal" in roles and not roles.isdisjoint({"context", "problem"})
    return (formed and bool(statuses)) or (typical and (marked or proposes))


def _is_named(file: _File, roles: AbstractSet[str], *, typical: bool) -> bool:
    """Return whether the name of the file, with the title, the sections or a status, makes it a decision."""
    if file.name.of_record or names_record(file.heading):
        return (file.name.has_number and names_record(file.heading)) or bool(roles - {"status"})
    return file.name.has_number and ("decision" in roles or ("context" in roles and typical))


def _body(file: _File, title: _Title, consumed: frozenset[str]) -> str:
    """Return the Markdown below the title, then the front matter without a field."""
    skipped = range(title.heading.start, title.heading.end) if title.heading is not None else range(0)
    lines = file.document.lines
    kept = [lines[index] for index in range(file.document.body, len(lines)) if index not in skipped]
    body = "\n".join(kept).strip("\n").rstrip()
    rest = "\n".join(file.front.lines_beside(consumed))
    return f"{body}\n\n{rest}" if body and rest else body or rest


def _check_front_matter(front: FrontMatter) -> Decision:
    """Return the fields given by front matter; other members also go to the metadata. Raise `Unacceptable`."""
    given: dict[str, Value] = {name: front.value(name) for name in _CHECKED if front.has(name)}
    if front.tags_in_line():
        given["tags"] = list(front.tags())
    if front.text(_PATHS):
        if "affects" in given:
            raise Unacceptable("affects is given twice, as paths, too")
        given["affects"] = front.value(_PATHS)
    metadata = given.get("metadata", {})
    if isinstance(metadata, dict):
        given["metadata"] = {**_others(front, _READ | _OF_TEXT), **metadata}
    return read_decision(given).record


def _others(front: FrontMatter, besides: AbstractSet[str]) -> dict[str, Value]:
    """Return the members with a value, except `besides`, in their source form if not plain values."""
    found = {name: front.value(name) for name in front.members if name not in besides and front.text(name)}
    return {
        front.members[name].name: front.text(name) if isinstance(value, RefusedValue) else value
        for name, value in found.items()
    }


def _draft(file: _File, title: _Title) -> tuple[RecordDraft | str, tuple[Problem, ...]]:
    """Return the record or all faults, and warnings."""
    status, status_member, notices = _status(file)
    members = [name for name in _DATE_MEMBERS if file.front.text(name)][:1]
    stated = [StatedText(file.front.text(name), file.front.line(name)) for name in members] + file.header.dates
    stated += file.header.lone_dates if status is None or status.date is None else []
    date = decide_date(stated, status, file.header.changes, file.name.stem)
    supersedes, superseded_by = _references(file)
    consumed = {name for name in (*_CHECKED, _PATHS, _EXPORTED) if file.front.has(name)}
    consumed |= {"title"} if title.from_member else set()
    consumed |= {status_member} if status is not None and status_member else set()
    consumed |= set(members) if date.source is not None and date.source in stated[: len(members)] else set()
    text = _body(file, title, frozenset(consumed))
    unnamed = [Notice(title.line, "no title in the file: the words of its name are taken")] if title.from_name else []
    notices += [*unnamed, *file.front.notices, *date.notices]
    if names := _others(file.front, _READ | _OF_TEXT | _QUIET):
        notices.append(Notice(1, f"members kept in the metadata of decisions: {list_names(names)}"))
    warnings = tuple(Problem(file.path, notice.line, notice.reason) for notice in notices)
    try:
        decision = _make_decision(file.front, title.text, text)
    except Unacceptable as error:
        return str(error), warnings
    decision = replace(
        decision,
        title=title.text,
        text=text,
        status=status.status if status is not None else None,
        status_text=status.text if status is not None else None,
        date=date.date,
        supersedes=supersedes,
        superseded_by=superseded_by,
    )
    return RecordDraft(decision, 0, title.line, of_file=True, exported=file.front.text(_EXPORTED) or None), warnings


def _make_decision(front: FrontMatter, title: str, text: str) -> Decision:
    """Return the record's fields. Raise `Unacceptable` with all faults."""
    wrong = []
    if not title.strip() or len(title) > _LONGEST_TITLE or not sound(title):
        wrong.append(f"title must be one line of text, not blank, of at most {_LONGEST_TITLE} characters")
    if front.has(_EXPORTED) and not (front.has("id") and _HASH.fullmatch(front.text(_EXPORTED))):
        wrong.append("cstp-export must be the 64 hexadecimal digits that cstp export wrote, next to an id")
    if len(text) > TEXT_LENGTH or not sound(text):
        wrong.append("text must be of at most 1,000,000 characters, without NUL")
    try:
        decision = _check_front_matter(front)
    except Unacceptable as error:
        raise Unacceptable(join_reasons([str(error), *wrong])) from None
    if wrong:
        raise Unacceptable(join_reasons(wrong))
    return decision


def _file(path: str, document: Document) -> _File:
    heading = title_heading(document)
    front = read_front_matter(document.front, document.flaw)
    above = heading or (document.headings[0] if document.headings and names_form(document.headings[0].text) else None)
    return _File(path, document, front, heading, read_header(document, above), file_name(path))


def form_sign(path: str, document: Document) -> str | None:
    """Return what shows that a Markdown file is a blank form for decisions; None for other files."""
    file = _file(path, document)
    return _form_sign(file, _title(file))


def read_adr(
    path: str, document: Document, folders: Collection[str], *, is_decision: bool = False
) -> Iterator[Item] | None:
    """Return the record in a Markdown file; None for an empty form, or a file without the marks of a record.

    `folders` are those whose numbered files are records, named as by `bare_name`. With `is_decision` the file
    needs no marks.
    """
    file = _file(path, document)
    title = _title(file)
    if _form_sign(file, title) is not None or not (document.text.strip() and (is_decision or title is not None)):
        return None
    if title is None:
        reason = "a decision must have a title: a heading, `title` in front matter, or words in the name of the file"
        return iter([rejected(path, reason, 1)])
    if not is_decision and not _is_decision(file, title, folders):
        return None
    if (flaw := file.front.flaw) is not None:
        return iter([rejected(path, flaw.reason, flaw.line)])
    draft, warnings = _draft(file, title)
    if isinstance(draft, str):
        refused = rejected(path, draft, _line_of(file, draft) or title.line)
        return chain([refused], map(Warned, warnings))
    return chain(map(Warned, warnings), [draft])


def _line_of(file: _File, reason: str) -> int | None:
    """Return the line of the front matter member named at the beginning of a refusal."""
    name = reason.partition(" ")[0].rstrip(":")
    return file.front.line(name) if name in _CHECKED and file.front.has(name) else None
