"""Titles of decisions after their numbers. Hooks import this module before each edit, so it imports little."""

import re
from typing import Final

_NUMBER: Final = re.compile(
    r"(?:(?:adr|madr|rfc|dr|ad|decision)[-_ ]?)?(?!\d{4}-\d\d-\d\d)(\d{1,6})(?!\d)", re.IGNORECASE
)


def numbered_title(title: str, path: str | None) -> str:
    """Return a title after the number in the name of the decision's file, as in `0017 Use UDP`; alone without one."""
    found = None if path is None else _NUMBER.match(path.rpartition("/")[2])
    return title if found is None or title.startswith(found[1]) else f"{found[1]} {title}"
