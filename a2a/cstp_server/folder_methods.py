"""Calls on a data folder in this process, with rights independent of the folder's tokens."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

from cstp.call import Call as Sent
from cstp.client.messages import HttpAnswer, read_answer, request_body
from cstp.client.methods import Methods
from cstp.values.fields import format_instant
from cstp_server.app import State, create_app
from cstp_server.holder.taking import take_folder
from cstp_server.open_engine import open_engine
from cstp_server.rpc.bound import Call, new_request_id
from cstp_server.rpc.dispatch import Dispatcher
from cstp_server.settings import Settings
from cstp_server.tokens import Token

R = TypeVar("R")
_NO_LIMIT: Final = "1000000000/second"
_PATIENCE: Final = 120.0  # seconds


@contextmanager
def folder_methods(settings: Settings, token: Token) -> Iterator[Methods]:
    """Yield the methods over the settings' store, with the rights of `token` and without limits.

    Raise ConfigurationError, FolderInUse or ComponentFailed when it cannot be opened.
    """
    patient = _for_one_caller(settings)
    lock = take_folder(settings.indexes_path, settings.server.grace_seconds)
    app = create_app(patient, engine=open_engine(patient, lock=lock))
    with asyncio.Runner() as runner:
        opened: asyncio.Future[State] = runner.get_loop().create_future()
        closing = asyncio.Event()

        async def keep() -> None:
            """Open and close in the same task, since some parts are bound to it."""
            async with app.router.lifespan_context(app) as state:
                opened.set_result(state)  # type: ignore[arg-type]
                await closing.wait()

        async def start() -> State:
            await asyncio.wait((opened, keeping), return_when=asyncio.FIRST_COMPLETED)
            if keeping.done():
                keeping.result()
            return opened.result()

        async def stop() -> None:
            closing.set()
            await keeping

        keeping = runner.get_loop().create_task(keep())
        state = runner.run(start())
        try:
            yield _FolderMethods(runner, state["parts"].dispatcher, token)
        finally:
            runner.run(stop())


def _for_one_caller(settings: Settings) -> Settings:
    """Return the settings without limits, and with deadlines only for hanging parts, since no other caller waits.

    Reads return stored records only: following collections is left to servers.
    """
    unlimited: dict[str, object] = {"default": _NO_LIMIT, "writes": _NO_LIMIT, "agents": {}, "redis_url": None}
    patient = {name: {"deadline_seconds": _PATIENCE} for name in ("store", "vectors", "embedding")}
    changed = {"limits": unlimited, "server": {"handler_seconds": _PATIENCE}, **patient}
    groups = {name: getattr(settings, name).model_copy(update=values) for name, values in changed.items()}
    return settings.model_copy(update={**groups, "sources": ()})


def reading_token(agent: str, clearance: str, projects: Sequence[str] | None) -> Token:
    """Return a read token for calls in this process, stored nowhere. `projects` None is no restriction."""
    now = datetime.now(UTC)
    return Token(
        id="process",
        agent=agent,
        digest="0" * 64,
        scopes=("read",),
        clearance=clearance,
        projects=None if projects is None else tuple(projects),
        created=format_instant(now),
        expires=format_instant(now + timedelta(days=1)),
    )


class _FolderMethods(Methods):
    """Methods sending calls to a dispatcher, sequentially."""

    def __init__(self, runner: asyncio.Runner, dispatcher: Dispatcher, token: Token) -> None:
        self._runner = runner
        self._dispatcher = dispatcher
        self._token = token

    def send(self, call: Sent[R]) -> R:
        """Return the result of a call within the settings' deadlines. Raise CstpError."""
        context = Call(self._token, new_request_id())
        answer = self._runner.run(self._dispatcher.handle(request_body(call), context))
        return read_answer(HttpAnswer(200, None, answer.body or b""), call)
