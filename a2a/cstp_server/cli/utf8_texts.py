"""Check of command line texts: UTF-8 for every command; file names may be any bytes."""

from collections.abc import Iterable
from functools import wraps
from typing import Any, Final

import typer

# metavars of parameters naming local things: files, folders, revisions
_OF_MACHINE: Final = frozenset(
    {"FILE", "FILE|NAME", "FILE|ADDRESS", "FOLDER", "DIR", "PATH", "OLD", "NEW", "PATTERN", "REF"}
)


def require_utf8(texts: Iterable[str], name: str) -> None:
    """Raise BadParameter for a text with invalid UTF-8, read by Python as lone surrogates."""
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError as error:
            reason = f"must be UTF-8; byte 0x{ord(text[error.start]) & 0xFF:02x} after {error.start} characters is not"
            raise typer.BadParameter(reason, param_hint=name) from None


def check_texts(command: Any) -> None:
    """Let a command, and each command of a family, refuse invalid UTF-8 before it does anything.

    The command class is private to typer.
    """
    for each in (command, *getattr(command, "commands", {}).values()):
        each.callback = _checked(each)


def _checked(command: Any) -> Any:
    callback = command.callback

    @wraps(callback)
    def run(**given: Any) -> Any:
        for parameter in command.params:
            value = given.get(parameter.name)
            texts = [one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)]
            if parameter.metavar not in _OF_MACHINE:
                require_utf8(texts, parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar)
        return callback(**given)

    return run
