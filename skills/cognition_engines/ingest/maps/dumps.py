"""Files of other systems: recognised by their content, or read by a given map."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import LISTS, MalformedText, ParsedDocument, Value
from cognition_engines.ingest.foreign.systems import LISTED, SYSTEMS, plain_members, recognise_system
from cognition_engines.ingest.items import Item, warned
from cognition_engines.ingest.maps.field_map import FieldMap, at
from cognition_engines.ingest.maps.map_files import shipped_map
from cognition_engines.ingest.maps.mapped import Found, MappedReader
from cognition_engines.ingest.parse.json_values import parse_json
from cognition_engines.ingest.parse.yaml_values import parse_yaml
from cognition_engines.ingest.structured.aliases import named_kind
from cognition_engines.ingest.structured.reader import LOOKED_AT, parsed_lines, starts_lines
from cognition_engines.ingest.structured.records import Candidate
from cognition_engines.kinds.spec import KIND_NAMES
from cognition_engines.open_file import LARGEST_WHOLE

_PEEKED: Final = 2**16  # bytes within which a dump has a mark
_MARKS: Final = (
    *(b'"$oid"', b'"$date"', b'"payload"', b'"fields"', b'"memory"', b'"labels"', b'"group_id"', b'"start"'),
    *(b'"entityType"', b'"relationType"'),
)
# members by which an object of a list in a document is named
_IDS: Final = ("point_id", "document_id", "node_id", "relationship_id", "id", "_id", "uuid", "name")
_MORE: Final = ("result.next_page_offset", "nextPageToken")  # the member announcing further answers


def read_dump(path: str, file: BinaryIO, map: FieldMap | None) -> Iterator[Item] | None:
    """Return the items of another system's file, by a map or the shipped map of a recognised system.

    Return None, with the position of `file` restored, if it is from no such system or cannot be parsed.
    """
    start = file.tell()
    peeked = file.read(_PEEKED)
    file.seek(start)
    if map is None and not any(mark in peeked for mark in _MARKS):
        return None
    items = _read_lines(path, file, map) if starts_lines(file) else _read_whole(path, file, map)
    if items is None:
        file.seek(start)
    return items


def _read_lines(path: str, file: BinaryIO, map: FieldMap | None) -> Iterator[Item] | None:
    lines = parsed_lines(file)
    head = list(islice(lines, LOOKED_AT))
    chosen = map or _recognise_map([candidate.value for candidate in head])
    if chosen is None:
        return None
    return MappedReader(path, chosen).read(_find_objects(chain(head, lines), chosen, of_lines=True))


def _read_whole(path: str, file: BinaryIO, map: FieldMap | None) -> Iterator[Item] | None:
    content = file.read(LARGEST_WHOLE + 1)
    if len(content) > LARGEST_WHOLE:
        return None
    try:
        documents = parsed_documents(content.decode("utf-8-sig"), yaml=map is not None)
    except (UnicodeDecodeError, MalformedText):
        return None
    chosen = map or _recognise_map([document.value for document in documents])
    if chosen is None:
        return None
    items = MappedReader(path, chosen).read(_find_objects(_candidates(documents), chosen, of_lines=False))
    return chain(items, _not_whole(path, documents))


def parsed_documents(text: str, *, yaml: bool) -> Sequence[ParsedDocument]:
    """Return the documents of JSON, or of YAML if the text may be YAML. Raise MalformedText."""
    try:
        return [parse_json(text)]
    except MalformedText:
        if not yaml:
            raise
    return parse_yaml(text)


def _recognise_map(values: Sequence[Value]) -> FieldMap | None:
    """Return the shipped map of the first objects' system, unless an object names a kind of records."""
    objects = list(islice((one for value in values for one, _ in listed_objects(value, None)), LOOKED_AT))
    if any(isinstance(one, dict) and named_kind(one) in KIND_NAMES for one in objects):
        return None
    name = next(filter(None, map(recognise_system, objects)), None)
    return None if name is None else shipped_map(name)


def listed_objects(value: Value, path: str | None) -> Iterator[tuple[Value, bool]]:
    """Yield the objects at the path, or in the lists used by systems, and whether each is inside the document."""
    if path is not None:
        inner = at(value, path)
        yield from ((one, True) for one in (inner if isinstance(inner, list) else [inner]))
    elif isinstance(value, list):
        yield from ((one, True) for one in value)
    elif not isinstance(value, dict) or recognise_system(value) is not None:
        yield value, False
    else:
        lists = [_list_of(at(value, name)) for name in (*LISTED, *LISTS)]
        inside = [one for objects in lists if objects is not None for one in objects]
        yield from ((one, True) for one in inside)
        if all(objects is None for objects in lists):
            yield value, False


def _list_of(value: Value) -> list[Value] | None:
    """Return the objects of a list, or of an object with objects by id."""
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return [*value.values()] if any(recognise_system(one) for one in value.values()) else None
    return value if isinstance(value, list) else None


def _candidates(documents: Iterable[ParsedDocument]) -> Iterator[Candidate]:
    for document in documents:
        if isinstance(document.value, list):
            yield from map(Candidate, document.value, document.items)
        elif document.value is not None:
            yield Candidate(document.value, document.line)


def _find_objects(candidates: Iterable[Candidate], map: FieldMap, *, of_lines: bool) -> Iterator[Found]:
    """Yield the objects with plain values. Objects of a list in a document get a name, for all share a line."""
    members = plain_members() if map.system is None else SYSTEMS[map.system].members()
    for candidate in candidates:
        # a plain object of a line may have lists under any names
        alone = of_lines and map.system is None and map.objects is None
        inner = [(candidate.value, False)] if alone else listed_objects(candidate.value, map.objects)
        for value, inside in inner:
            found = plain(value, members)
            yield Found(found, candidate.line, object_name(found) if inside else None)


def plain(value: Value, members: Callable[[dict[str, Value]], dict[str, Value]]) -> Value:
    """Return an object with plain values; any other value unchanged."""
    return members(value) if isinstance(value, dict) else value


def object_name(value: Value) -> str | None:
    """Return an object's id or name, for use in rejections."""
    names = [value.get(name) for name in _IDS] if isinstance(value, dict) else []
    return next((str(name) for name in names if isinstance(name, str | int)), None)


def _not_whole(path: str, documents: Iterable[ParsedDocument]) -> Iterator[Item]:
    if any(at(document.value, more) not in (None, "") for document in documents for more in _MORE):
        yield warned(path, "this is one page of an answer: what comes after it is not in the file")
