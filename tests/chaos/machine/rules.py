"""State machine rules by family. A new family of writes is a class in RULES."""

from tests.chaos.machine.base import Base
from tests.chaos.machine.following import Following
from tests.chaos.machine.forgetting import Forgetting
from tests.chaos.machine.ingesting import Ingesting
from tests.chaos.machine.linking import Linking, Reviewing
from tests.chaos.machine.reading import Reading
from tests.chaos.machine.recalling import Recalling
from tests.chaos.machine.recording import Amending, Recording
from tests.chaos.machine.remembering import Learning, Remembering

# Families of writes; any other kind of write joins here.
RULES: tuple[type[Base], ...] = (
    Recording,
    Amending,
    Reviewing,
    Linking,
    Ingesting,
    Remembering,
    Learning,
    Forgetting,
    Following,
    Reading,
    Recalling,
)
