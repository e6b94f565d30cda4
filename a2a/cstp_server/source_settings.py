"""Settings of a followed source, and the base class of settings groups."""

from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from cognition_engines.errors import ConfigurationError
from cognition_engines.ingest.collections.addresses import FORMS, is_address, parsed_address
from cognition_engines.ingest.text_kinds import TextKind
from cognition_engines.kinds.fields import a_line, is_line
from cognition_engines.path_patterns import parse_patterns

T = TypeVar("T")


class Section(BaseModel):
    """A settings group; an unknown name in it is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class SourceSettings(Section):
    """A followed collection, folder or file. The names equal the options of `cstp ingest`."""

    path: Path | None = None
    url: str | None = Field(None, validate_default=True)
    prune: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    kind: TextKind | None = None
    bots: bool = False
    system_messages: bool = False
    day_first: bool | None = None
    map: str | None = None
    project: str | None = None
    sensitivity: Literal["normal", "sensitive", "highly_sensitive"] | None = None
    repository: str | None = None

    @field_validator("path")
    @classmethod
    def _is_absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.absolute()

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str | None, info: ValidationInfo) -> str | None:
        has_path = info.data.get("path") is not None
        if value is None:
            if not has_path:
                raise ValueError("must be given if there is no path")
            return None
        if has_path:
            raise ValueError("must not be given together with path")
        if not is_address(value):
            raise ValueError(f"must read like {FORMS}")
        try:
            return parsed_address(value)
        except ConfigurationError as error:
            raise ValueError(str(error)) from None

    @field_validator("prune", "include", "exclude", "kind", "bots", "system_messages", "day_first")
    @classmethod
    def _is_of_a_path(cls, value: T, info: ValidationInfo) -> T:
        if value not in (None, False, ()) and info.data.get("url") is not None:
            raise ValueError("must not be given together with url: a collection is always followed completely")
        if isinstance(value, tuple):
            parse_patterns(value)
        return value

    @property
    def address(self) -> str:
        """Return the url, or the absolute path."""
        return self.url or str(self.path)

    @field_validator("project", "repository")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not is_line(value, 200):
            raise ValueError(f"must be {a_line(200)}")
        return value
