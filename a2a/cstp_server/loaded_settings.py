"""Sources of settings: flags, environment variables, a settings file, defaults.

The first source with a value wins: flags, `CSTP_*` environment variables (`__` between section and name), the file
given with --config, else the file named in CSTP_CONFIG, else the file shipped with the server. A file in the working
folder is used only when named.
"""

import json
import os
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, cast

import yaml
from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from cognition_engines.errors import ConfigurationError
from cstp_server.data_folder import find_data_folder
from cstp_server.settings import Settings

CONFIG_VARIABLE: Final = "CSTP_CONFIG"
_OTHERS: Final = frozenset({CONFIG_VARIABLE, "CSTP_TOKEN", "CSTP_URL"})  # which name no setting
Layer = Mapping[str, Any]
_VARIABLE: Final = "environment "  # before a variable's name, among origins


def variable_of(setting: str) -> str:
    """Return the variable for a setting: CSTP_SERVER__PORT for server.port."""
    return "CSTP_" + setting.upper().replace(".", "__")


def check_names(environment: Mapping[str, str], settings: Iterable[str]) -> None:
    """Raise ConfigurationError naming each unknown variable.

    Empty variables count as absent.
    """
    known = {variable_of(name) for name in settings}
    unknown = [
        f"{given}: no such setting{_nearest_name(given, known)}"
        for given, value in sorted(environment.items())
        if given.upper().startswith("CSTP_") and value and not _is_known(given.upper(), known)
    ]
    if unknown:
        raise ConfigurationError(*unknown)


def _is_known(variable: str, known: Set[str]) -> bool:
    """Return whether a variable is known; mapping settings take names after a second `__`."""
    return variable in _OTHERS or any(variable == one or variable.startswith(f"{one}__") for one in known)


def _nearest_name(variable: str, known: Set[str]) -> str:
    """Return a hint at the variable with the same letters and other underscores, else at the nearest name."""
    spelled = {_letters(name): name for name in sorted(known | _OTHERS)}
    near = get_close_matches(_letters(variable), spelled, 1, cutoff=0.75)
    return f"; did you mean {spelled[near[0]]}?" if near else "; see cstp config for the names, or unset it"


def _letters(variable: str) -> str:
    return variable.upper().removeprefix("CSTP_").replace("_", "")


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The settings in force, the origin of each value by dotted name, and the file among these origins."""

    settings: Settings
    origins: Mapping[str, str]
    file: Path

    @property
    def sources(self) -> tuple[str, ...]:
        """Return the sources in use: a file, by path, and environment variables, by name. Empty for none.

        The shipped file is named only if edited: otherwise it states the defaults.
        """
        named = {origin.removeprefix(_VARIABLE) for origin in self.origins.values() if origin.startswith(_VARIABLE)}
        usual = _leaves(Settings().model_dump())
        own = {name: value for name, value in _leaves(self.settings.model_dump()).items() if value != usual[name]}
        edited = any(self.origins.get(name) == str(self.file) for name in own)
        shown = edited or self.file != shipped_file()
        return (*((str(self.file.absolute()),) if shown else ()), *sorted(named))

    @property
    def named_sources(self) -> str:
        """Return the sources in a line; "defaults" for none."""
        return ", ".join(self.sources) or "defaults"

    def origin_of(self, name: str) -> str:
        """Return a setting's source: a name in `sources`, "flag" or "default"."""
        origin = self.origins[name].removeprefix(_VARIABLE)
        if origin != str(self.file):
            return origin
        usual, found = (_leaves(one.model_dump())[name] for one in (Settings(), self.settings))
        # the shipped file states the defaults
        return "default" if self.file == shipped_file() and found == usual else str(self.file.absolute())


def shipped_file() -> Path:
    """Return the settings file shipped with the server: in the wheel, or in an editable install's checkout."""
    packaged = Path(str(files("cstp_server"))) / "config" / "server.yaml"
    return packaged if packaged.is_file() else Path(__file__).parents[2] / "config" / "server.yaml"


def settings_file(config: Path | None) -> Path:
    """Return the settings file: the given file, the file in CSTP_CONFIG, or the shipped file.

    Raise ConfigurationError if it does not exist.
    """
    named = os.environ.get(CONFIG_VARIABLE) or None
    chosen = config or (named and Path(named))
    if chosen is None:
        return shipped_file()
    if not chosen.is_file():
        place = "" if config else f"{CONFIG_VARIABLE}: "
        raise ConfigurationError(f"{place}{chosen}: no such settings file")
    return chosen


def _read_file(path: Path) -> Layer:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigurationError(f"{path}:{line}: is not valid YAML from here") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path}: cannot be read as YAML ({type(error).__name__})") from error
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ConfigurationError(f"{path}: must have sections such as `server:`, not a {type(content).__name__}")
    return content


_SECTIONS: Final = frozenset(name for name in Settings.model_fields if name not in ("data_dir", "sources"))


def _leaves(layer: Layer) -> dict[str, object]:
    """Map dotted names to values; a section without entries, as when all are commented out, gives none."""
    found: dict[str, object] = {}
    for section, value in layer.items():
        if section in _SECTIONS and isinstance(value, Mapping):
            found |= {f"{section}.{name}": inner for name, inner in value.items()}
        elif section not in _SECTIONS or value is not None:
            found[str(section)] = value
    return found


def _nest(leaves: Mapping[str, object]) -> dict[str, object]:
    tree: dict[str, Any] = {name: value for name, value in leaves.items() if "." not in name}
    for name, value in leaves.items():
        section, _, key = name.partition(".")
        # a section other than a mapping stays, so validation refuses it
        if key and isinstance(inner := tree.setdefault(section, {}), dict):
            inner[key] = value
    return tree


def _environment_leaves() -> dict[str, object]:
    """Return the values from CSTP_* variables. Raise ConfigurationError for unknown names and invalid JSON."""
    check_names(os.environ, (*_leaves(Settings().model_dump()), *_SECTIONS))
    try:
        # the source needs only the field names and types of BaseSettings
        source = EnvSettingsSource(
            cast(type[BaseSettings], Settings), env_prefix="CSTP_", env_nested_delimiter="__", env_ignore_empty=True
        )
        return _leaves(source())
    except SettingsError:
        raise ConfigurationError(f"{_not_json()}: must be JSON, such as {{}} or []") from None


def _not_json() -> str:
    """Return the variables whose settings are lists or mappings and whose values are not JSON."""
    wanted = {name for name, value in _leaves(Settings().model_dump()).items() if isinstance(value, dict | tuple)}
    names = []
    for variable, value in os.environ.items():
        if variable.upper().removeprefix("CSTP_").lower().replace("__", ".") in wanted:
            try:
                json.loads(value)
            except ValueError:
                names.append(variable)
    return ", ".join(names) or "CSTP_* environment"


def load_settings(flags: Mapping[str, object], config: Path | None = None, start: Path | None = None) -> LoadedSettings:
    """Merge the layers. `flags` has dotted names (`server.port`); None counts as absent.

    A data folder that no layer names is found from the folder `start`, by default the working folder. Raise
    ConfigurationError naming each wrong setting and the place it came from.
    """
    path = settings_file(config)
    leaves: dict[str, object] = {}
    origins: dict[str, str] = dict.fromkeys(_leaves(Settings().model_dump()), "default")
    environment = _environment_leaves()
    given = {name: value for name, value in flags.items() if value is not None}
    for layer, origin in ((_leaves(_read_file(path)), str(path)), (environment, "environment"), (given, "flag")):
        leaves |= layer
        for name in layer:
            origins[name] = _VARIABLE + variable_of(name) if origin == "environment" else origin
    try:
        loaded = LoadedSettings(Settings.model_validate(_nest(leaves)), origins, path)
        return _with_data_folder(loaded, start) if loaded.origin_of("data_dir") == "default" else loaded
    except ValidationError as error:
        lines = []
        for details in error.errors(include_url=False, include_input=False):
            name = ".".join(str(step) for step in details["loc"])
            setting = ".".join(str(step) for step in details["loc"][:2])
            reason = (
                "no such setting"
                if details["type"] == "extra_forbidden"
                else details["msg"].removeprefix("Value error, ")
            )
            lines.append(f"{name}: {reason} (from {origins.get(setting, path)})")
        raise ConfigurationError(*lines) from None


def _with_data_folder(loaded: LoadedSettings, start: Path | None) -> LoadedSettings:
    """Return the settings with the data folder found from `start`; outside of a checkout it stays as it is."""
    try:
        folder = find_data_folder(str(start or Path.cwd()), os.environ)
    except OSError as error:
        raise ConfigurationError(f"{error.filename or 'the working folder'}: {error.strerror}") from error
    if folder is None:
        return loaded
    settings = loaded.settings.model_copy(update={"data_dir": Path(folder)})
    return replace(loaded, settings=settings, origins={**loaded.origins, "data_dir": "default"})
