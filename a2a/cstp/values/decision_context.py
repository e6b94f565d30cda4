"""Values of `cstp.getDecisionContext`: decisions governing files."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from cstp.values.base import DecisionId, DecisionIds, Wire
from cstp.values.decisions import DateSource
from cstp.values.fields import WHOLE, FilePath, InstantOut, Label, RepositoryName, each_once
from cstp.values.reads import Present, ReadParams


class GetDecisionContextParams(ReadParams):
    """Files to change, from their repository root, and names of packages, interfaces and data."""

    files: Annotated[
        list[FilePath],
        Field(
            min_length=1,
            max_length=256,
            description="With `/` between names, no `.` or `..`; absolute only below a `repository` that is a folder.",
        ),
    ]
    repository: RepositoryName | None = Field(
        default=None,
        description="As ingest names it, such as `github.com/acme/shop`: leaves out decisions in files of others.",
    )
    project: Label | None = None
    packages: Annotated[list[Label], Field(max_length=256)] | None = Field(
        default=None, description="Exact names in `affects` of types package, api and data."
    )
    max_tokens: Annotated[int, Field(ge=256, le=32_000), WHOLE] = Field(
        default=4000,
        description="Length in tokens of three bytes: decisions that do not fit are left out.",
    )
    include: Annotated[list[Literal["snippet", "files"]], Field(max_length=2), AfterValidator(each_once)] | None = (
        Field(
            default=None,
            description="What each decision has in addition. `snippet`: its summary, at most 600 characters. "
            "`files`: those of the files that it governs.",
        )
    )

    @model_validator(mode="before")
    @classmethod
    def make_relative(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Return the parameters with absolute paths from the root of a repository that its folder names."""
        root, files = given.get("repository"), given.get("files")
        if isinstance(root, str) and root.startswith("/") and isinstance(files, list):
            inside = [one.removeprefix(f"{root}/") if isinstance(one, str) else one for one in files]
            return {**given, "files": inside}
        return given


class GoverningRecord(Wire):
    """A decision; `matched` are the matching patterns and names, the most specific first.

    `path` is the decision's file, from the root of its repository. `supersededBy` are the successors' ids if the
    decision is no longer in force. `snippet` and `files` are present if requested; a snippet, the first sentences of
    the decision section, is omitted if there is no room or the text cannot be read.
    """

    id: DecisionId
    title: str
    status: str | None
    date: InstantOut | None
    date_source: DateSource | None
    path: Present[str] = None
    matched: list[str]
    files: Present[list[str]] = None
    snippet: Present[str] = None
    superseded_by: DecisionIds


class GetDecisionContextResult(Wire):
    """The matching decisions, the most specific pattern first, then the newest.

    `governing` are in force, `proposals` have the status draft, proposed or pending, `history` are superseded,
    rejected, deprecated or no longer valid. `mentions` are candidates: no pattern matches, but the text names a file by
    path or path suffix; `matched` are these names. `tokens` is the answer's length, `omitted` the number of decisions
    without room.
    """

    governing: list[GoverningRecord]
    proposals: list[GoverningRecord]
    history: list[GoverningRecord]
    mentions: list[GoverningRecord]
    tokens: int
    omitted: int
