"""Words for statuses of decision records in other languages, as English words."""

import re
from typing import Final
from unicodedata import normalize

_BETWEEN: Final = r"[^\n]{1,200}"  # the record named before the verb of a German or Chinese sentence
# German, French, Spanish, Portuguese, Italian, Dutch, Swedish, Polish, Russian, Japanese, Chinese, Korean.
_WORDS: Final = (
    (
        "superseded by",
        r"(?:ersetzt|abgelöst)(?: worden)? (?:durch|von)|remplacée?s? par|(?:re[ei]mpla[zc]a|sustitui)d[oa]s? por"
        r"|substituíd[oa]s? por|(?:sostituit|superat)[oa] da(?:ll[ao]|l)?|vervangen door|ersatt av|zastąpion[yae] przez"
        rf"|замен[её]н[оа]? на|durch(?={_BETWEEN} (?:ersetzt|abgelöst))",
    ),
    (
        "replaces",
        r"ersetzt(?= (?:\[|die |den |das |adr|rfc|#?\d{1,6}(?![\d-])))|remplace|reemplaza|sustituye|substitui"
        r"|sostituisce|vervangt",
    ),
    (
        "replaced",
        r"ersetzt|abgelöst|remplacée?s?|(?:reemplazad|sustituid|substituíd|sostituit)[oa]s?|vervangen|ersatt"
        r"|zastąpion[yae]|замен[её]н[оа]?|已?被?(?:取代|替代|代替|替换)|置き?換え?済み?|置換済み?|대체됨?",
    ),
    (
        "proposed",
        r"vorgeschlagen|vorschlag|proposée?s?|proposition|propuest[oa]s?|propost[oa]s?|voorgesteld|föreslagen"
        r"|zaproponowan[yae]|предложен[оа]?|提案(?:中|済み?)?|提[议議]中?|已提[议議出]|拟议|제안(?:됨|중)?",
    ),
    (
        "accepted",
        r"akzeptiert|angenommen|genehmigt|freigegeben|verabschiedet|acceptée?s?|approuvée?s?|adoptée?s?|validée?s?"
        r"|aceptad[oa]s?|aprobad[oa]s?|adoptad[oa]s?|aceit[oea]s?|aprovad[oa]s?|accettat[oa]|approvat[oa]|adottat[oa]"
        r"|geaccepteerd|aanvaard|goedgekeurd|accepterad|godkänd|zaakceptowan[yae]|przyjęt[yae]|zatwierdzon[yae]"
        r"|принят[оа]?|утвержд[её]н[оа]?|одобрен[оа]?|承認(?:済み?)?|採用(?:済み?)?|採択(?:済み?)?|受理"
        r"|umgesetzt|implementiert|in kraft|implémentée?s?|en vigueur|implementad[oa]s?|vigentes?|e[nm] vigor|in vigore"
        r"|実装済み?|有効|已?(?:接受|采纳|採納|批准|核准|实施|生效)|已通过|已通過|승인됨?|채택됨?|수락됨?",
    ),
    ("decided", r"beschlossen|entschieden|décidée?s?|decidid[oa]s?|deciso|besloten|決定(?:済み?)?|已[决決]定|결정됨?"),
    (
        "rejected",
        r"abgelehnt|verworfen|zurückgewiesen|zurückgezogen|rejetée?s?|refusée?s?|abandonnée?s?|retirée?s?"
        r"|rechazad[oa]s?|descartad[oa]s?|retirad[oa]s?|rejeitad[oa]s?|recusad[oa]s?|rifiutat[oa]|respint[oa]|scartat[oa]"
        r"|afgewezen|verworpen|avvisad|avslagen|odrzucon[yae]|отклон[её]н[оа]?|отвергнут[оа]?"
        r"|却下(?:済み?)?|不採用|棄却|否決|取り?下げ|已?(?:拒绝|拒絕|否决|否決|驳回|駁回)|被(?:拒绝|否决|驳回)|거부됨?|거절됨?|기각됨?|반려됨?",
    ),
    (
        "deprecated",
        r"veraltet|überholt|obsolet|au(?:ß|ss)er kraft|obsolètes?|dépréciée?s?|périmée?s?|obsolet[oa]s?|deprecad[oa]s?"
        r"|descontinuad[oa]s?|deprecat[oa]|verouderd|föråldrad|przestarzał[yae]|устарел[оа]?|устаревш(?:ий|ее|ая)"
        r"|非推奨|廃止(?:済み?|予定)?|已?(?:废弃|廢棄|弃用|棄用|作废|作廢|过时|過時)|폐기됨?|폐지됨?",
    ),
    (
        "draft",
        r"entwurf|in (?:arbeit|bearbeitung)|brouillon|ébauche|en cours|borrador|rascunho|em andamento|bozza|utkast"
        r"|szkic|черновик|下書き|ドラフト|起草中|作成中|草案|草稿|초안",
    ),
    (
        "pending",
        r"ausstehend|zurückgestellt|verschoben|in (?:prüfung|diskussion)|en attente|reportée?s?|pendientes?|en revisión"
        r"|aplazad[oa]|pendentes?|em revisão|adiad[oa]|in attesa|in behandeling|保留中?|検討中|レビュー中|審議中"
        r"|待定|待审[核批]|审核中|讨论中|评审中|보류|검토 ?중",
    ),
    ("but", r"aber|mais|pero|mas|ma|maar|но"),
    ("and", r"und|et|e|ed|en|och|и"),
    ("was", r"wurde|fue|foi|fu|werd|a été|ha sido"),
    ("is", r"ist|est"),
)
# Not in a name with points, strokes or slashes, as of a file.
_ANY: Final = re.compile(
    rf"(?<![\w./-])(?:(?:{'|'.join(f'({words})' for _, words in _WORDS)})(?!\w|[./-]\w| werden\b)"
    r"|已?[被由](?P<by>[^\n]{1,200}?)(?:取代|替代|代替|替换))",
    re.IGNORECASE,
)
# The words before a status in a clause; others, as in "soll angenommen werden" and "ej godkänd", may negate it.
_KNOWN: Final = (
    "is was but and or status estado statut stato adr a été ha sido y i oder ou o eller lub или dann jetzt nun now"
    " actuellement actualmente diese dieser cette este esta questa deze entscheidung décision decisión decisão"
)
_BEFORE: Final = frozenset(_KNOWN.split())
_STOP: Final = re.compile(r"[.,;:()|!?\n–—•<>{}。，；：、（）]")
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_LONGEST_CLAUSE: Final = 100  # characters


def in_english(text: str) -> str:
    """Return a statement with English words in place of those for statuses in other languages."""
    composed = normalize("NFC", text)
    return text if _ANY.search(composed) is None else _ANY.sub(_translate, composed)


def _translate(match: re.Match[str]) -> str:
    if match["by"] is not None:
        return f"superseded by {match['by']} "
    start = max(match.start() - _LONGEST_CLAUSE, 0)
    words = _LETTERS.findall(_STOP.split(match.string[start : match.start()])[-1].casefold())
    known = all(word in _BEFORE or _ANY.fullmatch(word) is not None for word in words)
    at = next(number for number in range(len(_WORDS)) if match[number + 1] is not None)
    return _WORDS[at][0] if known else match[0]
