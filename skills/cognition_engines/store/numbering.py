"""The numbers that a transaction which writes gives: `seq` to each change, keys to new records.

`seq` is a time, in microseconds since 1970 in UTC, so that a gap shows how much time went by and not how many changes
there were: some of them may be hidden. A transaction has a block of such times, the first of which is now, and begins
no block before the last one is over. In it the numbers are chosen at random, so that those of the records that a
viewer sees do not depend on how many others were written with them.
"""

from os import urandom
from time import sleep, time_ns
from typing import Final

import sqlalchemy as sa

from cognition_engines.store.schema import counter

BLOCK: Final = 1024  # microseconds
_DRAWN: Final = 512  # of a block, so that a number that is free is found soon
_PATIENCE: Final = 100_000  # microseconds; a clock that was set back by more is not waited for
_STATE: Final = "block"
_CLOCK: Final = sa.cast(sa.extract("epoch", sa.func.clock_timestamp()) * 1_000_000, sa.BigInteger)


class _Block:
    """The times from `start` on that a transaction has, and which of them are chosen."""

    def __init__(self, start: int) -> None:
        self._start: Final = start
        self._drawn: set[int] = set()

    @property
    def left(self) -> int:
        return _DRAWN - len(self._drawn)

    def draw(self) -> int:
        while (place := int.from_bytes(urandom(2)) % BLOCK) in self._drawn:
            pass
        self._drawn.add(place)
        return self._start + place


def begin_numbering(connection: sa.Connection) -> None:
    """Forget the block of the transaction that the connection had before."""
    connection.info.pop(_STATE, None)


def allocate(connection: sa.Connection, count: int) -> list[int]:
    """`count` values of `seq` in any order, all above those of earlier transactions, inside a `writing` transaction."""
    numbers: list[int] = []
    while len(numbers) < count:
        block: _Block | None = connection.info.get(_STATE)
        if block is None or not block.left:
            block = connection.info[_STATE] = _reserved(connection)
        numbers += [block.draw() for _ in range(min(block.left, count - len(numbers)))]
    return numbers


def allocate_keys(connection: sa.Connection, count: int) -> range:
    """The next `count` keys, inside a `writing` transaction. None was ever used before."""
    statement = sa.update(counter).values(key=counter.c.key + count).returning(counter.c.key)
    last: int = connection.execute(statement).scalar_one()
    return range(last - count + 1, last + 1)


def numbered_up_to(connection: sa.Connection) -> int:
    """The last time of the transaction's own block, above all that it changed and below all later changes.

    0 where it has given no number: that of others would show when they wrote.
    """
    if connection.info.get(_STATE) is None:
        return 0
    last: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
    return last


def _reserved(connection: sa.Connection) -> _Block:
    last: int = connection.execute(sa.select(counter.c.seq)).scalar_one()
    while 0 <= last - (now := _now(connection)) < _PATIENCE:
        sleep((last - now + 1) / 1_000_000)
    start = max(last + 1, now)
    connection.execute(sa.update(counter).values(seq=start + BLOCK - 1))
    return _Block(start)


def _now(connection: sa.Connection) -> int:
    """By the clock of the database where that is a server: those of its clients may differ."""
    if connection.dialect.name == "postgresql":
        return int(connection.execute(sa.select(_CLOCK)).scalar_one())
    return time_ns() // 1000
