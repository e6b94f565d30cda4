"""Converts YAML text to values, from the parser's events: no aliases, no tags, no types guessed beyond JSON's."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import yaml

from cognition_engines.drafts.plain_values import LISTS, MalformedText, ParsedDocument, RefusedValue, Value, safe_name

_DEEPEST = 64
_LONGEST_INT = 400
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
# Leading zeros stay text: 0012 is a name, not an octal number.
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_STRING_TAGS = frozenset({None, "!", "tag:yaml.org,2002:str"})
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been met."""

    line: int
    values: list[Value] | None = None
    members: dict[str, Value] | None = None
    key: str | None = None
    has_key: bool = False
    refused: RefusedValue | None = None
    lines: list[int] = field(default_factory=list)
    listed: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def result(self) -> Value:
        if self.refused is not None:
            return self.refused
        return self.values if self.values is not None else self.members

    def add(self, value: Value, line: int, lines: tuple[int, ...]) -> None:
        if self.values is not None:
            self.values.append(value)
            self.lines.append(line)
        elif not self.has_key:
            self._take_key(value)
        else:
            self.has_key = False
            if self.members is not None and self.key is not None:
                self.members[self.key] = value
                if self.key in LISTS and isinstance(value, list):
                    self.listed[self.key] = lines

    def _take_key(self, value: Value) -> None:
        self.has_key = True
        self.key = None
        if isinstance(value, RefusedValue):
            self.refused = self.refused or value
        elif value is None or isinstance(value, list | dict):
            self.refused = self.refused or RefusedValue("a member name must be a plain word")
        else:
            name = value if isinstance(value, str) else str(value).lower()
            if self.members is not None and name in self.members:
                self.refused = self.refused or RefusedValue(f"{safe_name(name, 'a member')} is given twice")
            else:
                self.key = name


def _scalar(event: yaml.ScalarEvent, as_text: bool) -> Value:
    text = str(event.value)
    if event.anchor is not None:
        return RefusedValue("anchors and aliases are not read: write the value out")
    if event.tag not in _STRING_TAGS:
        return RefusedValue("tags such as !!binary are not read")
    # A plain scalar has no style, which the two parsers spell None and "".
    if event.style or event.tag is not None:
        return text
    if text in _NULL:
        return None
    if as_text:
        return text
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if len(text) <= _LONGEST_INT:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark is not None else 1


def _open(event: yaml.CollectionStartEvent) -> _Open:
    line = _line(event)
    opened = _Open(line, values=[]) if isinstance(event, yaml.SequenceStartEvent) else _Open(line, members={})
    if event.anchor is not None:
        opened.refused = RefusedValue("anchors and aliases are not read: write the value out")
    elif event.tag is not None:
        opened.refused = RefusedValue("tags such as !!set are not read")
    return opened


def _is_text(stack: Sequence[_Open], texts: Collection[str]) -> bool:
    """Return whether the next scalar is the value of such a member, or an item of it; in `metadata` none is."""
    holder = stack[-2:][0] if stack and stack[-1].values is not None else stack[-1] if stack else None
    if holder is None or not holder.has_key or holder.key not in texts:
        return False
    return all(opened.key != "metadata" for opened in stack)


def _documents(text: str, texts: Collection[str]) -> Iterator[ParsedDocument]:
    stack: list[_Open] = []
    for event in yaml.parse(text, Loader=_LOADER):
        lines: tuple[int, ...] = ()
        listed: dict[str, tuple[int, ...]] = {}
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append(_open(event))
            if len(stack) > _DEEPEST:
                raise MalformedText(_line(event), f"nested too deeply: at most {_DEEPEST} levels are read")
            continue
        line = _line(event)
        value: Value
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event, _is_text(stack, texts))
        elif isinstance(event, yaml.AliasEvent):
            value = RefusedValue("anchors and aliases are not read: write the value out")
        elif isinstance(event, yaml.CollectionEndEvent):
            closed = stack.pop()
            value, line, lines, listed = closed.result(), closed.line, tuple(closed.lines), closed.listed
        else:
            continue
        if stack:
            stack[-1].add(value, line, lines)
        else:
            yield ParsedDocument(value, line, items=lines, listed=listed)


def parse_yaml(text: str, texts: Collection[str] = ()) -> tuple[ParsedDocument, ...]:
    """Return every document of the text. Raise `Unreadable`.

    Plain scalars become null, true/false, decimal integers and floats as in JSON; every other scalar, dates and `no`
    included, stays text. In members called as `texts` say, and in their lists, numbers and booleans stay text, too.
    """
    read: list[ParsedDocument] = []
    try:
        read.extend(_documents(text, texts))
    except MalformedText as error:
        raise MalformedText(error.line, error.reason, read) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise MalformedText(mark.line + 1 if mark else 1, "not valid YAML from here on", read) from None
    except yaml.YAMLError as error:
        at = getattr(error, "position", None)
        line = text.count("\n", 0, at) + 1 if isinstance(at, int) else 1
        raise MalformedText(line, "not valid YAML: a character that is not allowed", read) from None
    return tuple(read)
