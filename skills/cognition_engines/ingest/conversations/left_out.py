"""What an export has and a run does not read, counted for one warning."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from cognition_engines.ingest.items import Item, Warned
from cognition_engines.ingest.options import Texts
from cognition_engines.models import Problem

BOTS: Final = "bots"
SYSTEM: Final = "system"
BLANK: Final = "blank"
BRANCH: Final = "branch"
REPEATED: Final = "repeated"
_REASONS: Final[Mapping[str, tuple[str, str]]] = {  # one, several
    BOTS: ("message of a bot is left out; --bots reads it", "messages of bots are left out; --bots reads them"),
    SYSTEM: (
        "message of the system or of a tool is left out; --system-messages reads it",
        "messages of the system or of tools are left out; --system-messages reads them",
    ),
    BLANK: ("message without words is left out", "messages without words are left out"),
    BRANCH: (
        "message is left out that an edited or repeated one replaced",
        "messages are left out that edited or repeated ones replaced",
    ),
    REPEATED: (
        "message is left out that repeats the beginning of its session",
        "messages are left out that repeat the beginning of their session",
    ),
}


@dataclass(slots=True)
class LeftOut:
    """Counts by reason what a file has and a run does not read. `broken` are lists of an export that cannot be read."""

    texts: Texts
    counts: Counter[str] = field(default_factory=Counter)
    broken: set[str] = field(default_factory=set)

    def skips(self, *, bot: bool = False, system: bool = False, blank: bool = False) -> bool:
        """Whether such a message is left out, which is noted."""
        reason = next(
            (
                name
                for name, found in (
                    (BOTS, bot and not self.texts.bots),
                    (SYSTEM, system and not self.texts.system_messages),
                    (BLANK, blank),
                )
                if found
            ),
            None,
        )
        if reason is not None:
            self.counts[reason] += 1
        return reason is not None

    def warnings(self, path: str) -> Iterator[Item]:
        for reason, count in sorted((+self.counts).items()):
            yield Warned(Problem(path, None, f"{count} {_REASONS[reason][count > 1]}"))
        for name in sorted(self.broken):
            meaning = "unlisted users are called by their ids, and unlisted channels are sensitive"
            yield Warned(Problem(path, None, f"{name} of the export is empty or broken: {meaning}"))
