"""Filters as a caller makes them: those of the methods, refused with InvalidParams."""

from typing import TYPE_CHECKING

from cstp.methods import decisions, knowledge
from cstp.validation import parse_params


class Filters(decisions.QueryFilters):
    __doc__ = decisions.QueryFilters.__doc__

    if not TYPE_CHECKING:  # so that type checkers see the members

        def __init__(self, **members: object) -> None:
            """Raises InvalidParams with every violation, in wire spelling."""
            parse_params(decisions.QueryFilters, members)
            super().__init__(**members)


class KnowledgeFilters(knowledge.KnowledgeFilters):
    __doc__ = knowledge.KnowledgeFilters.__doc__

    if not TYPE_CHECKING:

        def __init__(self, **members: object) -> None:
            """Raises InvalidParams with every violation, in wire spelling."""
            parse_params(knowledge.KnowledgeFilters, members)
            super().__init__(**members)


QueryFilters = Filters
