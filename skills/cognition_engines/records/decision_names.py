"""What a decision is called, and what its references may mean: texts in the table `links`.

An id as it is; a file's name, its stem and its number within their folder.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from cognition_engines.models import Decision
from cognition_engines.records.codec import short_key
from cognition_engines.records.values import MAX_ID, Origin, Role

_ENDINGS: Final = (".md", ".markdown", ".mdx", ".rst", ".adoc", ".txt")  # of files that are one decision each
_PAGES: Final = ("readme", "index")  # the name of such a file is its folder's
_NUMBERED: Final = re.compile(r"(?:[a-z]{1,10}[-_ ]?)?(?!\d{4}-\d{2}-\d{2})0*(\d{1,6})(?!\d)")
_NUMBER: Final = re.compile(r"(?:[a-z]{1,10}[ #.-]{0,2})?#?0*(\d{1,6})")


def names_of(id: str, origin: Origin) -> list[str]:
    """What a decision of this id and origin can be named by."""
    names = [_by_id(id)]
    folder, stem, ending = _place(origin.source)
    if ending in _ENDINGS:
        names += [_within(folder, stem + ending), _within(folder, stem)]
        if number := _NUMBERED.match(stem):
            names.append(_within(folder, f"#{number[1]}"))
    return names


def named_by(reference: str, origin: Origin) -> list[str]:
    """The names that a reference of this origin may mean, the likeliest first."""
    if len(reference) > MAX_ID:
        return []  # no record is called so, and the index takes no longer ones
    folder, text = _place(origin.source)[0], reference.strip().casefold()
    names = [_by_id(reference.strip()), _within(folder, text)]
    if number := _NUMBER.fullmatch(text):
        names.append(_within(folder, f"#{number[1]}"))
    return names


def links_of_decision(decision: Decision, origin: Origin) -> Iterator[tuple[Role, str]]:
    """The rows of `links` for a decision: what it is called, and all that its references may mean."""
    for name in names_of(decision.id, origin):
        yield Role.CALLED, name
    for role, references in ((Role.SUPERSEDES, decision.supersedes), (Role.SUPERSEDED_BY, decision.superseded_by)):
        for reference in references:
            for name in named_by(reference, origin):
                yield role, name


def _by_id(id: str) -> str:
    return f"id {id}"


def _within(folder: str, name: str) -> str:
    return f"{short_key(folder)} {name}"


def _place(source: str) -> tuple[str, str, str]:
    """The folder of a file, its name without ending, and its ending, the latter two in lower case."""
    folder, file = os.path.split(source)
    stem, ending = os.path.splitext(file.casefold())
    if stem in _PAGES and ending in _ENDINGS:
        folder, stem = os.path.split(folder)
        return folder, stem.casefold(), ending
    return folder, stem, ending
