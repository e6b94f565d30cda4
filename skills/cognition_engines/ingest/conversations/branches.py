"""Conversations in which a message was edited or repeated: a tree of which one branch is what was said in the end."""

from collections.abc import Mapping


def branch(parents: Mapping[str, str | None], leaf: str) -> list[str]:
    """The ids from the root to `leaf`. `parents` gives the parent of each; one that is not there is the root's."""
    found: dict[str, None] = {}
    current: str | None = leaf
    while current is not None and current in parents and current not in found:
        found[current] = None
        current = parents[current]
    return list(found)[::-1]
