"""Secrets in structured values: models, dataclasses, lists and JSON are read as one text, and rebuilt with masks."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple, Protocol, TypeVar, cast

from cognition_engines.masking.named_values import kind_of, name_of
from cognition_engines.masking.policy import BARRIER, FieldSecret, TextSecret, with_masks
from cognition_engines.masking.value_shapes import Form, Name, is_number_secret, is_secret
from cstp.values.base import Wire

T = TypeVar("T")
_SCANNER: Final = "cognition_engines.masking.scanner"  # loaded by name: a start without a write does not need it
_NAMED: Final = frozenset(map(kind_of, Name))  # kinds by a name alone
_BETWEEN: Final = "\n;\n"  # list items: a name at the end of a text does not belong to the next text
_APART: Final = f"\n{BARRIER}\n"  # other texts
_NAMES: Final = frozenset({"id", "ids", "idempotency_key", "project", "supersedes", "origin", "repository"})


class _Finder(Protocol):
    def __call__(self, text: str) -> tuple[TextSecret, ...]: ...


@dataclass(frozen=True, slots=True)
class Masked:
    """A value with masks in place of secrets, and the secrets by field, each kind once per field.

    `texts` are the secrets themselves, to find their lines in a file; never shown or stored.
    """

    value: Any
    secrets: tuple[FieldSecret, ...] = ()
    texts: tuple[str, ...] = field(default=(), repr=False)

    @property
    def by_field(self) -> tuple[FieldSecret, ...]:
        """Return a secret for each field."""
        return tuple({one.field: one for one in reversed(self.secrets)}.values())[::-1]


class _Leaf(NamedTuple):
    """A text within a value: path, whether it is an identifier, and the kind if the key marks it as a secret."""

    path: str
    text: str
    is_name: bool
    kind: str | None = None


def load_rules() -> None:
    """Load and compile the rules: a third of a second, or seconds the first time on a machine."""
    import_module(_SCANNER).load_scanner()


def mask_text(text: str) -> str:
    """Return a text with masks in place of secrets."""
    return with_masks(text, _finder()(text))


def mask_values(value: T, names: Mapping[tuple[type[Any], str], str] = {}) -> Masked:
    """Return a value with masks in place of secrets; the value itself if it has none.

    `names` are the paths of fields under another name, by class and field; "" is the path of the surrounding value.
    """
    leaves: list[_Leaf] = []
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    for before, leaf, after in _leaves(value, names):
        starts.append(length + len(before))
        parts += (before, leaf.text, after)
        length = starts[-1] + len(leaf.text) + len(after)
        leaves.append(leaf)
    found: dict[int, list[TextSecret]] = {}
    for secret in _finder()("".join(parts)):
        first = max(0, bisect_right(starts, secret.start) - 1)
        for place in range(first, len(starts)):
            start = starts[place]
            if start >= secret.end:
                break
            low, high = max(secret.start - start, 0), min(secret.end - start, len(leaves[place].text))
            if low < high:
                found.setdefault(place, []).append(TextSecret(low, high, secret.kind))
    for place, leaf in enumerate(leaves):
        if leaf.kind is not None:
            known = [secret.kind for secret in found.get(place, ()) if secret.kind not in _NAMED]
            found[place] = [TextSecret(0, len(leaf.text), (*known, leaf.kind)[0])]
    if not found:
        return Masked(value)
    masked = _rebuild(value, iter([with_masks(leaf.text, found.get(place, ())) for place, leaf in enumerate(leaves)]))
    shown = [leaf for _, leaf, _ in _leaves(masked, names)]  # a path may have a key with a secret
    secrets: dict[FieldSecret, str] = {}
    for place, of_leaf in sorted(found.items()):
        for one in of_leaf:
            of_field = FieldSecret(shown[place].path, one.kind, shown[place].is_name)
            secrets.setdefault(of_field, leaves[place].text[one.start : one.end])
    return Masked(masked, tuple(secrets), tuple(secrets.values()))


def _finder() -> _Finder:
    return cast("_Finder", import_module(_SCANNER).find_secrets)


def _leaves(value: object, names: Mapping[tuple[type[Any], str], str]) -> list[tuple[str, _Leaf, str]]:
    """Return all texts in a value, in the order of `_rebuild`, each with the text before and after it in the whole."""
    found: list[tuple[str, _Leaf, str]] = []
    _add_leaves(found, value, "", False, names)
    return found


def _add_leaves(
    found: list[tuple[str, _Leaf, str]],
    value: object,
    path: str,
    is_name: bool,
    names: Mapping[tuple[type[Any], str], str],
) -> None:
    """Add the texts in a value; a JSON member is read as `"key": "value"`, since the key reveals what the value is."""
    if type(value) is str:
        found.append(("", _Leaf(path, value, is_name), _APART))
    elif isinstance(value, Mapping):
        for key, member in value.items():
            found.append(('"', _Leaf(path, str(key), is_name), '": '))
            inner = f"{path}.{key}" if path else str(key)
            secret = _kind_of_member(str(key), member)
            if type(member) is str or secret is not None:
                found.append(('"', _Leaf(inner, str(member), is_name, secret), f'"{_APART}'))
            else:
                _add_leaves(found, member, inner, is_name, names)
    elif isinstance(value, list | tuple):
        for place, item in enumerate(value):
            if type(item) is str:
                found.append(("", _Leaf(f"{path}[{place}]", item, is_name), _BETWEEN))
            else:
                _add_leaves(found, item, f"{path}[{place}]", is_name, names)
    elif isinstance(value, Wire) or (is_dataclass(value) and not isinstance(value, type)):
        kind: Any = type(value)
        for name, camel, identifies in _describe_fields(kind):
            member = getattr(value, name)
            if member is not None and not isinstance(member, int | float):
                shown = names.get((kind, name), camel)
                inner = f"{path}.{shown}" if path and shown else path or shown
                _add_leaves(found, member, inner, is_name or identifies, names)


def _rebuild(value: Any, texts: Iterator[str]) -> Any:
    """Return a value with other texts."""
    if type(value) is str:
        return next(texts)
    if isinstance(value, Mapping):
        members: dict[str, Any] = {}
        for original, member in value.items():
            name = key = next(texts)
            number = 1
            while key in members:  # two keys may have the same mask
                number += 1
                key = f"{name} {number}"
            is_leaf = _kind_of_member(str(original), member) is not None
            members[key] = _rebuild(str(member) if is_leaf else member, texts)
        return members
    if isinstance(value, list | tuple):
        return type(value)([_rebuild(item, texts) for item in value])
    if isinstance(value, Wire):
        return value.model_copy(update=_changed_members(value, texts))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **_changed_members(value, texts))
    return value


def _changed_members(value: Any, texts: Iterator[str]) -> dict[str, Any]:
    changed: dict[str, Any] = {}
    kind: Any = type(value)
    for name, _, _ in _describe_fields(kind):
        member = getattr(value, name)
        if member is not None and not isinstance(member, int | float):
            other = _rebuild(member, texts)
            if other is not member:
                changed[name] = other
    return changed


def _kind_of_member(key: str, member: object) -> str | None:
    """Return the kind of a JSON member whose key makes the text or number a secret."""
    if type(member) is not str and type(member) is not int:
        return None
    name = name_of(key)
    if name is None:
        return None
    if type(member) is int:
        return kind_of(name) if is_number_secret(member, name) else None
    return kind_of(name) if is_secret(str(member), name, Form.QUOTED) else None


@cache
def _describe_fields(kind: type[Any]) -> tuple[tuple[str, str, bool], ...]:
    """Return the fields of a model or dataclass: name, name on the wire, and whether it is an identifier."""
    names: Iterable[str] = kind.model_fields if issubclass(kind, Wire) else [one.name for one in fields(kind)]
    return tuple((name, _camel(name), _is_name(name)) for name in names)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def _is_name(member: str) -> bool:
    return member in _NAMES or member.endswith(("_id", "_ids"))
