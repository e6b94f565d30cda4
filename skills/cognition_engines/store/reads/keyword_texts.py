"""Record words, as the keyword index needs them."""

from collections.abc import Sequence
from typing import Final

from cognition_engines.kinds.registry import keyword_text, spec_of
from cognition_engines.kinds.spec import Kind
from cognition_engines.store.database import Store, begin_scan
from cognition_engines.store.inheritance import neighbours
from cognition_engines.store.reads.by_key import found_by_keys
from cognition_engines.store.values import Text


class KeywordTexts:
    """Reads of record words."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store

    def by_keys(self, keys: Sequence[int]) -> list[Text]:
        """Return the words of the existing records with any, a turn's with the neighbours' words.

        A neighbour has the same conversation, session and project and is not more guarded than the turn.
        """
        with begin_scan(self._store) as connection:
            found = found_by_keys(connection, keys, None)
            neighbouring = neighbours(connection, [key for key, one in found.items() if one.kind is Kind.TURN])
            others = {key for around in neighbouring.values() for away in around for key in away} - found.keys()
            turns = {**found, **found_by_keys(connection, sorted(others), None, (Kind.TURN,))}
        found_texts: list[Text] = []
        for key, one in found.items():
            body = keyword_text(one.record)
            if body is None:
                continue
            spec = spec_of(one.record)
            around = neighbouring.get(key, ())
            text = Text(
                key,
                body,
                one.facets.project,
                one.facets.sensitivity,
                id=None if one.record.id is None else str(one.record.id),
                title=spec.title(one.record),
                day=spec.day(one.record),
                adjacent=tuple(tuple(keyword_text(turns[each].record) or "" for each in away) for away in around),
            )
            found_texts.append(text)
        return found_texts
