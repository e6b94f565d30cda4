"""Proposes a map of the fields of objects that are seen for the first time: by their names, and by what they hold."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import yaml

from cognition_engines.drafts.plain_values import RefusedValue, Value
from cognition_engines.ingest.maps.field_map import DETECTED, is_given
from cognition_engines.ingest.maps.map_files import SHIPPED, parsed_map, shipped
from cognition_engines.ingest.maps.mapped import is_detected, records_of
from cognition_engines.ingest.maps.sample import Sample
from cognition_engines.ingest.structured.aliases import snake

_DEEPEST: Final = 3
_MOST_PATHS: Final = 4  # of a field
_LONGEST_LINE: Final = 200
_VECTOR: Final = 16  # numbers from which a list of them is taken for a vector
_SECONDS: Final = (3e8, 5e9)  # since 1970: from 1979 to 2128
_TEXTS: Final = (
    *("content", "text", "body", "message", "memory", "document", "page_content", "note", "fact", "data"),
    *("narrative", "description", "summary", "value", "answer"),
)
# The last part of a path in snake_case, by field: the first that is there counts.
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


def proposed(sample: Sample) -> str:
    """A map as YAML: a shipped one where it fits most objects, else one by their members."""
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
    parsed_map(text, "the proposed map")  # one that cannot be read is a mistake here
    return text


def _is_published(members: Mapping[str, Value]) -> bool:
    """Whether an object is a decision of the published server."""
    return "summary" in members and members["summary"] == members.get("decision")


def _fits_most(sample: Sample, name: str) -> bool:
    found = [record for one in sample.members for record in records_of(one, shipped(name))]
    refused = sum(isinstance(record, RefusedValue) for record in found)
    return refused <= len(found) / 2


def _paths(members: Iterable[dict[str, Value]]) -> dict[str, list[Value]]:
    """The values that stand under each path."""
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
    elif _named(paths, _TURN["conversation_id"], _is_text) and _named(paths, ("role",), _is_role):
        kind, fields = "turn", {"id": _IDS, **_TURN}
    else:
        kind, fields = "artifact", {"id": _IDS, **_ARTIFACT}
    chosen: dict[str, Value] = {"content": _one_or_all(content)} if content else {}
    taken = set(content)
    for name, names in {**fields, **_RIGHTS}.items():
        usable = {path: values for path, values in paths.items() if path not in taken}
        found = _named(usable, names, _CHECKS.get(name, _is_line))
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
    """A member such as noteId, whose values are all different, one for each object."""
    most = max(map(len, paths.values()), default=0)
    for path, values in paths.items():
        different = len(values) == most and len({str(value) for value in values}) == most
        if different and "." not in path and snake(path).endswith("_id") and all(map(_is_id, values)):
            return path
    return None


def _one_or_all(paths: Sequence[str]) -> Value:
    return paths[0] if len(paths) == 1 else list(paths)


def _contents(paths: Mapping[str, list[Value]]) -> list[str]:
    """The paths of the text: by their names, else that of the longest texts; none where there are only names."""
    texts = {path: values for path, values in paths.items() if all(isinstance(one, str) for one in values)}
    if found := _named(texts, _TEXTS, lambda _: True):
        return found
    long = {path: sum(len(str(one)) for one in values) / len(values) for path, values in texts.items()}
    path = max(long, key=lambda path: long[path], default=None)
    is_text = path is not None and (long[path] > 60 or any("\n" in str(one) for one in texts[path]))
    return [path] if path is not None and is_text else []


def _named(paths: Mapping[str, list[Value]], names: Sequence[str], fits: Callable[[Value], bool]) -> list[str]:
    """The paths whose last part is one of the names, in their order, where all values fit; those nearest the root."""
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
    if isinstance(value, str):
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return False
        return True
    return _epoch(value) is not None


def _epoch(value: Value) -> str | None:
    """In what a number counts the time since 1970."""
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
