"""Proposes a field map for unknown objects: by member names and by content."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

import yaml

from cognition_engines.drafts.plain_values import LISTS, MalformedText, RefusedValue, Value
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.dates import iso_date
from cognition_engines.ingest.foreign.systems import LISTED, SYSTEMS, plain_members, recognise_system
from cognition_engines.ingest.maps.dumps import listed_objects, parsed_documents, plain
from cognition_engines.ingest.maps.field_map import DETECTED, at, is_given
from cognition_engines.ingest.maps.map_files import SHIPPED, parsed_map, shipped_map
from cognition_engines.ingest.maps.mapped import is_detected, records_of
from cognition_engines.ingest.structured.aliases import is_record, snake
from cognition_engines.ingest.structured.reader import parsed_lines, starts_lines
from cognition_engines.open_file import LARGEST_WHOLE, NotAFile, open_file

MOST: Final = 1000  # examined objects
_DEEPEST_LIST: Final = 3  # of a path to an object list
_DEEPEST: Final = 3
_MOST_PATHS: Final = 4  # of a field
_LONGEST_LINE: Final = 200
_VECTOR: Final = 16  # numbers from which a list of them counts as a vector
_SECONDS: Final = (3e8, 5e9)  # since 1970: from 1979 to 2128
_TEXTS: Final = (
    *("content", "text", "body", "message", "memory", "document", "page_content", "note", "fact", "data"),
    *("narrative", "description", "summary", "value", "answer"),
)
# The last part of a path in snake_case, by field: the first existing one counts.
_IDS: Final = ("id", "_id", "uuid", "key", "point_id", "document_id", "node_id")
_TIMES: Final = ("created_at", "timestamp", "ts", "date", "time", "created", "create_time", "updated_at")
_ARTIFACT: Final[Mapping[str, tuple[str, ...]]] = {
    "title": ("title", "subject", "name", "headline", "topic"),
    "author": ("author", "created_by", "sender", "owner"),
    "participants": ("participants", "user_id", "user"),
    "source_url": ("url", "source_url", "link", "permalink"),
    "importance": ("importance",),
    "ts": _TIMES,
}
_TURN: Final[Mapping[str, tuple[str, ...]]] = {
    "conversation_id": ("conversation_id", "thread_id", "session_id", "chat_id"),
    "role": ("role",),
    "speaker": ("speaker", "author", "sender", "user"),
    "turn_index": ("turn_index",),
    "ts": _TIMES,
}
_ENTITY: Final[Mapping[str, tuple[str, ...]]] = {
    "name": ("name", "canonical_name", "label", "title"),
    "aliases": ("aliases",),
    "email": ("email",),
    "role": ("role",),
}
_RIGHTS: Final[Mapping[str, tuple[str, ...]]] = {"project": ("project",), "sensitivity": ("sensitivity",)}


@dataclass(frozen=True, slots=True)
class Sample:
    """`system` is the objects' system, None for plain values; `objects` the path to their list, None if not needed."""

    members: tuple[dict[str, Value], ...]
    system: str | None
    objects: str | None = None


def sample_of(path: Path) -> Sample:
    """Return the first objects of a JSON, JSONL or YAML file. Raise ConfigurationError if there are none."""
    try:
        with open_file(path) as file:
            found = _of_lines(file) if starts_lines(file) else _of_documents(path, file)
    except NotAFile as error:
        raise ConfigurationError(f"{path}: {error}") from None
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from None
    if not found.members:
        raise ConfigurationError(f"{path}: no object is in it that could become a record")
    return found


def _of_lines(file: BinaryIO) -> Sample:
    values = [candidate.value for candidate in islice(parsed_lines(file), MOST)]
    inner = [one for value in values for one, _ in listed_objects(value, None)]
    return _sample(inner if any(map(recognise_system, inner)) else values)


def _of_documents(path: Path, file: BinaryIO) -> Sample:
    content = file.read(LARGEST_WHOLE + 1)
    if len(content) > LARGEST_WHOLE:
        raise ConfigurationError(f"{path}: has more than {LARGEST_WHOLE // 2**20} MiB: give a part of it")
    try:
        text, may_be_yaml = content.decode("utf-8-sig"), path.suffix.lower() != ".json"
        values = [document.value for document in parsed_documents(text, yaml=may_be_yaml)]
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: must be UTF-8") from None
    except MalformedText as error:
        raise ConfigurationError(f"{path}, line {error.line}: {error.reason}") from None
    known = [name for name in (*LISTED, *LISTS) if any(isinstance(at(value, name), list) for value in values)]
    deep = None if known else next(filter(None, (_list_path(value) for value in values)), None)
    return _sample([one for value in values for one, _ in listed_objects(value, deep)], deep)


def _list_path(value: Value, depth: int = 1) -> str | None:
    """Return the path to the longest list of objects in a document."""
    if not isinstance(value, dict) or recognise_system(value) is not None or is_record(value):
        return None
    found: dict[str, int] = {}
    for name, member in value.items():
        if isinstance(member, list) and member and all(isinstance(one, dict) for one in member):
            found[name] = len(member)
        elif (
            isinstance(member, dict) and depth < _DEEPEST_LIST and (inner := _list_path(member, depth + 1)) is not None
        ):
            objects = at(member, inner)
            found[f"{name}.{inner}"] = len(objects) if isinstance(objects, list) else 0
    # an object with a text is a record, even if it has lists
    if any(isinstance(member, str) and len(member) > 40 for member in value.values()):
        return None
    return max(found, key=lambda name: found[name], default=None)


def _sample(values: Sequence[Value], objects: str | None = None) -> Sample:
    system = next(filter(None, map(recognise_system, values)), None)
    members = SYSTEMS[system].members() if system else plain_members()
    plains = [plain(value, members) for value in values[:MOST] if not isinstance(value, RefusedValue)]
    return Sample(tuple(one for one in plains if isinstance(one, dict)), system, objects)


def propose_map(sample: Sample) -> str:
    """Return a map as YAML: a shipped map if it fits most objects, else a map by their members."""
    shipped_one = "published_cstp" if all(map(_is_published, sample.members)) else sample.system
    if shipped_one is not None and _fits_most(sample, shipped_one):
        return (SHIPPED / f"{shipped_one}.yaml").read_text(encoding="utf-8")
    entry = _entry(_paths(sample.members))
    if all(map(is_detected, sample.members)):
        entry = {"kind": DETECTED}
    head = {"system": sample.system, "objects": sample.objects}
    made: dict[str, Value] = {name: value for name, value in head.items() if value is not None}
    made["records"] = [entry]
    text = yaml.safe_dump(made, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)
    parsed_map(text, "the proposed map")  # an unreadable file is an error here
    return text


def _is_published(members: Mapping[str, Value]) -> bool:
    """Return whether an object is a decision of the published server."""
    return "summary" in members and members["summary"] == members.get("decision")


def _fits_most(sample: Sample, name: str) -> bool:
    found = [record for one in sample.members for record in records_of(one, shipped_map(name))]
    refused = sum(isinstance(record, RefusedValue) for record in found)
    return refused <= len(found) / 2


def _paths(members: Iterable[dict[str, Value]]) -> dict[str, list[Value]]:
    """Return the values under each path."""
    found: dict[str, list[Value]] = {}
    for one in members:
        _note(one, "", found, 1)
    return found


def _note(value: Mapping[str, Value], above: str, found: dict[str, list[Value]], depth: int) -> None:
    for name, member in value.items():
        path = above + name
        if isinstance(member, dict) and depth < _DEEPEST:
            _note(member, f"{path}.", found, depth + 1)
        elif is_given(member):
            found.setdefault(path, []).append(member)


def _entry(paths: Mapping[str, list[Value]]) -> dict[str, Value]:
    content = _contents(paths)
    vectors: list[Value] = [path for path, values in paths.items() if all(map(_is_vector, values))]
    if not content:
        kind, fields = "entity", {"id": _IDS, **_ENTITY}
    elif _paths_named(paths, _TURN["conversation_id"], _is_text) and _paths_named(paths, ("role",), _is_role):
        kind, fields = "turn", {"id": _IDS, **_TURN}
    else:
        kind, fields = "artifact", {"id": _IDS, **_ARTIFACT}
    chosen: dict[str, Value] = {"content": _one_or_all(content)} if content else {}
    taken = set(content)
    for name, names in {**fields, **_RIGHTS}.items():
        usable = {path: values for path, values in paths.items() if path not in taken}
        found = _paths_named(usable, names, _CHECKS.get(name, _is_line))
        if name == "ts" and found:
            found = found[:1]
            chosen[name] = _time_rule(found[0], paths[found[0]])
        elif found:
            chosen[name] = _one_or_all(found)
        taken.update(found)
    if "id" not in chosen and (path := _id_of_its_name(paths)) is not None:
        chosen = {"id": path, **chosen}
    if kind == "entity" and "name" not in chosen and paths:
        chosen["name"] = next(iter(paths))
    entry: dict[str, Value] = {"kind": kind, "fields": chosen}
    if kind == "artifact":
        entry["constants"] = {"context": "note"}
    return entry | ({"drop": vectors} if vectors else {})


def _id_of_its_name(paths: Mapping[str, list[Value]]) -> str | None:
    """Return a member such as noteId with a different value for each object."""
    most = max(map(len, paths.values()), default=0)
    for path, values in paths.items():
        different = len(values) == most and len({str(value) for value in values}) == most
        if different and "." not in path and snake(path).endswith("_id") and all(map(_is_id, values)):
            return path
    return None


def _one_or_all(paths: Sequence[str]) -> Value:
    return paths[0] if len(paths) == 1 else list(paths)


def _contents(paths: Mapping[str, list[Value]]) -> list[str]:
    """Return the paths of the text: by name, else the longest texts' path; none if there are only names."""
    texts = {path: values for path, values in paths.items() if all(isinstance(one, str) for one in values)}
    if found := _paths_named(texts, _TEXTS, lambda _: True):
        return found
    long = {path: sum(len(str(one)) for one in values) / len(values) for path, values in texts.items()}
    path = max(long, key=lambda path: long[path], default=None)
    is_text = path is not None and (long[path] > 60 or any("\n" in str(one) for one in texts[path]))
    return [path] if path is not None and is_text else []


def _paths_named(paths: Mapping[str, list[Value]], names: Sequence[str], fits: Callable[[Value], bool]) -> list[str]:
    """Return the paths ending with such a name, if all values fit, nearest to the root first."""
    found = [
        (path.count("."), names.index(last), path)
        for path, values in paths.items()
        if (last := snake(path.rpartition(".")[2])) in names and all(map(fits, values))
        if last != "name" or "." not in path  # else it is the name of something in the object
    ]
    return [path for _, _, path in sorted(found)][:_MOST_PATHS]


def _is_line(value: Value) -> bool:
    values = value if isinstance(value, list) else [value]
    return all(isinstance(one, str) and "\n" not in one and 0 < len(one) <= _LONGEST_LINE for one in values)


def _is_text(value: Value) -> bool:
    return isinstance(value, str) and _is_line(value)


def _is_id(value: Value) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (_is_text(value) and " " not in str(value))


def _is_role(value: Value) -> bool:
    return value in ("user", "assistant", "system")


def _is_time(value: Value) -> bool:
    return iso_date(value) is not None if isinstance(value, str) else _epoch(value) is not None


def _epoch(value: Value) -> str | None:
    """Return the unit in which a number counts the time since 1970."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if _SECONDS[0] <= value <= _SECONDS[1]:
        return "seconds"
    return "milliseconds" if _SECONDS[0] * 1000 <= value <= _SECONDS[1] * 1000 else None


def _time_rule(path: str, values: Sequence[Value]) -> Value:
    units = {_epoch(value) for value in values}
    return {"from": path, "epoch": min(map(str, units))} if None not in units else path


def _is_share(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _is_index(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_vector(value: Value) -> bool:
    return isinstance(value, list) and len(value) >= _VECTOR and all(isinstance(one, int | float) for one in value)


_CHECKS: Final[Mapping[str, Callable[[Value], bool]]] = {
    "id": _is_id,
    "ts": _is_time,
    "importance": _is_share,
    "turn_index": _is_index,
    "role": _is_role,
    "title": _is_text,
    "author": _is_text,
    "name": _is_text,
    "source_url": _is_text,
    "conversation_id": _is_text,
    "speaker": _is_text,
    "project": _is_text,
    "sensitivity": _is_text,
}
