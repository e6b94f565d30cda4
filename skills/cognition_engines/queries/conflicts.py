"""Records near a new record: decisions with similar texts, and records in force that may contradict it.

Two texts contradict each other by rules over their words, in English: a text chooses an alternative rejected by the
other, or has another word in an otherwise equal sentence; exactly one of them negates; or they state different numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final, Literal, TypeAlias

from cognition_engines.indexes.columns.snapshot import Floats
from cognition_engines.indexes.space import SpaceIndex
from cognition_engines.kinds.artifacts import Artifact, Turn
from cognition_engines.kinds.registry import Record
from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Decision, Viewer, one_of
from cognition_engines.queries.compared_texts import Answers, Sentence, Statement, Stems, read_text
from cognition_engines.search.legs import semantic_leg
from cognition_engines.set_aside import Part, SetAside
from cognition_engines.store.values import StoredRecord

Why: TypeAlias = Literal["alternative", "negation", "number"]
_Compared: TypeAlias = Why | Literal["failed"] | None

MOST: Final = 3  # duplicates and conflicts in an answer
SIMILAR: Final = 0.12  # cosine distance of a duplicate
_NEIGHBOURS: Final = 20  # compared records
_SAME_SUBJECT: Final = 0.75  # cosine distance, up to which a rejected alternative counts
_ONE_QUESTION: Final = 0.7  # cosine distance, up to which other answers count
_NEAR: Final = 0.6  # cosine distance, up to which other rules count
_NEARER: Final = 0.3
_NEAREST: Final = 0.25
_ONE_WORD: Final = 0.5  # of a negation with a single word
_ONE_SHARED: Final = 0.4  # of sentences with a single word in common
_TITLE: Final = 200  # characters of a memory without a title


def find_nearest(index: SpaceIndex, kinds: Sequence[Kind], vector: Floats, viewer: Viewer) -> dict[int, float]:
    """Return the cosine distances of the nearest records of these kinds that the viewer sees, by key, nearest first.

    Records farther than _SAME_SUBJECT are left out: no rule applies to them.
    """
    snapshot = index.snapshot
    mask = snapshot.mask(one_of("kind", [kind.label for kind in kinds]), viewer)
    ranked = semantic_leg(snapshot, mask, vector, _NEIGHBOURS, index.vectors, viewer)
    places = zip(ranked.rows.tolist(), ranked.scores.tolist(), strict=True)
    distances = {int(snapshot.keys[row]): 1.0 - cosine for row, cosine in places}
    return {key: distance for key, distance in distances.items() if distance <= _SAME_SUBJECT}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The records that may contradict a new record, and why; `failed` is the number of incomparable records."""

    conflicts: Sequence[tuple[StoredRecord, Why]]
    failed: int


def find_conflicts(
    new: Record, near: Sequence[tuple[StoredRecord, float]], now: datetime, set_aside: SetAside
) -> Comparison:
    """Compare a new record with the records in force near it; `near` has their cosine distances.

    Only records of the same project count, or decisions about the same file or path.
    """
    compared = [(stored, distance) for stored, distance in near if _is_comparable(new, stored, now)]
    statement = set_aside.attempt(Part.SNIPPETS, None, partial(read_statement, new), None)
    if statement is None:
        return Comparison((), len(compared))
    conflicts: list[tuple[StoredRecord, Why]] = []
    failed = 0
    for stored, distance in compared:
        work = partial(_compare, stored.record, statement, distance)
        failure: _Compared = "failed"
        why = set_aside.attempt(Part.SNIPPETS, stored, work, failure)
        if why == "failed":
            failed += 1
        elif why is not None:
            conflicts.append((stored, why))
    return Comparison(conflicts, failed)


def _is_comparable(new: Record, stored: StoredRecord, now: datetime) -> bool:
    until = stored.facets.until
    return (until is None or until > now) and _share_subject(new, stored.record)


def _compare(old: Record, new: Statement, distance: float) -> _Compared:
    return contradiction(read_statement(old), new, distance)


def title_of(record: Record) -> str:
    """Return the title of a decision or a memory, or the beginning of the text."""
    if isinstance(record, Decision):
        return record.title
    assert isinstance(record, Artifact | Turn)
    title = record.title if isinstance(record, Artifact) else None
    return title or record.content[:_TITLE]


def _share_subject(new: Record, old: Record) -> bool:
    if new.project == old.project:
        return True
    return isinstance(new, Decision) and isinstance(old, Decision) and bool(_files_of(new) & _files_of(old))


def _files_of(decision: Decision) -> set[str]:
    paths = {one.pattern for one in decision.affects if one.type == "path"}
    file = None if decision.details is None else decision.details.file
    return paths if file is None else paths | {file}


def read_statement(record: Record) -> Statement:
    """Return the statement of a decision or a memory, from the first _LONGEST characters."""
    details = record.details if isinstance(record, Decision) else None
    if isinstance(record, Decision):
        text = record.title if details is None else details.statement
    else:
        assert isinstance(record, Artifact | Turn)
        text = record.content
    return read_text(text, [one.option[:_TITLE] for one in details.alternatives] if details else [])


def contradiction(old: Statement, new: Statement, distance: float) -> Why | None:
    """Return why two statements at this cosine distance may contradict each other; None without a reason."""
    if _disagree(old.scopes, new.scopes):
        return None
    if _chooses(new, old.rejected, old) or _chooses(old, new.rejected, new):
        return "alternative"
    clauses = [(one, other) for one in old.clauses for other in new.clauses if one.subject & other.subject]
    differ = _disagree(old.chosen, new.chosen)
    if distance <= _ONE_QUESTION and any(_answer_differently(one, other, chosen=differ) for one, other in clauses):
        return "alternative"
    if distance > _NEAR:
        return None
    if any(_differ_in_number(one, other, distance) for one in old.sentences for other in new.sentences):
        return "number"
    if any(_differ_in_polarity(one, other, distance) for one, other in clauses):
        return "negation"
    # A slot's words in another sentence of the other text are no other choice.
    if any(_differ_in_a_slot(one, other, distance, old.terms, new.terms) for one, other in clauses):
        return "alternative"
    return None


def _chooses(one: Statement, rejected: Sequence[Stems], other: Statement) -> bool:
    """Return whether a statement chooses all words of an alternative that the other rejects and does not state."""
    return any(option <= one.stated and not option <= other.terms for option in rejected)


def _disagree(some: Answers, others: Answers) -> bool:
    """Return whether there is a question with answers in both sets, but no common one."""
    asked = {question for question, _ in some} & {question for question, _ in others}
    return not asked <= {question for question, _ in some & others}


def _answer_differently(one: Sentence, other: Sentence, *, chosen: bool) -> bool:
    """Return whether two sentences about the same subject have different answers, or one rejects the other's answer.

    Different answers only count if `chosen` is true.
    """
    mine, others = one.subject - one.named, other.subject - other.named
    shared = len(mine & others)
    if not shared or 2 * shared < min(len(mine), len(others)):
        return False
    if chosen and _disagree(one.chosen, other.chosen):
        return True
    return bool(one.chosen & other.rejected - one.rejected or other.chosen & one.rejected - other.rejected)


def _differ_in_number(one: Sentence, other: Sentence, distance: float) -> bool:
    """Return whether two sentences have different amounts of a single measure, but the same subject."""
    shared = len(one.subject & other.subject)
    fewest = min(len(one.subject), len(other.subject)) or 1
    enough = shared >= 2 or (shared == 1 and (fewest == 1 or distance <= _NEARER))
    if not (enough or distance <= _NEAREST) or 2 * shared < fewest:
        return False
    # A single other word is another subject: "19 % in Germany", "20 % in Austria".
    if len(one.subject - other.subject) == len(other.subject - one.subject) == 1:
        return False
    return len(_differing(one, other)) == 1


def _differing(one: Sentence, other: Sentence) -> set[str]:
    """Return the measures with amounts in both sentences, but no common one."""
    measures = {measure for _, _, measure in one.numbers} & {measure for _, _, measure in other.numbers}
    return measures - {measure for _, _, measure in one.numbers & other.numbers}


def _differ_in_polarity(one: Sentence, other: Sentence, distance: float) -> bool:
    """Return whether exactly one clause negates, and the other contains most words of the negating clause."""
    negating, stating = (one, other) if one.negates else (other, one)
    if one.negates == other.negates or stating.limits:  # "only admins" and "no guests" agree
        return False
    negated = negating.subject | {number for number, _, _ in negating.numbers}
    shared = negated & (stating.subject | {number for number, _, _ in stating.numbers})
    fewest = 1 if len(negated) == 1 and distance <= _ONE_WORD else 2
    return len(shared) >= fewest and 5 * len(shared) >= 3 * len(negated)


def _differ_in_a_slot(one: Sentence, other: Sentence, distance: float, old: Stems, new: Stems) -> bool:
    """Return whether two sentences are equal but for slots, and few words in one of them.

    `old` and `new` are all terms of both texts.
    """
    if one.negates != other.negates or _differing(one, other):
        return False
    if len(one.subject & other.subject) < (1 if distance <= _ONE_SHARED else 2):
        return False
    mine, others = [*one.slots, *one.names], [*other.slots, *other.names]
    pairs = [(slot, filler) for slot in mine for filler in others if slot in one.slots or filler in other.slots]
    if not any(slot - new and filler - old and slot & new <= filler and filler & old <= slot for slot, filler in pairs):
        return False
    frame, other_frame = one.subject.difference(*one.slots), other.subject.difference(*other.slots)
    if frame.isdisjoint(other.subject) and other_frame.isdisjoint(one.subject):
        return False
    left = one.subject.difference(other.subject, *(slot for slot in mine if slot - new))
    right = other.subject.difference(one.subject, *(slot for slot in others if slot - old))
    return not (left and right) and len(left | right) <= (2 if distance <= _ONE_SHARED else 1)
