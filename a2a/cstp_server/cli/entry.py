"""The `cstp` command. The base install has only the client; this module reports how to install the rest."""

import gc
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType, TracebackType
from typing import NoReturn

SERVER_PACKAGES = (
    *("typer", "rich", "yaml", "pydantic_settings", "sqlalchemy", "starlette", "structlog", "orjson", "numpy"),
    *("mcp", "uvicorn"),
)
UNTIL_STOPPED = ("serve", "demo")  # commands whose usual end is a signal
OF_HOOKS = "hook"  # an agent waits for this command at each edit, so it imports no command line
OVER_PIPES = "mcp"  # checks its standard files itself
BEST_EFFORT = "--best-effort"  # of `check` in a hook: its own failure stops no commit
VALUED = ("--data-dir", "--config")  # options with a value before a command's name
COLLECT_AFTER = 10_000  # objects; with 700, Python's default, collections take a sixth of the import time


def main() -> None:
    """Run the command line; exit with 2 if the server's packages are not installed."""
    gc.set_threshold(COLLECT_AFTER, 20, 20)
    _replace_closed(sys.argv[1:])
    if _command(sys.argv[1:]) in UNTIL_STOPPED:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, _end)
    if sys.argv[1:2] == [OF_HOOKS] and not {"--help", "-h"} & set(sys.argv):
        _leave(import_module("cstp_server.hook.run").answer_hook(sys.argv[2:]))
    try:
        # not above: it is slow, and signals must be handled before
        command_line = import_module("cstp_server.cli.main")
    except ModuleNotFoundError as error:
        sys.exit(_explain(error))
    except KeyboardInterrupt:
        sys.stderr.write("cstp: stopped\n")
        sys.exit(130)
    sys.excepthook = _fail
    try:
        code = command_line.run(sys.argv[1:])
    except SystemExit as stop:
        code = _code_of(stop)
    except RuntimeError as error:  # as Python 3.11 wraps an exception raised while a class names its members
        if not isinstance(error.__cause__, SystemExit):
            raise
        code = _code_of(error.__cause__)
    except ModuleNotFoundError as error:  # of the module of a command
        code = _explain(error)
    _leave(code)


def _code_of(stop: SystemExit) -> int:
    return stop.code if isinstance(stop.code, int) else int(stop.code is not None)


def _explain(error: ModuleNotFoundError) -> int:
    """Report how to install a package missing for the server; return the exit code. Raise any other `error`."""
    if error.name is None or error.name.partition(".")[0] not in SERVER_PACKAGES:
        raise error
    sys.stderr.write(
        "cstp: this is the client install, for use from Python (`import cstp`), or to ask a server.\n"
        "In a clone of the project, the commands search, call, record, review, remember, forget and changes, which\n"
        'ask a server, come with: pip install ".[ask]"\n'
        'All others, and the server, come with: pip install ".[server]"\n'
    )
    return 0 if _lets_pass() else 2


def _command(words: Sequence[str]) -> str | None:
    """Return the command's name: the first word that is neither an option nor an option's value."""
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            next(rest, None)
        elif not word.startswith("-"):
            return word
    return None


def _replace_closed(words: Sequence[str]) -> None:
    """Replace closed standard files, so no socket gets their number and thereby the output.

    Reading and printing fail, as with closed files; text for standard error is dropped.
    """
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    while (file := os.open(os.devnull, os.O_RDONLY)) <= 2:
        pass
    os.close(file)
    if _command(words) != OVER_PIPES:
        sys.stdin = sys.stdin or open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8")  # noqa: SIM115
        sys.stdout = sys.stdout or open(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _fail(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Exit after an unexpected exception."""
    with suppress(OSError):
        import_module("cstp_server.terminal").say_error(kind, error, trace)  # whose own imports the base may lack
    _leave(130 if issubclass(kind, KeyboardInterrupt) else int(not _lets_pass()))


def _lets_pass() -> bool:
    """Return whether a failure of the program is to stop nothing."""
    return _command(sys.argv[1:]) == "check" and BEST_EFFORT in sys.argv


def _leave(code: int) -> NoReturn:
    """End the process at once: the interpreter's shutdown would remove a model in use by threads, and abort."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # a stream may be closed, or without a reader
            stream.flush()
    os._exit(code)


def _end(_number: int, _frame: FrameType | None) -> None:
    """End at once, before anything is open or after everything is closed, as a requested stop."""
    os._exit(0)
