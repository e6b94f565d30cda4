"""The names of environment variables that begin with CSTP_: those of settings, and a few others."""

from collections.abc import Iterable, Mapping, Set
from difflib import get_close_matches
from typing import Final

from cognition_engines.errors import ConfigurationError

CONFIG_VARIABLE: Final = "CSTP_CONFIG"
_OTHERS: Final = frozenset({CONFIG_VARIABLE, "CSTP_TOKEN", "CSTP_URL"})  # which name no setting


def variable_of(setting: str) -> str:
    """Return the variable of a setting: CSTP_SERVER__PORT for server.port."""
    return "CSTP_" + setting.upper().replace(".", "__")


def check_names(environment: Mapping[str, str], settings: Iterable[str]) -> None:
    """Raise ConfigurationError that names each unknown variable.

    Empty variables count as absent.
    """
    known = {variable_of(name) for name in settings}
    unknown = [
        f"{given}: no such setting{_meant(given, known)}"
        for given, value in sorted(environment.items())
        if given.upper().startswith("CSTP_") and value and not _is_known(given.upper(), known)
    ]
    if unknown:
        raise ConfigurationError(*unknown)


def _is_known(variable: str, known: Set[str]) -> bool:
    """Settings that are mappings take names of their own after one more `__`."""
    return variable in _OTHERS or any(variable == one or variable.startswith(f"{one}__") for one in known)


def _meant(variable: str, known: Set[str]) -> str:
    """What may have been meant: the same letters with other underscores, else the nearest name."""
    spelled = {_letters(name): name for name in sorted(known | _OTHERS)}
    near = get_close_matches(_letters(variable), spelled, 1, cutoff=0.75)
    return f"; did you mean {spelled[near[0]]}?" if near else "; see cstp config for the names, or unset it"


def _letters(variable: str) -> str:
    return variable.upper().removeprefix("CSTP_").replace("_", "")
