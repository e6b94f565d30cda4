"""A decision with all that was written about it; described in `Records`."""

from dataclasses import dataclass
from datetime import datetime

from cognition_engines.kinds.kind import Kind
from cognition_engines.kinds.reviews import DecisionLink, Review
from cognition_engines.models import Viewer
from cognition_engines.store.database import Store
from cognition_engines.store.transactions import reading
from cognition_engines.store.values import Revision, StoredRecord
from cognition_engines.store.write_transaction import Author, WriteTransaction, links_of


@dataclass(frozen=True, slots=True)
class DecisionHistory:
    """A decision, its contents and reviews from the first to the last, and the links that the viewer sees whole.

    One that is read from a file has no contents before the present one.
    """

    stored: StoredRecord
    revisions: tuple[Revision, ...]
    reviews: tuple[Review, ...]
    links: tuple[DecisionLink, ...]


def decision_history(store: Store, id: str, viewer: Viewer, moment: datetime) -> DecisionHistory | None:
    """See `Records.decision`."""
    with reading(store) as connection:
        transaction = WriteTransaction(connection, Author("", "", moment))
        stored = transaction.find(Kind.DECISION, id, viewer)
        if stored is None:
            return None
        return DecisionHistory(
            stored,
            tuple(transaction.revisions(stored)),
            tuple(transaction.reviews(stored)),
            tuple(links_of(connection, [str(stored.record.id)], viewer)),
        )
