"""Stored records as values of answers: by member name, with levels and origins."""

from typing import Final, TypeVar

from cognition_engines.models import SENSITIVITIES, Sensitivity
from cognition_engines.store.values import StoredRecord
from cstp.values.base import Wire
from cstp.values.decision_reads import RecordProvenance
from cstp.values.fields import Level

R = TypeVar("R", bound=Wire)
LEVELS: Final[dict[Sensitivity, Level]] = {level: name for name, level in SENSITIVITIES.items()}  # type: ignore[misc]


def to_value(model: type[R], *records: object, **members: object) -> R:
    """Return a value of `members`, with all other members of the model from the first record with such a name.

    Takes longer than the model itself, so lists of records are made without it.
    """
    for name in model.model_fields.keys() - members.keys():
        for record in records:
            if hasattr(record, name):
                members[name] = getattr(record, name)
                break
    return model.model_validate(members, strict=False, from_attributes=True, by_name=True)


def provenance_of(stored: StoredRecord, content_hash: str, ratified_by: str | None = None) -> RecordProvenance:
    """Return the origin of a record."""
    origin = stored.origin
    known = origin.path and origin.path != origin.source
    return RecordProvenance(
        recorded_by=origin.recorded_by,
        recorded_at=stored.recorded_at,
        via=origin.via,
        origin="wire" if origin.is_written else "file",
        path=None if origin.is_written else origin.path if known else origin.source.rpartition("/")[2],
        revision=stored.revision,
        content_hash=content_hash,
        ratified_by=ratified_by,
    )
