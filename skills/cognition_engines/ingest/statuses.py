"""Words for a status, in English and other languages, outside titles of other records; the meaning of a statement."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from unicodedata import normalize

from cognition_engines.ingest.dates import find_dates, first_date
from cognition_engines.kinds.decisions import names_none


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _by_name(names: Mapping[str, str]) -> Mapping[str, str]:
    """Return the key of each name, from names between commas by key."""
    return MappingProxyType({name: key for key, each in names.items() for name in each.split(", ")})


# Phrases for a status at any position, longest first by construction of the search below.
STRONG: Final = _by_name(
    {
        "proposed": "proposed, proposal, under discussion, in discussion, under consideration, provisional"
        ", not yet accepted, not accepted yet, not yet approved, not approved yet, not yet decided",
        "accepted": "accepted, approved, adopted, implemented, implementable, ratified, agreed, in force"
        ", implementation complete, acceepted, accpeted, acepted",
        "rejected": "rejected, declined, withdrawn, abandoned, denied, cancelled, canceled"
        ", not accepted, not approved, not adopted, won t do, won t fix, wontfix",
        "deprecated": "deprecated, obsolete, obsoleted, retired, removed, outdated, depreciated, depricated"
        ", rescinded, revoked, repealed, discontinued, invalidated, no longer, out of date",
        "superseded": "superseded, superceded, supersceded, superseeded, superceeded, supersceeded"
        ", replaced, overturned, overruled",
        "draft": "draft, wip, work in progress, in progress, in draft",
        "decided": "decided",
        "reviewed": "reviewed",
        "pending": "pending, in review, under review, for review, on hold, deferred, postponed, awaiting",
    }
)
# Words too common in prose to mean a status unless they come first.
WEAK: Final = _by_name(
    {
        "accepted": "active, final, finalised, finalized, done, completed, current, merged, deployed, established"
        ", implementing",
        "proposed": "open, rfc, proposing, submitted, discussion, tbd",
        "rejected": "decline, discarded",
        "deprecated": "reverted, archived, expired, invalid, void",
        "draft": "drafted",
        "pending": "review",
    }
)
LONGEST: Final = 4000  # examined characters of a statement
# Another record by title: a link with target, text in quotes or code, an address, a file.
_TARGET: Final = (
    r"\((?:<[^<>\n]{0,1000}>|[^()\s]{0,1000}(?:\([^()\s]{0,300}\)[^()\s]{0,300})?)(?:[ \t][^()\n]{0,300})?\)"
)
_TITLED: Final = re.compile(
    r"!?\[\[[^\[\]\n]{0,300}\]\]"
    rf"|!?\[(?P<link>(?>!?\[[^\[\]\n]{{0,300}}+\](?:{_TARGET})?+|[^\[\]\n]){{0,300}}+)\]"
    rf"(?P<to>{_TARGET}|\[[^\[\]\n]{{0,300}}\])?"
    r"|`(?P<code>[^`\n]{1,300})`|\"(?P<quote>[^\"\n]{1,300})\"|“(?P<quoted>[^”\n]{1,300})”"
    r"|<?https?://[^<>\s]{1,1000}>?|(?<![\w./-])[\w./-]{1,200}\.(?:md|markdown|mdx|rst|adoc|txt)\b",
    re.IGNORECASE,
)
_NESTED: Final = re.compile(rf"!?\[([^\[\]\n]{{0,300}})\](?:{_TARGET})?")
_TOKEN: Final = re.compile(r"[^\W_]+|[.,;:!?()|/&<>{}\[\]–—→•§]|(?<=\s)-(?=\s)")
_SEPARATED: Final = r"(?:\s{0,3}[|/,;]\s{0,3})"
_STRUCK: Final = re.compile(
    rf"{_SEPARATED}?(?:~~[^~\n]{{1,200}}~~|<(s|del|strike)>[^<>\n]{{1,200}}</\1>)(?:{_SEPARATED}(?=\S))?", re.IGNORECASE
)
SHORTCODE: Final = re.compile(r"(?<![^\W_]):[a-z][a-z0-9_+-]{1,40}:", re.IGNORECASE)  # the name of an emoji
SUPERSEDE: Final = r"super(?:s|c|sc)ee?d"  # the beginning of its forms, also misspelt
_OVER: Final = re.compile(rf"{SUPERSEDE}es|replaces|obsoletes")
_RELATES: Final = re.compile(rf"{SUPERSEDE}|replace|obsolete|amend|refine|relate|extend|clarif|complet|require")
PARTLY: Final = _words(
    "partly partially partial mostly largely teilweise partiellement parcialmente parzialmente gedeeltelijk deels"
    " delvis częściowo частично 部分 一部 일부"
)
_PARTLY: Final = "|".join(sorted(PARTLY))
_IN_PART: Final = r"(?:in parts?|en partie|e[nm] parte|in parte)"
_PART: Final = (
    r"(?:sections?|parts?|§|paragraphs?|chapters?|clauses?|points?|items?|aspects?|abschnitt|teil|sección|parte|partie)"
)
# Behind a record, in lower case with blanks around marks: "s section", "( the part of it )", "for new clients".
_LIMITS: Final = re.compile(
    rf"s |(?:(?:[,(\[–—:-]|but|at|least|for|the|its) ){{0,5}}(?:{_IN_PART}|{_PART}|only|except|{_PARTLY})(?!\w)"
    rf"|\( [^.;|)]{{0,90}}\b(?:{_PARTLY})\b|[^.;|)]{{0,99}}\bonly(?: [.;|)]|$)"
    rf"|(?:[,(–—:-] )?(?:the|its) (?:\w{{1,30}} ){{1,3}}{_PART}(?: (?:of|about|on|for)\b| [.,;|)]|$)"
    r"|(?:[,(] )?(?:regarding|concerning|with (?:regard|respect) to|as (?:to|regards)) "
    r"|(?:[,(] )?for (?!(?:[^\W_]{1,30} ){0,4}(?:good|ever|now|all|any|every|everything|being|more|further"
    r"|details?|reasons?|history|historical|information|context|background|clarity|consistency|simplicity|performance|sake|time)\b)\w"
)
_NEGATIONS: Final = _words(
    "not no never non without be nothing none nor neither cannot isn hasn wasn aren won if when once until unless"
    " might can could should must"
)
_PARTIAL: Final = re.compile(rf"\b{_IN_PART}(?: |$)")
_FOLLOWING: Final = 16  # words and marks behind a phrase that may limit it
_IF: Final = _words("if when once unless")
_HAVING: Final = _words("has have had")  # "has superseded" is about another record
_OBJECTS: Final = _words("the a an our its their this that these those all")
# The words allowed before "superseded" in a clause if the record itself is meant.
_OWN: Final = _words(
    "this the it itself adr madr rfc record decision document proposal design page architecture architectural is was"
    " has have had been became and but now then later since already also completely fully entirely wholly currently"
    " subsequently finally eventually recently afterwards meanwhile therefore so status state on in at note that"
)
_OF_DECISIONS: Final = _words("proposed accepted rejected deprecated superseded decided")
_WORD: Final = re.compile(r"[a-z]+")
_UNDONE: Final = _words("superseded deprecated rejected")
JOINING: Final = _words("and then on now later in since as of")
_LONGEST_END: Final = 60  # characters
_CUT: Final = re.compile(r"(?:[.,;(→–—]|->|\s-\s)\s{0,3}(?=[^\W\d_])")
_BRACKETS: Final = re.compile(r"(\[[^\[\]]{0,999}\]|\{[^{}]{0,999}\}|\([^()]{0,999}\)|<[^<>]{0,999}>)")
_OR: Final = r"\b(?:or|oder|ou|o|eller|lub|или)\b|または|或"
_ALTERNATIVES: Final = re.compile(rf"\||/|{_OR}", re.IGNORECASE)
_LISTED: Final = re.compile(rf"[,|/]|{_OR}", re.IGNORECASE)
_CHOSEN: Final = re.compile(r"(\*\*|__|`)[^*_`\n]{1,100}\1")
# German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Polish, Russian, Japanese, Chinese, Korean.
_FOREIGN: Final = {
    "superseded by": r"(?:ersetzt|abgelöst)(?: worden)? (?:durch|von)|remplacée?s? par"
    r"|(?:re[ei]mpla[zc]a|sustitui)d[oa]s? por|substituíd[oa]s? por|(?:sostituit|superat)[oa] da(?:ll[ao]|l)?"
    r"|vervangen door|ersatt av|zastąpion[yae] przez|замен[её]н[оа]? на"
    r"|durch(?=[^\n]{1,200} (?:ersetzt|abgelöst))",  # the record stands before the verb
    "replaces": r"ersetzt(?= (?:\[|die |den |das |adr|rfc|#?\d{1,6}(?![\d-])))|remplace|reemplaza|sustituye|substitui"
    r"|sostituisce|vervangt",
    "replaced": r"ersetzt|abgelöst|remplacée?s?|(?:reemplazad|sustituid|substituíd|sostituit)[oa]s?|vervangen|ersatt"
    r"|zastąpion[yae]|замен[её]н[оа]?|已?被?(?:取代|替代|代替|替换)|置き?換え?済み?|置換済み?|대체됨?",
    "proposed": r"vorgeschlagen|vorschlag|proposée?s?|proposition|propuest[oa]s?|propost[oa]s?|voorgesteld|föreslagen"
    r"|zaproponowan[yae]|предложен[оа]?|提案(?:中|済み?)?|提[议議]中?|已提[议議出]|拟议|제안(?:됨|중)?",
    "accepted": r"akzeptiert|angenommen|genehmigt|freigegeben|verabschiedet|acceptée?s?|approuvée?s?|adoptée?s?"
    r"|validée?s?|aceptad[oa]s?|aprobad[oa]s?|adoptad[oa]s?|aceit[oea]s?|aprovad[oa]s?|accettat[oa]|approvat[oa]|adottat[oa]"
    r"|geaccepteerd|aanvaard|goedgekeurd|accepterad|godkänd|zaakceptowan[yae]|przyjęt[yae]|zatwierdzon[yae]"
    r"|принят[оа]?|утвержд[её]н[оа]?|одобрен[оа]?|承認(?:済み?)?|採用(?:済み?)?|採択(?:済み?)?|受理"
    r"|umgesetzt|implementiert|in kraft|implémentée?s?|en vigueur|implementad[oa]s?|vigentes?|e[nm] vigor|in vigore"
    r"|実装済み?|有効|已?(?:接受|采纳|採納|批准|核准|实施|生效)|已通过|已通過|승인됨?|채택됨?|수락됨?",
    "decided": r"beschlossen|entschieden|décidée?s?|decidid[oa]s?|deciso|besloten|決定(?:済み?)?|已[决決]定|결정됨?",
    "rejected": r"abgelehnt|verworfen|zurückgewiesen|zurückgezogen|rejetée?s?|refusée?s?|abandonnée?s?|retirée?s?"
    r"|rechazad[oa]s?|descartad[oa]s?|retirad[oa]s?|rejeitad[oa]s?|recusad[oa]s?|rifiutat[oa]|respint[oa]|scartat[oa]"
    r"|afgewezen|verworpen|avvisad|avslagen|odrzucon[yae]|отклон[её]н[оа]?|отвергнут[оа]?"
    r"|却下(?:済み?)?|不採用|棄却|否決|取り?下げ|已?(?:拒绝|拒絕|否决|否決|驳回|駁回)|被(?:拒绝|否决|驳回)|거부됨?|거절됨?|기각됨?|반려됨?",
    "deprecated": r"veraltet|überholt|obsolet|au(?:ß|ss)er kraft|obsolètes?|dépréciée?s?|périmée?s?|obsolet[oa]s?"
    r"|deprecad[oa]s?|descontinuad[oa]s?|deprecat[oa]|verouderd|föråldrad|przestarzał[yae]|устарел[оа]?|устаревш(?:ий|ее|ая)"
    r"|非推奨|廃止(?:済み?|予定)?|已?(?:废弃|廢棄|弃用|棄用|作废|作廢|过时|過時)|폐기됨?|폐지됨?",
    "draft": r"entwurf|in (?:arbeit|bearbeitung)|brouillon|ébauche|en cours|borrador|rascunho|em andamento|bozza|utkast"
    r"|szkic|черновик|下書き|ドラフト|起草中|作成中|草案|草稿|초안",
    "pending": r"ausstehend|zurückgestellt|verschoben|in (?:prüfung|diskussion)|en attente|reportée?s?|pendientes?"
    r"|en revisión|aplazad[oa]|pendentes?|em revisão|adiad[oa]|in attesa|in behandeling|保留中?|検討中|レビュー中"
    r"|審議中|待定|待审[核批]|审核中|讨论中|评审中|보류|검토 ?중",
    "but": r"aber|mais|pero|mas|ma|maar|но",
    "and": r"und|et|e|ed|en|och|и",
    "was": r"wurde|fue|foi|fu|werd|a été|ha sido",
    "is": r"ist|est",
}
# Not in a name with points, strokes or slashes, as of a file.
_ANY_FOREIGN: Final = re.compile(
    rf"(?<![\w./-])(?:(?:{'|'.join(f'({words})' for words in _FOREIGN.values())})(?!\w|[./-]\w| werden\b)"
    r"|已?[被由](?P<by>[^\n]{1,200}?)(?:取代|替代|代替|替换))",
    re.IGNORECASE,
)
# The words before a status in a clause; others, as in "soll angenommen werden" and "ej godkänd", may negate it.
_HARMLESS: Final = _words(
    "is was but and or status estado statut stato adr a été ha sido y i oder ou o eller lub или dann jetzt nun now"
    " actuellement actualmente diese dieser cette este esta questa deze entscheidung décision decisión decisão"
)
_CLAUSE_END: Final = re.compile(r"[.,;:()|!?\n–—•<>{}。，；：、（）]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LONGEST_CLAUSE: Final = 100  # characters


@dataclass(frozen=True, slots=True)
class Meaning:
    """A status meant by a phrase: whether only in part, by a phrase of `STRONG`, and with a "by" behind it."""

    status: str
    partly: bool
    strong: bool
    followed_by_by: bool


@lru_cache(8)  # for the parts that look through the same statement
def in_english(text: str) -> str:
    """Return a statement with English words in place of those for statuses in other languages."""
    composed = normalize("NFC", text)
    return text if _ANY_FOREIGN.search(composed) is None else _ANY_FOREIGN.sub(_translate, composed)


def _translate(match: re.Match[str]) -> str:
    if match["by"] is not None:
        return f"superseded by {match['by']} "
    start = max(match.start() - _LONGEST_CLAUSE, 0)
    words = _LETTERS.findall(_CLAUSE_END.split(match.string[start : match.start()])[-1].casefold())
    known = all(word in _HARMLESS or _ANY_FOREIGN.fullmatch(word) is not None for word in words)
    return list(_FOREIGN)[(match.lastindex or 0) - 1] if known else match[0]


def hide_titles(text: str) -> str:
    """Return the text, with unchanged length and digits in place of other records' titles and addresses.

    A link or code with a status as its text, as `[Accepted](board.md)`, keeps its words.
    """
    kept: list[str] = []
    at, own, related = 0, True, False
    for match in _TITLED.finditer(text):
        gap = text[at : match.start()]
        own, related = _lead(gap, own, related)
        group = next((name for name in ("link", "code", "quote", "quoted") if match[name] is not None), None)
        words = match[group] if group is not None else ""
        named = group != "link" or match["to"] is not None or match[0].startswith("[[")
        if named and group is not None and own and not related and _begins_as_status(words):
            before, after = match.start(group) - match.start(), match.end() - match.end(group)
            by = words.rstrip(" :").lower().endswith("by")
            kept += [gap, "\ufffc" * before, _flat(words), ("\ufffc" + "0" * (after - 1)) if by else "\ufffc" * after]
        elif named or related:
            kept += [gap, "0" * len(match[0])]
            own = False
        else:
            kept += [gap, match[0]]
        at = match.end()
    return "".join([*kept, text[at:]])


def _flat(words: str) -> str:
    """Replace links within a link, such as a picture of a status, by their words; the length stays."""
    return _NESTED.sub(lambda inner: inner[1].ljust(len(inner[0]), "\ufffc"), words)


def _lead(gap: str, own: bool, related: bool) -> tuple[bool, bool]:
    """Return whether the clause is still about the record after `gap`, and whether it names a relation to another."""
    for token in _TOKEN.findall(gap.lower()):
        if not token.isalnum():
            own = True
            related = related and token not in {".", ";", "|"}
        else:
            related = related or _RELATES.match(token) is not None
            own = token in STRONG or (own and token in _OWN)
    return own, related


def _begins_as_status(words: str) -> bool:
    tokens = [token for token in _TOKEN.findall(_flat(words).lower()) if token.isalnum()]
    first = next((at for at, token in enumerate(tokens) if token not in _OWN), len(tokens))
    return phrase_at(tokens, first, first=True) is not None or _OVER.fullmatch(" ".join(tokens[first:][:1])) is not None


def phrase_at(tokens: Sequence[str], at: int, *, first: bool) -> tuple[str, int] | None:
    """Return the longest phrase for a status at a place, and its number of words."""
    for length in (3, 2, 1):
        phrase = " ".join(tokens[at : at + length])
        status = STRONG.get(phrase) or (WEAK.get(phrase) if first else None)
        if status is not None and at + length <= len(tokens):
            return phrase, length
    return None


def _without_dates(text: str) -> str:
    for hit in reversed(list(find_dates(text))):
        text = f"{text[: hit.start]} {text[hit.end :]}"
    return text


def without_struck(text: str) -> str:
    """Return a text without struck-out words and the marks that set them apart."""
    return _STRUCK.sub(" ", text) if "~~" in text or "</" in text else text


def tokens_of(text: str) -> list[str]:
    """Return the words and marks of a statement in lower case, without dates, struck-out text, emoji, and titles."""
    hidden = hide_titles(in_english(SHORTCODE.sub(" ", without_struck(text[:LONGEST]))))
    return _TOKEN.findall(_without_dates(hidden).lower())


def meanings(text: str) -> Iterator[Meaning]:
    """Yield the statuses given to the record by a text, in order, without negated statuses.

    "Superseded" counts unless something else is its subject, as in "parts of ADR-2 are superseded".
    """
    tokens = tokens_of(text)
    before: list[str] = []  # the words of the clause
    lettered = False
    at = 0
    while at < len(tokens):
        found = phrase_at(tokens, at, first=not lettered)
        length = 1 if found is None else found[1]
        words = tokens[at : at + length]
        lettered = lettered or words[0].isalpha()
        meaning = None if found is None else _find_meaning(found[0], before, tokens[at + length :][:_FOLLOWING])
        if meaning is not None:
            yield meaning
        before = [] if meaning is not None or not words[0].isalnum() else [*before[-30:], *words]
        at += length


def _find_meaning(phrase: str, before: Sequence[str], after: Sequence[str]) -> Meaning | None:
    if not _NEGATIONS.isdisjoint(before) or (after[:1] == ["?"] and not _NEGATIONS.isdisjoint(after[1:2])):
        return None
    status = STRONG.get(phrase) or WEAK[phrase]
    clause = _clause(after[:5])
    near = " ".join([*before[-2:], "", *clause[:2]])
    partly = not PARTLY.isdisjoint([*before, *clause[:1]]) or _PARTIAL.search(near) is not None
    if status == "superseded" and "by" in clause:
        named = after[clause.index("by") + 1 :]
        partly |= any(token[-1].isdigit() and limits(" ".join(named[at:])) for at, token in enumerate(named[:3], 1))
    if status == "superseded" and not partly and not (is_own(before) and _is_passive(phrase, after[:5])):
        return None
    if status in _UNDONE and not _IF.isdisjoint(clause[:1]):
        return None
    return Meaning(status, partly, phrase in STRONG, "by" in clause)


def limits(behind: str) -> bool:
    """Return whether the text behind a record means only a part of it, as in "ADR-3 (section 4)"."""
    return _LIMITS.match(" ".join(_TOKEN.findall(behind[:_LONGEST_CLAUSE].lower()))) is not None


def _clause(tokens: Sequence[str]) -> list[str]:
    end = next((at for at, token in enumerate(tokens) if not token.isalnum()), len(tokens))
    return list(tokens[:end])


def _is_passive(phrase: str, after: Sequence[str]) -> bool:
    clause = _clause(after)
    if clause[:1] and clause[0] in _OBJECTS:
        return False
    if "by" in clause:
        agents = [token for token in after[clause.index("by") + 1 :] if token.isalnum()]
        return bool(agents) and not names_none(agents[0])
    return phrase != "replaced" or not clause


def is_own(before: Sequence[str]) -> bool:
    """Return whether a passive after these words of a clause has the record itself as its subject."""
    return _OWN.issuperset(before) and (not before or before[-1] not in _HAVING)


def words_before(text: str, words: Sequence[str] = ()) -> list[str]:
    """Return the words of the last clause of a text without titles; a status ends a clause.

    `words` are those of the clause continued by the text.
    """
    found = list(words)
    for token in _TOKEN.findall(_without_dates(text).lower()):
        found = [*found[-30:], token] if token.isalnum() and token not in STRONG else []
    return found


def normalise_status(text: str) -> str:
    """Return the member of `models.STATUSES` for a stated status; "other" if it is none of them.

    The first word for a status decides, except that "superseded by" anywhere wins if the record itself is meant. Partly
    superseded, deprecated or rejected is "other". The titles of linked records mean nothing.
    """
    found = list(meanings(split_ending(text)[1] or text))
    if not found:
        return "other"
    if any(each.status == "superseded" and each.followed_by_by and not each.partly for each in found):
        return "superseded"
    first = found[-1] if _is_progress(text, found) else found[0]
    return "other" if first.partly and first.status in _UNDONE else first.status


def split_ending(text: str) -> tuple[str, str]:
    """Return the parts before and from a later end with a date, as in "Accepted 2024-01-02, superseded 2025-02-03"."""
    for cut in _CUT.finditer(text[:LONGEST]) if first_date(text) is not None else ():
        hit = first_date(text[cut.end() :][:_LONGEST_END])
        end = text[cut.end() :][: hit.end] if hit is not None else ""
        if end and is_status_alone(end, JOINING) and not _UNDONE.isdisjoint(_kinds(end)):
            return text[: cut.start()], text[cut.end() :]
    return text, ""


def _is_progress(text: str, found: Sequence[Meaning]) -> bool:
    """Return whether a text only lists the statuses of a record over time, as "Proposed 2024-01-02, accepted"."""
    tentative = found[0].status in {"proposed", "draft", "pending"}
    return tentative and len(found) > 1 and _ALTERNATIVES.search(text) is None and is_status_alone(text, JOINING)


def is_of_decisions(text: str) -> bool:
    """Return whether few texts but decisions have a stated status: `accepted`, but not `done` or `draft`."""
    first = next(meanings(text), None)
    return first is not None and first.status in _OF_DECISIONS and first.strong


def begins_with_status(text: str) -> bool:
    """Return whether the first words of a text mean a status."""
    return phrase_at([token for token in tokens_of(text) if token.isalnum()], 0, first=True) is not None


def is_status_alone(text: str, joining: AbstractSet[str] = frozenset()) -> bool:
    """Return whether a text says a status, and nothing else but dates and words of `joining`."""
    tokens = [token for token in tokens_of(text) if token.isalnum() and token not in joining]
    at = 0
    while at < len(tokens):
        found = phrase_at(tokens, at, first=at == 0)
        if found is None:
            return False
        at += found[1]
    return at > 0


def _kinds(text: str) -> set[str]:
    return {each.status for each in meanings(text)}


def drop_choices(text: str) -> str | None:
    """Return the text without lists of choices; None when it is such a list, or a placeholder, with nothing chosen.

    A choice in bold or code is chosen.
    """
    text = text[:LONGEST]
    kept: list[str] = []
    lists = False
    start = 0
    for at, piece in enumerate(_BRACKETS.split(hide_titles(text))):
        words, start = text[start : start + len(piece)], start + len(piece)
        if at % 2 and len(_kinds(words)) >= 2 and _LISTED.search(words):
            lists = True
        else:
            kept.append(words)
    rest = "".join(kept).strip(" \t\"'.:;,-*" if lists else " \t\"'.:;,-")
    if not rest and lists:
        return None
    kinds = _kinds(rest)
    if lists:
        return rest if len(kinds) == 1 else None
    parts = [part.strip() for part in _ALTERNATIVES.split(rest)]
    listed = len(parts) > 1 and all(_is_bare(part) for part in parts) and len(kinds) >= 2
    marked = [part for part in parts if _CHOSEN.fullmatch(part)] if listed else []
    if len(marked) == 1:
        return marked[0]
    head, _, choices = rest.partition(".")
    if len(kinds) >= 3 and _LISTED.search(choices) and len(_kinds(head)) == 1 and begins_with_status(head):
        return head  # "Accepted. One of draft, proposed, accepted"
    if listed or len(kinds) >= 3 or rest.strip("{}[]<>* ").lower() == "status":
        return None
    return text


def _is_bare(part: str) -> bool:
    words = " ".join(_WORD.findall(in_english(part).lower()))
    return words in STRONG or words in WEAK
