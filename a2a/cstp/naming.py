"""Members of results that name records: the audit finds by them what an answer has shown.

Texts inside a record that mention another one are no such members.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeAlias, get_args

from cstp.contract import Wire


@dataclass(frozen=True, slots=True)
class Names:
    """Marks a member that is the id of a record, or a list of ids, in `Annotated`.

    `kind` is the kind of the records, such as `decision`, or a function of the model that has the member; None is no
    record.
    """

    kind: str | Callable[[Any], str | None]

    def of(self, owner: Wire) -> str | None:
        """Return the kind of the records that the member of `owner` names."""
        return self.kind if isinstance(self.kind, str) else self.kind(owner)


DecisionId: TypeAlias = Annotated[str, Names("decision")]
DecisionIds: TypeAlias = Annotated[list[str], Names("decision")]


def by_type(owner: Any) -> str:
    """Return the kind of a record whose `type` is its kind."""
    kind: str = owner.type
    return kind


def named_records(result: Wire) -> Iterator[tuple[str, str]]:
    """Yield the kind and the id of each record that the members of a result name, in their order."""
    for name, mark in _naming_members(type(result)):
        member = getattr(result, name)
        values = member if isinstance(member, list) else [member]
        if mark is None:
            for value in values:
                if isinstance(value, Wire):
                    yield from named_records(value)
        elif (kind := mark.of(result)) is not None:
            yield from ((kind, str(id)) for id in values if id is not None)


@cache
def _naming_members(model: type[Wire]) -> Sequence[tuple[str, Names | None]]:
    """Return the members that name records, and with None those that have models with such members."""
    found: list[tuple[str, Names | None]] = []
    for name, field in model.model_fields.items():
        mark = next((one for one in field.metadata if isinstance(one, Names)), None)
        if mark is not None or any(map(_naming_members, _models(field.annotation))):
            found.append((name, mark))
    return found


def _models(annotation: Any) -> Iterator[type[Wire]]:
    if isinstance(annotation, type) and issubclass(annotation, Wire):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)
