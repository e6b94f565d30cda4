"""Readers of changes as tests write them: a follower dictionary for one viewer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from cognition_engines.kinds.spec import Kind
from cognition_engines.models import Sensitivity, Viewer
from cognition_engines.store.records import Records
from cognition_engines.store.values import Entry
from tests.kinds import entry

VIEWERS = (
    Viewer(),
    Viewer(Sensitivity.SENSITIVE, frozenset({"p"})),
    Viewer(Sensitivity.HIGHLY_SENSITIVE, frozenset({"p", "q"})),
    Viewer(Sensitivity.HIGHLY_SENSITIVE),
)
PROJECTS = (None, "p", "q")
LEVELS = ("normal", "sensitive", "highly_sensitive")
Name = tuple[Kind, str]


@dataclass
class Follower:
    """A viewer's knowledge of the store from changes alone. Only cursor and dictionary survive a kill."""

    records: Records
    viewer: Viewer
    random: Random
    known: dict[Name, int] = field(default_factory=dict)
    cursor: int = 0
    given: set[int] = field(default_factory=set)
    gone: set[Name] = field(default_factory=set)

    def step(self) -> bool:
        """Read a page of any size; a kill may come before the end. Return whether the page had changes."""
        found = self.records.viewer_changes.after(self.viewer, self.cursor, None, self.random.randint(1, 20))
        for change in found.changes:
            if self.random.random() < 0.05:
                return True  # killed; it keeps everything read so far
            assert change.seq > self.cursor, "in order"
            assert change.seq not in self.given, "nothing twice"
            self.given.add(change.seq)
            self.cursor = change.seq
            name = change.kind, change.id
            if change.gone:
                self.known.pop(name, None)
                self.gone.add(name)
            else:
                self.known[name] = change.seq
        return bool(found.changes)

    def catch_up(self) -> None:
        while self.step():
            pass


def seen(records: Records, viewer: Viewer, names: list[Name]) -> dict[Name, int]:
    """Return the records visible to a viewer, with the `seq` of each."""
    return {(one.kind, str(one.record.id)): one.seq for one in records.reads.find(names, viewer)}


def names(count: int) -> list[Name]:
    return [
        *((Kind.DECISION, f"d-{number}") for number in range(count)),
        *((Kind.ARTIFACT, f"art_a-{number}") for number in range(count)),
        *((Kind.EVENT, f"evt_e-{number}") for number in range(count)),
        *((Kind.TURN, f"art_t-{number}") for number in range(count)),
    ]


def any_entry(random: Random, count: int) -> Entry:
    """Draw a record of any kind with any rights, under one of `count` ids; events belong to artifacts."""
    number = random.randrange(count)
    level, project = random.choice(LEVELS), random.choice(PROJECTS)
    words = f"words {random.random()}"
    rights: dict[str, Any] = {"project": project, "sensitivity": level}
    makers: tuple[Callable[[], Entry], ...] = (
        lambda: entry(
            Kind.DECISION,
            f"d-{number}",
            title="T",
            text=words,
            project=project,
            sensitivity=Sensitivity(LEVELS.index(level)),
        ),
        lambda: entry(Kind.ARTIFACT, f"a-{number}", content=words, **rights),
        lambda: entry(
            Kind.EVENT,
            f"e-{number}",
            category="Decision",
            narrative=words,
            artifact_id=f"a-{random.randrange(count)}",
            **({} if random.random() < 0.6 else {"project": project}),
        ),
        lambda: entry(Kind.TURN, f"t-{number}", content=words, conversation_id="c", turn_index=number, **rights),
    )
    return random.choice(makers)()


def write(records: Records, random: Random, count: int) -> None:
    """Make a transaction: store some records with any rights, or delete a record."""
    if random.random() < 0.2:
        kind, id = random.choice(names(count))
        records.delete(kind, [id], with_parts=random.random() < 0.5)
        return
    batch = {(one.record.__class__, one.record.id): one for one in (any_entry(random, count) for _ in range(4))}
    records.put(list(batch.values()), None)
