"""How far the indexes of the other workers have followed the records."""

from cstp_server.workers.membership import Membership


class OtherIndexes:
    """What the engine of a worker knows of the others; see `cognition_engines.indexes.published.OtherWorkers`."""

    def __init__(self, member: Membership) -> None:
        self._member = member

    def note(self, seq: int) -> None:
        """Note that searches of this worker show every change up to `seq`."""
        self._member.common.shown.note(self._member.number, seq)

    def hurry(self) -> None:
        """Make the other workers look for changes at once."""
        for number in self._member.others:
            self._member.common.wakers[number - 1].wake()

    def shown(self) -> int:
        """Return the last change that searches of every worker show."""
        return self._member.common.shown.lowest()
