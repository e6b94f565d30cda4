"""The members of a Markdown file's front matter. Each is read separately, for front matter often is not quite YAML."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from cognition_engines.drafts.plain_values import MalformedText, RefusedValue, Value, labels, safe_name
from cognition_engines.ingest.parse.yaml_values import parse_yaml
from cognition_engines.markdown.front_block import Member, Notice, may_hold_next
from cognition_engines.markdown.inline import one_line

_COMMENT: Final = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)
_LENIENT: Final = frozenset({"title", "status", "stage", "state", "date"})  # read even if they are not valid YAML
_LABELS: Final = frozenset({"tags", "tag", "keywords", "aliases", "alias"})  # whose numbers and booleans are text
_HASHED: Final = re.compile(r"#[^\s#]+(?:\s+#[^\s#]+)*")  # to YAML a comment, to those who write notes their tags
_OPENING: Final = ("'", '"', "[", "{")
_BETWEEN_WORDS: Final = str.maketrans("", "", " _-")
_EMPTY: Final = frozenset({"", "[]", "{}", "~", "null"})


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """Members by their name in lower case without blanks, `-` and `_`. A file with a flaw is rejected."""

    members: Mapping[str, Member]
    values: Mapping[str, Value]
    ignored: tuple[Member, ...]  # ignored members, which stay in the text
    notices: tuple[Notice, ...]
    flaw: Notice | None = None

    def has(self, name: str) -> bool:
        return name in self.members

    def line(self, name: str) -> int:
        """Return the 1-based line of a member, 1 when there is none."""
        return self.members[name].line if name in self.members else 1

    def value(self, name: str) -> Value:
        """Return the member's value as YAML, None when absent."""
        return self.values.get(name)

    def text(self, name: str) -> str:
        """Return the member as a single line of text, whatever its type; empty if absent or empty."""
        if name not in self.members:
            return ""
        value = self.values[name]
        return one_line(value) if isinstance(value, str) else _source_text(self.members[name])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the member as a list of texts: its items, or itself."""
        value = self.value(name)
        if isinstance(value, list) and all(isinstance(item, str | int) for item in value):
            return tuple(str(item) for item in value)
        text = self.text(name)
        return (text,) if text else ()

    def tags_in_line(self) -> bool:
        """Return whether `tags` is a text with commas rather than a list."""
        return isinstance(self.value("tags"), str)

    def tags(self, name: str = "tags") -> tuple[str, ...]:
        """Return a member's tags; list items other than texts are left to the validation."""
        value = labels(self.value(name))
        return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()

    def lines_beside(self, consumed: frozenset[str]) -> Iterator[str]:
        """Yield `name: value` for every unconsumed member with a value."""
        for name, member in self.members.items():
            shown = "" if name in consumed else _show_member(member, self.values[name])
            if shown:
                yield f"{member.name}: {shown}"
        for member in self.ignored:
            yield f"{member.name}: {_source_text(member)}"


def _source_text(member: Member) -> str:
    text = one_line(_COMMENT.sub("", member.source))
    return "" if text in _EMPTY else text


def _show_member(member: Member, value: Value) -> str:
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, list) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(one_line(str(item)) for item in value)
    return _source_text(member)


def _value(member: Member) -> Value:
    label = plain_name(member.name) in _LABELS
    if label and _HASHED.fullmatch(member.source.strip()):
        return list[Value](member.source.split())
    try:
        parsed = parse_yaml(f"value: {member.source}", ("value",) if label else ())
    except MalformedText as error:
        return RefusedValue(f"the value is {error.reason}")
    root = parsed[0].value if len(parsed) == 1 else None
    if not isinstance(root, dict) or set(root) != {"value"}:
        return RefusedValue("the value is not YAML")
    return root["value"]


def _says_something(item: Value) -> bool:
    return item is not None and not (isinstance(item, str) and not item.strip())


def read_front_matter(members: Sequence[Member], flaw: Notice | None = None) -> FrontMatter:
    """Return the members by name; an unclosed member is reported and kept as text, a repeated member is a flaw.

    `flaw` is that of their block.
    """
    first: dict[str, Member] = {}
    values: dict[str, Value] = {}
    ignored: list[Member] = []
    notices: list[Notice] = []
    for member in members:
        name = plain_name(member.name)
        value = _value(member)
        if name in _LABELS and isinstance(value, list) and not all(map(_says_something, value)):
            notices.append(
                Notice(member.line, f"{safe_name(member.name, 'a member')} has empty items: they are left out")
            )
            value = list(filter(_says_something, value))
        if name in first:
            flaw = flaw or Notice(member.line, f"{safe_name(member.name, 'a member')} is given twice")
        elif (isinstance(value, RefusedValue) or (name in _LENIENT and isinstance(value, dict))) and may_hold_next(
            member
        ):
            reason = f"{safe_name(member.name, 'a member')} is no plain value: the line below may be a member"
            flaw = flaw or Notice(member.line, reason)
        elif name in _LENIENT and isinstance(value, RefusedValue) and member.source.lstrip()[:1] in _OPENING:
            notices.append(Notice(member.line, "a quote or bracket is not closed: the member is not read"))
            ignored.append(member)
        elif name in _LENIENT and (isinstance(value, bool) or (isinstance(value, dict) and any(value.values()))):
            notices.append(Notice(member.line, f"{safe_name(member.name, 'a member')} is no text: it is not read"))
            ignored.append(member)
        else:
            first[name], values[name] = member, value
    return FrontMatter(MappingProxyType(first), MappingProxyType(values), tuple(ignored), tuple(notices), flaw)


def plain_name(name: str) -> str:
    """Return a member's name in lower case without blanks, `-` and `_`."""
    return name.lower().translate(_BETWEEN_WORDS)
