"""The first objects of a file of another system, with plain values, for a map to be proposed of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Final

from cognition_engines.drafts.plain_values import LISTS, MalformedText, RefusedValue, Value
from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.foreign.systems import LISTED, SYSTEMS, plain_members, recognised
from cognition_engines.ingest.maps.dumps import listed_objects, parsed_documents, plain
from cognition_engines.ingest.maps.field_map import at
from cognition_engines.ingest.structured.detect_kind import is_record
from cognition_engines.ingest.structured.reader import parsed_lines, starts_lines
from cognition_engines.open_file import LARGEST_WHOLE, NotAFile, open_file

MOST: Final = 1000  # objects that are looked at
_DEEPEST: Final = 3  # of a path to a list of objects


@dataclass(frozen=True, slots=True)
class Sample:
    """`system` whose objects they are, None for plain ones; `objects` the path to their list, None where a map needs
    none.
    """

    members: tuple[dict[str, Value], ...]
    system: str | None
    objects: str | None = None


def sample_of(path: Path) -> Sample:
    """The first objects of a JSON, JSONL or YAML file. Raises ConfigurationError where there are none."""
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
    return _sample([one for value in values for one, _ in listed_objects(value, None)] if _is_known(values) else values)


def _is_known(values: Sequence[Value]) -> bool:
    return any(recognised(one) for value in values for one, _ in listed_objects(value, None))


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
    """The path to the longest list of objects in a document."""
    if not isinstance(value, dict) or recognised(value) is not None or is_record(value):
        return None
    found: dict[str, int] = {}
    for name, member in value.items():
        if isinstance(member, list) and member and all(isinstance(one, dict) for one in member):
            found[name] = len(member)
        elif isinstance(member, dict) and depth < _DEEPEST and (inner := _list_path(member, depth + 1)) is not None:
            objects = at(member, inner)
            found[f"{name}.{inner}"] = len(objects) if isinstance(objects, list) else 0
    # an object that has a text is one, whatever lists it has
    if any(isinstance(member, str) and len(member) > 40 for member in value.values()):
        return None
    return max(found, key=lambda name: found[name], default=None)


def _sample(values: Sequence[Value], objects: str | None = None) -> Sample:
    system = next(filter(None, map(recognised, values)), None)
    members = SYSTEMS[system].members() if system else plain_members()
    plains = [plain(value, members) for value in values[:MOST] if not isinstance(value, RefusedValue)]
    return Sample(tuple(one for one in plains if isinstance(one, dict)), system, objects)
