"""Records in YAML, JSON and JSONL: documents to objects. The kinds of objects are detected in `objects`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from itertools import chain, islice
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import (
    LABELS,
    LISTS,
    RIGHTS,
    MalformedText,
    ParsedDocument,
    RefusedValue,
    Value,
    list_names,
)
from cognition_engines.ingest.items import Item, rejected, warned
from cognition_engines.ingest.parse.json_values import parse_json
from cognition_engines.ingest.parse.yaml_values import parse_yaml
from cognition_engines.ingest.structured.aliases import is_called_decisions, is_record
from cognition_engines.ingest.structured.records import Candidate, ObjectReader
from cognition_engines.kinds.spec import KIND_NAMES
from cognition_engines.open_file import LONGEST_LINE, lines_of

LOOKED_AT: Final = 100  # nonblank lines that identify JSONL
# A line with a member called title, or a kind, in either notation: only then is a broken file reported.
_TITLE: Final = re.compile(r"""^[ \t{\[,-]{0,80}["']?title["']?[ \t]{0,8}:""", re.MULTILINE)
_JSON_TITLE: Final = re.compile(r'"title"\s{0,8}:')
_KIND: Final = re.compile(rf"""\bkind["']?\s{{0,8}}:\s{{0,8}}["']?(?:{"|".join(KIND_NAMES)})\b""")


def starts_lines(file: BinaryIO) -> bool:
    """Return whether the first nonblank line is a whole JSON object and more follow; restore the position."""
    start = file.tell()
    try:
        filled = (line for _, line in lines_of(file) if line is None or line.strip())
        first = (next(filled, b"") or b"").removeprefix(b"\xef\xbb\xbf").strip()
        if not first.startswith(b"{") or next(filled, b"") == b"":
            return False
        parse_json(first.decode("utf-8", errors="replace"))  # a line in another encoding is refused alone
    except MalformedText:
        return False
    else:
        return True
    finally:
        file.seek(start)


def read_lines(path: str, file: BinaryIO, explicit: bool) -> Iterator[Item] | None:
    """Return a record for each line, read lazily; a malformed line is rejected alone."""
    start = file.tell()
    lines = parsed_lines(file)
    head = list(islice(lines, LOOKED_AT))
    called = is_called_decisions(path)
    if any(is_record(candidate.value, of_decisions=called) for candidate in head):
        return ObjectReader(path).read(chain(head, lines))
    if any(candidate.broken for candidate in head) and any(
        is_record(candidate.value, of_decisions=called) for candidate in lines
    ):
        file.seek(start)
        return ObjectReader(path).read(parsed_lines(file))
    first = next((candidate for candidate in head if candidate.broken), None)
    if first is None or not isinstance(first.value, RefusedValue):
        return None
    return _refuse_malformed(path, first.text, MalformedText(first.line, first.value.reason), explicit)


def parsed_lines(file: BinaryIO) -> Iterator[Candidate]:
    """Yield the value of each nonblank line; a malformed line is `broken`."""
    for number, line in lines_of(file):
        if line is None:
            most = f"the line has more than {LONGEST_LINE // 2**20} MiB"
            yield Candidate(RefusedValue(most), number, broken=True)
            continue
        content = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if not content.strip():
            continue
        try:
            text = content.decode()
        except UnicodeDecodeError:
            refused = RefusedValue("the encoding must be UTF-8; this line is in another one, such as Latin-1")
            yield Candidate(refused, number, broken=True, text=content.decode("latin-1"))
            continue
        try:
            yield Candidate(parse_json(text).value, number)
        except MalformedText as error:
            yield Candidate(RefusedValue(error.reason), number, broken=True, text=text)


def read_json_lines(path: str, text: str, explicit: bool) -> Iterator[Item] | None:
    """Return the records of a text as a JSON document, or of each line if it is not JSON as a whole."""
    try:
        return _read_documents(path, [parse_json(text)], explicit)
    except MalformedText:
        return read_lines(path, BytesIO(text.encode()), explicit)


def read_json(path: str, text: str, explicit: bool) -> Iterator[Item] | None:
    """Return the records of a JSON document."""
    try:
        return _read_whole(path, text, [parse_json(text)], explicit)
    except MalformedText as error:
        return _refuse_malformed(path, text, error, explicit)


def read_yaml(path: str, text: str, explicit: bool) -> Iterator[Item] | None:
    """Return the records of YAML, in a single document or several, or of JSON."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            return _read_whole(path, text, [parse_json(text)], explicit)
        except MalformedText:
            pass  # YAML may begin so as well
    try:
        documents = parse_yaml(text, LABELS)
    except MalformedText as error:
        # the documents before the broken document are whole
        items = _read_documents(path, error.before, explicit)
        if items is None:
            return _refuse_malformed(path, text, error, explicit)
        return chain(items, [rejected(path, error.reason, error.line)])
    return _read_whole(path, text, documents, explicit)


def _read_whole(path: str, text: str, documents: Sequence[ParsedDocument], explicit: bool) -> Iterator[Item] | None:
    """Return a whole file's records, or its rejection if records are uncertain, as for duplicate members."""
    items = _read_documents(path, documents, explicit)
    if items is not None:
        return items
    for candidate in (candidate for parsed in documents for candidate in _candidates(parsed)):
        if isinstance(candidate.value, RefusedValue):
            return _refuse_malformed(path, text, MalformedText(candidate.line, candidate.value.reason), explicit)
    return None


def _read_documents(path: str, documents: Sequence[ParsedDocument], explicit: bool) -> Iterator[Item] | None:
    candidates = [candidate for parsed in documents for candidate in _candidates(parsed)]
    called = is_called_decisions(path) or any(_container(parsed) == "decisions" for parsed in documents)
    if any(is_record(candidate.value, of_decisions=called) for candidate in candidates):
        refused = [found for parsed in documents if (found := _rights_beside(path, parsed)) is not None]
        if refused:
            return iter(refused)
        return chain(_left_out(path, documents), ObjectReader(path).read(candidates))
    if explicit and not candidates and any(_is_empty_list(parsed.value) for parsed in documents):
        return iter(())
    return None


def _candidates(parsed: ParsedDocument) -> Iterable[Candidate]:
    value = parsed.value
    if isinstance(value, list):
        return map(Candidate, value, parsed.items)
    name = _container(parsed)
    inner = value.get(name) if isinstance(value, dict) and name is not None else None
    if name is not None and isinstance(inner, list):
        return map(Candidate, inner, parsed.listed[name])
    return () if value is None else [Candidate(value, parsed.line)]


def _container(parsed: ParsedDocument) -> str | None:
    """Return the member with the records of a document which is not a record itself."""
    value = parsed.value
    if not isinstance(value, dict) or "title" in value or "kind" in value:
        return None
    return next((name for name in LISTS if name in parsed.listed), None)


def _rights_beside(path: str, parsed: ParsedDocument) -> Item | None:
    """Return the refusal of a file that gives its records rights together instead of singly."""
    value, name = parsed.value, _container(parsed)
    if not isinstance(value, dict):
        return None
    given = [member for member, of in value.items() if member.casefold() in RIGHTS and of is not None]
    if not given or (name is None and len(given) < len(value)):
        return None
    reason = f"{given[0]} is not read together with {name or 'records'}: give it in each record, or as an option"
    return rejected(path, reason, parsed.line)


def _left_out(path: str, documents: Sequence[ParsedDocument]) -> Iterator[Item]:
    for parsed in documents:
        name = _container(parsed)
        if name is not None and isinstance(parsed.value, dict) and len(parsed.value) > 1:
            others = list_names(member for member in parsed.value if member != name)
            reason = f"only {name} is read here; the other members are left out: {others}"
            yield warned(path, reason, parsed.line)


def _is_empty_list(value: Value) -> bool:
    """Return whether a document states an empty list of records."""
    return value == [] or (isinstance(value, dict) and any(value == {name: []} for name in LISTS))


def _refuse_malformed(path: str, text: str, error: MalformedText, explicit: bool) -> Iterator[Item] | None:
    if explicit or any(mark.search(text) for mark in (_TITLE, _JSON_TITLE, _KIND)):
        return iter([rejected(path, error.reason, error.line)])
    return None
