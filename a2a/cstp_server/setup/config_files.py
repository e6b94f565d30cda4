"""Configuration files of other programs: read with a bound, compared, and replaced as a whole."""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkstemp
from typing import Final

from cognition_engines.errors import ConfigurationError

LARGEST: Final = 16 * 1024 * 1024  # bytes; Claude Code keeps several MB of state next to the servers
_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A file as read: text, None if missing, and state. `target` is the end of links."""

    path: Path
    target: Path
    text: str | None
    mode: int | None = None
    stamp: tuple[int, int, int] | None = None


def read_config(path: Path, within: Path | None) -> ConfigFile:
    """Read a file of at most 16 MiB. Raise ConfigurationError with the path and the remedy.

    A link is followed; with `within`, the end must be in this folder, since a repository is written by others.
    """
    target = path.resolve()
    if within is not None and not target.is_relative_to(within.resolve()):
        raise ConfigurationError(f"{path}: leads out of {within}; replace the link with a file")
    try:
        descriptor = os.open(target, _OPEN)
    except FileNotFoundError:
        if path.is_symlink():
            raise ConfigurationError(f"{path}: is a link to a file that does not exist; remove it") from None
        return ConfigFile(path, target, None)
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror}); nothing was changed") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ConfigurationError(f"{path}: is not a file; nothing was changed")
    with os.fdopen(descriptor, "rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ConfigurationError(f"{path}: is larger than {LARGEST // 1024 // 1024} MiB; nothing was changed")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise ConfigurationError(f"{path}: is not UTF-8; nothing was changed") from None
    text_or_none = text if text.strip() else None  # as if it was not there
    return ConfigFile(path, target, text_or_none, stat.S_IMODE(status.st_mode), _stamp(status))


def write_config(file: ConfigFile, text: str | None, *, private: bool) -> None:
    """Replace the file with `text`; None removes it.

    A new file is readable by its owner only if `private`. Raise ConfigurationError if the file changed since reading.
    """
    try:
        if text is None:
            _check_unchanged(file)
            file.target.unlink()
            return
        file.target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, draft = mkstemp(prefix=f".{file.target.name}.", dir=file.target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as new:
                os.fchmod(descriptor, file.mode if file.mode is not None else 0o600 if private else 0o644)
                new.write(text)
                new.flush()
                os.fsync(descriptor)
            _check_unchanged(file)
            os.replace(draft, file.target)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise ConfigurationError(f"{file.path}: cannot be written ({error.strerror})") from None


def _check_unchanged(file: ConfigFile) -> None:
    try:
        stamp = _stamp(os.stat(file.target))
    except FileNotFoundError:
        stamp = None
    if stamp != file.stamp:
        raise ConfigurationError(f"{file.path}: was changed by another program just now; run the command again")


def _stamp(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns
