"""A trial of what `cstp setup` wrote: the server and a hook are started as the program starts them."""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Timer
from typing import Final

from cognition_engines.errors import EngineError
from cognition_engines.escapes import one_line
from cstp_server.setup.hook_entries import SECONDS, HookEntry

_SERVER_SECONDS: Final = 60.0  # until it is stopped
_LONGEST: Final = 500  # characters of a reason
_CLIENT: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "setup", "version": "1"}}
_REQUESTS: Final = b"".join(
    json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n"
    for one in (
        {"id": 1, "method": "initialize", "params": _CLIENT},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    )
)


@contextmanager
def started_server(words: Sequence[str], folder: Path) -> Iterator[None]:
    """Start a server in a folder until the end of the body, once it has listed its tools. Raise EngineError."""
    with (
        TemporaryFile() as errors,
        subprocess.Popen(
            words, bufsize=0, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        stop = Timer(_SERVER_SECONDS, server.kill)
        stop.start()
        try:
            with suppress(BrokenPipeError):
                server.stdin.write(_REQUESTS)
            if not any(b'"tools":[' in line for line in server.stdout):
                errors.seek(0)
                raise EngineError(f"the server does not list its tools: {_last_line(errors.read()) or 'no answer'}")
            yield
        finally:
            server.stdin.close()  # which ends it
            server.wait()
            stop.cancel()


def try_hook(hook: HookEntry, folder: Path) -> None:
    """Run a hook in a folder, as at the start of a session. Raise EngineError with the reason."""
    given = {"session_id": "setup", "hook_event_name": hook.event, "source": "startup", "cwd": str(folder)}
    command = ["sh", "-c", hook.command]
    try:
        done = subprocess.run(
            command, cwd=folder, input=json.dumps(given).encode(), capture_output=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise EngineError(f"the hook {hook.ours} does not end within {SECONDS} seconds") from None
    if done.returncode or done.stderr.strip():
        reason = _last_line(done.stderr) or f"it ends with exit code {done.returncode}"
        raise EngineError(f"the hook {hook.ours} fails: {reason}")


def _last_line(content: bytes) -> str:
    lines = content.decode(errors="replace").strip().splitlines()
    return one_line(lines[-1])[:_LONGEST] if lines else ""
