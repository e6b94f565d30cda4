"""The sections of decision records: their names in the usual forms, and forms that were never filled in."""

import re
from bisect import bisect_right
from collections import Counter
from dataclasses import replace
from operator import attrgetter
from typing import Final

from cognition_engines.ingest.adr.header import heading_kind, name_of
from cognition_engines.markdown.document import Document, Heading, Line
from cognition_engines.markdown.inline import LONGEST_LINE

# Names in lower case by the part that a section has in the form of a record.
_NAMES: Final = {
    "decision": "decision, our decision, decision outcome, decision made, decision taken, architecture decision"
    ", architectural decision, chosen option, chosen solution, preferred option, decision summary, current decision"
    ", entscheidung, décision, decisión, decisão, decisione, besluit, beslissing, beslut, decyzja, решение, 决策, 决定"
    ", 決定, 결정",
    "drivers": "decision drivers, decision drivers / forces, decision owners",
    "proposal": "proposal, decisions, solution, approach, recommendation, recommendations, what's proposed, outcome",
    "context": "context, context and problem statement, kontext, kontext und problemstellung, contexte, contexto"
    ", contesto, контекст, コンテキスト, 背景, 맥락",
    "problem": "problem, problem statement, problem description, problems, problem/questions, issue, background"
    ", questions, motivation",
    "options": "options, considered options, options considered, considered alternatives, alternatives considered"
    ", alternatives, other options, other options considered, considered solutions, candidates, choices"
    ", choices - pros cons, pros and cons of the options, pros and cons of the alternatives, betrachtete optionen",
    "consequences": "consequences, konsequenzen, conséquences, consecuencias, consequências, conseguenze"
    ", consequenties, konsekvenser, konsekwencje, последствия, 影響, 影响, 后果, 결과",
    "effects": "positive consequences, negative consequences, implications, impact, drawbacks",
    "rationale": "rationale, reasoning, thinking",
}
_ROLES: Final = {name: role for role, names in _NAMES.items() for name in names.split(", ")}
# Each makes a file a decision, whatever it is called and wherever it lies.
PAIRS: Final = (
    {"context", "options"},
    *({"decision", other} for other in ("context", "problem", "options", "drivers", "rationale")),
)
DECIDING: Final = frozenset({"decision", "drivers"})
NYGARD: Final = frozenset({"context", "consequences"})
_MINUTES: Final = frozenset({"attendees", "participants", "agenda", "minutes", "action items", "apologies"})
_SHORTCODE: Final = re.compile(r":[a-z0-9_+-]{1,40}:")
_AROUND: Final = re.compile(r"^(?:the|current) | \d{1,2}$")
_BOLD: Final = re.compile(r"(\*\*|__)(?P<name>[^*_:\n]{1,40}):?\1")
_FIELD: Final = re.compile(r"(?P<name>[^\W\d_][^*_:\n]{1,40}):(?:\s|$)")
# The words of the usual forms: a value in brackets to be replaced, which is no link, and guidance.
_GUIDANCE: Final = re.compile(
    r"(?:(?:good|bad|neutral), because |chosen option: |option \d{1,2}: ?)?[\"'*_]{0,3}"
    r"(?:\{[^{}]{2,1000}\}|\[[^\[\]]{2,1000}\](?![(\[:])|<(?!https?:|[a-z/])[^<>]{2,1000}>)"
    r"|what is the (?:issue|change)\b|what (?:did|do) we decide\b|what becomes easier or (?:more )?difficult"
    r"|the issue motivating this decision|the change that we.re proposing|what is the status, such as"
    r"|this section (?:contains|describes|explains)|describe (?:the|here|how|what|in|your)\b",
    re.IGNORECASE,
)
_ASKING: Final = re.compile(r"(?:what|which|why|who|how|when|explain|list|summari[sz]e|provide)\b", re.IGNORECASE)
_FILLED: Final = frozenset({"status", "date", "changes", "links"})  # by the program that made the form
_LEFT_OPEN: Final = frozenset({"TBD", "TODO", "…", ""})


def role_of(heading: Heading) -> str | None:
    """Return the part of a section in the forms of records; None for a title, and for other sections."""
    name = name_of(_SHORTCODE.sub("", heading.text)).replace("&", "and")
    return _ROLES.get(name) or _ROLES.get(_AROUND.sub("", name))


def form_sections(document: Document) -> frozenset[str]:
    """Return the parts of records among the headings and the bold names of paragraphs; `status` is that of a heading.

    A heading may go on behind a colon. A name that several paragraphs have is one of a list.
    """
    heads = [replace(each, text=each.text.partition(":")[0]) for each in document.headings]
    roles = {role for role in map(role_of, (*document.headings, *heads)) if role is not None}
    has_status = any(heading_kind(heading)[0] == "status" for heading in document.headings)
    return frozenset(roles | _named_paragraphs(document, _BOLD) | ({"status"} if has_status else set()))


def field_sections(document: Document) -> frozenset[str]:
    """Return the parts of records among the lines such as `Decision: PostgreSQL`."""
    return frozenset(_named_paragraphs(document, _FIELD))


def named_line(line: str) -> tuple[str, str] | None:
    """Return the part of a record that a line such as `Decision: PostgreSQL` names, and the rest of the line."""
    match = _BOLD.match(line) or _FIELD.match(line) if len(line) <= LONGEST_LINE else None
    role = None if match is None else _ROLES.get(name_of(match["name"]))
    return None if role is None or match is None else (role, line[match.end() :].lstrip(" :"))


def _named_paragraphs(document: Document, form: re.Pattern[str]) -> set[str]:
    lines = (entry.text for entry in document.entries if isinstance(entry, Line) and len(entry.text) <= LONGEST_LINE)
    names = Counter(name_of(match["name"]) for match in map(form.match, lines) if match is not None)
    return {_ROLES[name] for name, count in names.items() if name in _ROLES and count == 1}


def has_several(document: Document) -> bool:
    """Return whether sections of a page are decisions themselves: each has a section Status or Decision."""
    found: set[Heading] = set()
    above: list[Heading] = []
    for heading in document.headings:
        above = [each for each in above if each.level < heading.level]
        if len(above) > 1 and role_of(above[-1]) is None:
            found |= {above[-1]} if role_of(heading) == "decision" or heading_kind(heading)[0] == "status" else set()
        above.append(heading)
    return len(found) > 1 and len({each.level for each in found}) == 1


def is_minutes(document: Document) -> bool:
    """Return whether the headings belong to the minutes of a meeting."""
    return any(name_of(heading.text) in _MINUTES for heading in document.headings)


def filling(document: Document, *, asks: bool) -> tuple[bool, bool]:
    """Return whether sections of a record have blanks or the guidance of a form, and whether any has other words.

    With `asks`, paragraphs that begin as questions and requests do are guidance, too.
    """
    sections = [heading for heading in document.headings if role_of(heading) is not None]
    guided = filled = in_guidance = False
    for entry in document.entries if sections else ():
        at = bisect_right(document.headings, entry.at, key=attrgetter("start")) - 1
        if at < 0 or (at == 0 and document.headings[0] not in sections):
            continue
        if heading_kind(document.headings[at])[0] in _FILLED:
            continue
        text = entry.text if isinstance(entry, Line) else "|"
        guides = _GUIDANCE.match(text) or (asks and _ASKING.match(text))
        in_guidance = bool(guides) or (isinstance(entry, Line) and entry.continues and in_guidance)
        blank = in_guidance or text.strip(" .*_").upper() in _LEFT_OPEN
        guided = guided or blank
        filled = filled or not (blank or document.lines[entry.at].lstrip().startswith(">"))
    return guided, filled
