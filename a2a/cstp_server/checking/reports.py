"""A verdict as text, JSON, workflow annotations, or pull request comment.

Titles are untrusted data: their line breaks and marks never reach a format.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from cognition_engines.escapes import one_line
from cstp.values.fields import format_instant
from cstp_server.checking.git_files import DECISION
from cstp_server.checking.verdicts import Governed, StatedPatterns, Verdict

Format: TypeAlias = Literal["text", "json", "github", "markdown"]
_MOST_ANNOTATIONS: Final = 50  # shown by a workflow step, and by a pull request comment
_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]<>()#+!|~@&-])")
_REMEDY: Final = "name it in a commit of the range, as in `Decision: {id}`, or change its own file"


def report_lines(verdict: Verdict, form: Format, *, required: bool) -> Iterator[str]:
    """Yield a verdict's lines in a format other than JSON; with `required`, name unacknowledged decisions."""
    if form == "github":
        yield from _format_annotations(verdict, required=required)
    elif form == "markdown":
        yield from _format_comment(verdict, required=required)
    else:
        yield from _format_text(verdict, required=required)


def report_members(verdict: Verdict, *, required: bool) -> dict[str, Any]:
    """Return a verdict's JSON members."""
    return {
        "checked": verdict.checked,
        "governing": [_describe_governed(one) | {"acknowledged": one.acknowledged} for one in verdict.governing],
        "proposals": [_describe_governed(one) for one in verdict.proposals],
        "required": required,
        "missing": [one.id for one in verdict.missing] if required else [],
        "unmatched": [*verdict.unmatched],
    }


def remark_lines(verdict: Verdict) -> Iterator[str]:
    """Yield a remark for each acknowledgement without a decision."""
    for name in verdict.unmatched:
        yield f"cstp check: `{DECISION}: {one_line(name)}` names none of the decisions that govern these files"


def stale_members(found: Sequence[StatedPatterns]) -> dict[str, Any]:
    """Return JSON members for patterns without a file."""
    return {"stale": [{"id": one.id, "title": one.title, "patterns": [*one.patterns]} for one in found]}


def stale_line(one: StatedPatterns) -> str:
    """Return the line for a decision with stale patterns."""
    return f"{one.id}  {one_line(one.title)}: no tracked file matches {', '.join(map(one_line, one.patterns))}"


def _describe_governed(one: Governed) -> dict[str, Any]:
    day = None if one.date is None else format_instant(one.date)
    own = {"id": one.id, "number": one.number, "title": one.title, "status": one.status, "date": day}
    return own | {"matched": [*one.matched], "files": [*one.files], "path": one.path}


def _format_text(verdict: Verdict, *, required: bool) -> Iterator[str]:
    for label, group in (("in force", verdict.governing), ("proposed", verdict.proposals)):
        for one in group:
            yield f"{one.id}  {_day(one)}  {label}  {_name(one)}"
            yield from (f"    {one_line(file)}" for file in one.files)
    if required:
        yield from (f"not acknowledged: {one.id}; {_REMEDY.format(id=one.id)}" for one in verdict.missing)


def _format_annotations(verdict: Verdict, *, required: bool) -> Iterator[str]:
    """Yield workflow commands; see docs.github.com/actions/reference/workflows-and-actions/workflow-commands."""
    missing = {one.id for one in verdict.missing} if required else set()
    left = _MOST_ANNOTATIONS
    for label, group in (("Decision", verdict.governing), ("Proposed decision", verdict.proposals)):
        for one in group:
            id, title = one.id, _name(one)
            level = "error" if id in missing else "notice"
            remedy = f" Not acknowledged: {_REMEDY.format(id=id)}." if id in missing else ""
            for file in one.files[:left]:
                yield f"::{level} file={_property(file)},title={_property(f'{label} {id}')}::{_data(title + remedy)}"
            left -= len(one.files[:left])


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _format_comment(verdict: Verdict, *, required: bool) -> Iterator[str]:
    if not verdict.governing and not verdict.proposals:
        yield f"No decision governs the {verdict.checked} changed files."
        return
    yield "**Decisions that govern the changed files**"
    yield ""
    yield "| Decision | Status | Files |" + (" Acknowledged |" if required else "")
    yield "| --- | --- | --- |" + (" --- |" if required else "")
    for one in (*verdict.governing, *verdict.proposals):
        files = ", ".join(map(_escaped, one.files[:_MOST_ANNOTATIONS]))
        more = f" and {len(one.files) - _MOST_ANNOTATIONS} more" if len(one.files) > _MOST_ANNOTATIONS else ""
        cells = [f"{_escaped(_name(one))} ({_escaped(one.id)}, {_day(one)})"]
        cells += [_escaped(one.status or "none"), f"{files}{more}"]
        cells += [_describe_acknowledgement(one, verdict)] if required else []
        yield f"| {' | '.join(cells)} |"
    if required and verdict.missing:
        yield ""
        yield f"To acknowledge one, {_REMEDY.format(id='ID')}."


def _describe_acknowledgement(one: Governed, verdict: Verdict) -> str:
    if one not in verdict.governing:
        return "not needed"
    return "yes" if one.acknowledged else "**no**"


def _escaped(text: str) -> str:
    """Return a one-line text for literal display in Markdown, without links, mentions and HTML."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _name(one: Governed) -> str:
    """Return a decision's number, title and path in a line."""
    number, path = "" if one.number is None else f"{one.number} ", "" if one.path is None else f" ({one.path})"
    return one_line(f"{number}{one.title}{path}")


def _day(one: Governed) -> str:
    return "no date" if one.date is None else f"{one.date:%Y-%m-%d}"
