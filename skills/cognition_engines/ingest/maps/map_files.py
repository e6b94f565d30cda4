"""Reads a map from a YAML file; invalid parts are rejected with their name and line."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, cast, get_args

import yaml

from cognition_engines.drafts.plain_values import RIGHTS, Value, safe_name
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.foreign.systems import SYSTEMS
from cognition_engines.ingest.maps.field_map import DETECTED, SKIP, Epoch, FieldMap, FieldRule, MapEntry
from cognition_engines.ingest.structured.aliases import own_names
from cognition_engines.kinds.spec import KINDS, Kind

SHIPPED: Final = Path(__file__).parent / "shipped"
_LARGEST: Final = 100_000  # bytes of a map
_TOP: Final = ("system", "objects", "records")
_ENTRY: Final = ("kind", "when", "has", "also", "fields", "sections", "constants", "drop")
_RULE: Final = ("from", "values", "otherwise", "epoch")
_TEXT_OF: Final = {Kind.DECISION: "text"}  # for sections; else they go to the content


class _Wrong(Exception):
    """`line` is 1-based."""

    def __init__(self, node: yaml.Node, reason: str) -> None:
        super().__init__(reason)
        self.line = node.start_mark.line + 1


class _Loader(yaml.SafeLoader):
    """YAML without aliases: a few nested ones would make a value of any size."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark: yaml.Mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise _Wrong(yaml.ScalarNode("", "", mark), "aliases are not read: write the value out")
        return super().compose_node(parent, index)


def shipped_names() -> tuple[str, ...]:
    """Return the names of the package's maps."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.yaml")))


@cache
def shipped_map(name: str) -> FieldMap:
    """Return a map of the package."""
    return parsed_map((SHIPPED / f"{name}.yaml").read_text(encoding="utf-8"), name)


def opened_map(text: str) -> FieldMap:
    """Return the shipped map of this name, else the file's map. Raise ConfigurationError."""
    if text in shipped_names():
        return shipped_map(text)
    try:
        with open(text, "rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        names = ", ".join(shipped_names())
        raise ConfigurationError(f"{text}: no map can be read there ({error.strerror}); shipped are {names}") from None
    if len(content) > _LARGEST:
        raise ConfigurationError(f"{text}: a map has at most {_LARGEST:,} bytes")
    try:
        return parsed_map(content.decode("utf-8-sig"), text)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{text}: a map must be UTF-8") from None


def parsed_map(text: str, name: str) -> FieldMap:
    """Parse a text to a map; `name` is used in errors. Raise ConfigurationError."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            raise ConfigurationError(f"{name}: the map is empty")
        return _map(root, name)
    except _Wrong as error:
        raise ConfigurationError(f"{name}, line {error.line}: {error}") from None
    except (yaml.MarkedYAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise ConfigurationError(f"{name}, line {mark.line + 1 if mark else 1}: not valid YAML from here on") from None
    except yaml.YAMLError:
        raise ConfigurationError(f"{name}: not valid YAML: a character that is not allowed") from None


def _map(root: yaml.Node, name: str) -> FieldMap:
    members = _parse_members(root, "a map", _TOP)
    system = _parse_text(members["system"], "system") if "system" in members else None
    if system is not None and system not in SYSTEMS:
        raise _Wrong(members["system"], f"system must be one of {', '.join(SYSTEMS)}")
    if "records" not in members:
        raise _Wrong(root, "records is required: a list of what becomes a record")
    listed = members["records"]
    if not isinstance(listed, yaml.SequenceNode):
        raise _Wrong(listed, "records must be a list")
    if not listed.value:
        raise _Wrong(listed, "records must have an entry")
    objects = _parse_text(members["objects"], "objects") if "objects" in members else None
    return FieldMap(name, system, objects, tuple(map(_entry, listed.value)))


def _entry(node: yaml.Node) -> MapEntry:
    members = _parse_members(node, "an entry of records", _ENTRY)
    if "kind" not in members:
        raise _Wrong(node, "kind is required")
    kind = _parse_text(members["kind"], "kind")
    if kind not in {*KINDS, DETECTED, SKIP}:
        raise _Wrong(members["kind"], f"kind must be one of {', '.join([*KINDS, DETECTED, SKIP])}")
    fields = {name: _rule(value) for name, value in _yield_fields(members.get("fields"), kind)}
    constants = {name: _value(value) for name, value in _yield_fields(members.get("constants"), kind)}
    if both := fields.keys() & constants.keys():
        raise _Wrong(members["constants"], f"{min(both)} is among the fields and the constants")
    also = _value(members["also"]) if "also" in members else False
    if not isinstance(also, bool):
        raise _Wrong(members["also"], "also must be true or false")
    drop = _texts(members["drop"], "drop") if "drop" in members else ()
    for path in drop:
        if path.casefold() in RIGHTS:
            raise _Wrong(members["drop"], f"{path} says who may see a record: it cannot be dropped")
    sections = dict(_free(members.get("sections"), "sections"))
    if sections and (kind in (DETECTED, SKIP) or text_of(kind) not in _names_of(kind)):
        raise _Wrong(members["sections"], f"the kind {kind} has no text for sections")
    return MapEntry(
        kind,
        {path: _value(value) for path, value in _free(members.get("when"), "when")},
        _texts(members["has"], "has") if "has" in members else (),
        also,
        fields,
        {heading: _parse_text(value, heading) for heading, value in sections.items()},
        constants,
        drop,
    )


def text_of(kind: str) -> str:
    """Return the field with a kind's text."""
    return _TEXT_OF.get(KINDS[kind], "content")


@cache
def _names_of(kind: str) -> frozenset[str]:
    """Return the fields of a kind; the id alone if the kind is not known."""
    if kind in (DETECTED, SKIP):
        return frozenset({"id", *RIGHTS})
    return own_names(KINDS[kind])


def _yield_fields(node: yaml.Node | None, kind: str) -> Iterator[tuple[str, yaml.Node]]:
    """Yield members whose names are fields of the kind."""
    for key, name, value in _pairs(node, "fields"):
        if name not in _names_of(kind) - {"metadata"}:
            known = ", ".join(sorted(_names_of(kind) - {"metadata"}))
            raise _Wrong(key, f"{safe_name(name, 'that')} is not a field of the kind {kind}; there are {known}")
        yield name, value


def _free(node: yaml.Node | None, what: str) -> Iterator[tuple[str, yaml.Node]]:
    """Return members of any names."""
    return ((name, value) for _, name, value in _pairs(node, what))


def _rule(node: yaml.Node) -> FieldRule:
    if not isinstance(node, yaml.MappingNode):
        return FieldRule(_texts(node, "a field"))
    members = _parse_members(node, "a field", _RULE)
    if "from" not in members:
        raise _Wrong(node, "from is required: the path of a member, or a list of them")
    values = None
    if "values" in members:
        values = {name: _value(value) for name, value in _free(members["values"], "values")}
    epoch = _parse_text(members["epoch"], "epoch") if "epoch" in members else None
    if epoch is not None and epoch not in get_args(Epoch):
        raise _Wrong(members["epoch"], f"epoch must be one of {', '.join(get_args(Epoch))}")
    otherwise = _value(members["otherwise"]) if "otherwise" in members else None
    return FieldRule(_texts(members["from"], "from"), values, otherwise, cast("Epoch | None", epoch))


def _parse_members(node: yaml.Node, what: str, names: tuple[str, ...]) -> Mapping[str, yaml.Node]:
    """Return a node's members, which must be these and no others."""
    found: dict[str, yaml.Node] = {}
    for key, name, value in _pairs(node, what):
        if name not in names:
            raise _Wrong(key, f"{safe_name(name, 'that')} is no key of {what}; there are {', '.join(names)}")
        found[name] = value
    return found


def _pairs(node: yaml.Node | None, what: str) -> Iterator[tuple[yaml.Node, str, yaml.Node]]:
    if node is None:
        return
    if not isinstance(node, yaml.MappingNode):
        raise _Wrong(node, f"{what} must be a list of names with values")
    seen = set[str]()
    for key, value in node.value:
        name = _parse_text(key, "a name")
        if name in seen:
            raise _Wrong(key, f"{safe_name(name, 'that')} is given twice")
        seen.add(name)
        yield key, name, value


def _parse_text(node: yaml.Node, what: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or not str(node.value).strip():
        raise _Wrong(node, f"{what} must be a text")
    return str(node.value)


def _texts(node: yaml.Node, what: str) -> tuple[str, ...]:
    nodes = list(node.value) if isinstance(node, yaml.SequenceNode) else [node]
    if not nodes:
        raise _Wrong(node, f"{what} must name a member")
    return tuple(_parse_text(each, what) for each in nodes)


def _value(node: yaml.Node) -> Value:
    """Return a plain value; a date stays a text."""
    with _as_wrong(node):
        if isinstance(node, yaml.ScalarNode) and node.tag.endswith(("timestamp", "binary")):
            return str(node.value)
        value = yaml.SafeLoader("").construct_object(node, deep=True)
        return cast("Value", json.loads(json.dumps(value, allow_nan=False)))


@contextmanager
def _as_wrong(node: yaml.Node) -> Iterator[None]:
    try:
        yield
    except (yaml.YAMLError, ValueError, TypeError):
        raise _Wrong(node, "the value is not one of JSON: text, number, true, false, null, list or object") from None
