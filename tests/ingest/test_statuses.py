from unicodedata import normalize

import pytest

from cognition_engines.ingest.adr.references import listed_references, references_in
from cognition_engines.ingest.statuses import drop_choices, normalise_status


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("accepted", "accepted"),
        ("Accepted (lazy consensus) & implemented", "accepted"),
        ("✅ Accepted", "accepted"),
        ("**Approved**", "accepted"),
        ("`Implemented`", "accepted"),
        ("{ accepted }", "accepted"),
        ("adopted", "accepted"),
        ("active", "accepted"),
        ("Final", "accepted"),
        ("done", "accepted"),
        ("implementable", "accepted"),
        ("Partially Implemented", "accepted"),
        ("⌛️ Superseded by 036", "superseded"),
        ("Superceded by [16. Queue](0016-queue.md)", "superseded"),
        ("Accepted, superseded by ADR-5", "superseded"),
        ("Superseded 0019", "superseded"),
        ("replaced by ADR-3", "superseded"),
        ("Partly superseded", "other"),
        ("Accepted, partially superseded by ADR-5", "accepted"),
        ("Accepted; will be superseded by ADR-5", "accepted"),
        ("Accepted. Supersedes ADR-5", "accepted"),
        ("Deprecated (no superseding ADR)", "deprecated"),
        ("obsolete", "deprecated"),
        ("retired", "deprecated"),
        ("declined", "rejected"),
        ("withdrawn", "rejected"),
        ("Rejected (leads to races)", "rejected"),
        ("WIP", "draft"),
        ("{ in-progress }", "draft"),
        ("open", "proposed"),
        ("under discussion", "proposed"),
        ("Proposed, not implemented yet.", "proposed"),
        ("in review", "pending"),
        ("on hold", "pending"),
        ("~~Proposed~~ Accepted", "accepted"),
        ("decided", "decided"),
        ("Reviewed", "reviewed"),
        ("Not-Implemented", "other"),
        ("experimental", "other"),
        ("", "other"),
        ("Accepted. The part about TLS in ADR-2 has been superseded by section 3", "accepted"),
        ("Accepted; the store superseded by [13](0013-x.md)", "accepted"),
        ("Accepted until superseded by ADR-5", "accepted"),
        ("Accepted (2024-05-06), this record has superseded the wiki page", "accepted"),
        ("This has not been superseded by anything yet", "other"),
        ("Nothing here is superseded", "other"),
        ("ADR-2 has been superseded by this record", "other"),
        ("Superseded in part by ADR-5", "other"),
        ("Superseded by: none", "other"),
        ("This record has since been superseded by ADR-5", "superseded"),
        ("Accepted, but superseded on 2024-03-01 by ADR-5", "superseded"),
        ("No longer accepted. Replaced by [5](0005-x.md)", "superseded"),
        ("Supersedes [3. Drop the superseded API](0003-superseded-api.md)", "other"),
        ('Supersedes "The rejected way"', "other"),
        ("Deprecated in favour of [12. The accepted one](0012-x.md)", "deprecated"),
        ("[approved](https://example.org/7) (2022-07-12)", "accepted"),
        ("[![Status: Accepted](accepted.svg)](board.md)", "accepted"),
    ],
)
def test_a_status_is_normalised(text: str, status: str) -> None:
    assert normalise_status(text) == status


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("proposed", "vorgeschlagen, Vorschlag, proposé, proposta, propuesto, voorgesteld, предложено"),
        ("proposed", "提案, 提议中, 제안됨"),
        ("accepted", "Akzeptiert, angenommen, accepté, acceptée, aceptado, aceito, accettato, goedgekeurd, принято"),
        ("accepted", "承認済み, 已接受, 批准, 승인됨, 承認 (2024-03-01), **Akzeptiert**, [Aprobado](board.md)"),
        ("accepted", "in Kraft, en vigueur, umgesetzt, 2024-03-01: Akzeptiert, ~~Vorgeschlagen~~ Akzeptiert"),
        ("rejected", "abgelehnt, verworfen, rejeté, rechazado, rejeitado, respinto, afgewezen, отклонено"),
        ("rejected", "却下, 已拒绝, 거부됨"),
        ("deprecated", "veraltet, obsolète, obsoleto, verouderd, устарело, 廃止, 非推奨, 已废弃, 폐기됨"),
        ("draft", "Entwurf, brouillon, borrador, rascunho, bozza, черновик, 下書き, 草案, 초안"),
        ("superseded", "ersetzt durch ADR-5, Wurde durch ADR-5 ersetzt, remplacé par ADR-5, sustituido por ADR-5"),
        ("superseded", "substituído por ADR-5, sostituito da ADR-5, заменено на ADR-5, 已被 ADR-5 取代, Ersetzt"),
        ("superseded", "Accepté mais remplacé par ADR-5, [Ersetzt durch 5](0005-x.md)"),
        ("decided", "beschlossen, décidé, decidido, 決定, 已决定"),
        ("pending", "ausstehend, en attente, pendiente, 検討中, 待定"),
        ("other", "nicht angenommen, nie zaakceptowany, soll angenommen werden, n'est pas accepté, não aceito"),
        ("other", "не принято, Nicht mehr in Kraft, Teilweise ersetzt durch ADR-5, Ersetzt ADR-3, blau"),
        ("other", "未承認, 承認待ち, 不接受, 미승인"),
    ],
)
def test_a_status_in_another_language_is_normalised(status: str, words: str) -> None:
    found = {word: {normalise_status(normalize(form, word)) for form in ("NFC", "NFD")} for word in words.split(", ")}
    assert found == {word: {status} for word in found}


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("{proposed | rejected | accepted | deprecated | … | superseded by [ADR-0123](0123-example.md)}", None),
        ("[proposed, accepted, rejected]", None),
        ("Proposed, Accepted, Rejected, Deprecated", None),
        ("Accepted or Rejected", None),
        ("proposed | accepted", None),
        ("What is the status, such as proposed, accepted, rejected, deprecated, superseded, etc.?", None),
        ("STATUS", None),
        ("{status}", None),
        ("Vorgeschlagen | Angenommen | Abgelehnt", None),
        ("accepté ou rejeté", None),
        ("Draft | Accepted | **Rejected**", "**Rejected**"),
        # words for one status are no choices
        *((text, text) for text in ("Accepted, Implemented", "accepted (was proposed)", "Accepted / implemented")),
    ],
)
def test_choices_are_a_status_only_if_one_is_chosen(text: str, choice: str | None) -> None:
    assert drop_choices(text) == choice


def test_a_choice_outside_the_brackets_is_chosen() -> None:
    assert (
        normalise_status(drop_choices("Proposed [Proposed, Accepted, Rejected, Superseded by ADR-1]") or "")
        == "proposed"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Superseded by [16. Distributed queue](0016-distributed-queue.md)", ("0016-distributed-queue.md",)),
        ("superseded by [ADR-0062](docs/0062-payload.md#top)", ("0062-payload.md",)),
        ("Superseded by [ADR 23](/adr/23) and [ADR 26](/adr/26)", ("ADR 23", "ADR 26")),
        ("Superseded by ADR-0062", ("ADR-0062",)),
        ("Superseded by ADR 23 and ADR 26.", ("ADR 23", "ADR 26")),
        ("Superseded 0019", ("0019",)),
        ("Ersetzt durch [5. Tor](0005-tor.md)", ("0005-tor.md",)),
        ("Ist durch [5. Tor](0005-tor.md) abgelöst", ("0005-tor.md",)),
        ("Remplacé par ADR-5 et ADR-6", ("ADR-5", "ADR-6")),
        ("已被ADR-5取代", ("ADR-5",)),
        ("⌛️ Superseded by 036", ("036",)),
        ("Superseded by 0012-use-x.md on 2020-01-02", ("0012-use-x.md",)),
        ("Replaced by [the new one](../2022-01-01-new-one/README.md)", ("2022-01-01-new-one",)),
        ("**Superseded by:** DR008", ("DR008",)),
        ("Superseded by 12, 13 & 14 in version 5", ("12", "13", "14")),
        ("Partly superseded by ADR-5", ()),
        ("Superseded by the storage work", ()),
        ("replaced Redis 3", ()),
        ("Superseded by [4. Memcached replaces ADR-3](0004-replaces-redis.md)", ("0004-replaces-redis.md",)),
        ("Superseded by the decision in [7](<0007 b.md>)", ("0007 b.md",)),
        ("[Superseded by](0012-x.md)", ("0012-x.md",)),
        ("**Superseded** by `0012-x.md`", ("0012-x.md",)),
        ("Superseded by [[0012-x|the new one]]", ("0012-x",)),
        ("ADR-2 has been superseded by ADR-3", ()),
        ("parts of this are superseded by [13](0013-x.md)", ()),
    ],
)
def test_what_supersedes_a_record_is_read(text: str, expected: tuple[str, ...]) -> None:
    assert references_in(text).superseded_by == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Accepted, supercedes [3. Queue](0003-queue.md)", ("0003-queue.md",)),
        ("Supersedes [3. Drop the superseded API](0003-superseded-api.md)", ("0003-superseded-api.md",)),
        ("Supersedes [[NET-29] Keep what is superseded](0003-x.md)", ("0003-x.md",)),
        ("Supersedes <0003-superseded-api.md>", ("0003-superseded-api.md",)),
        ("Supersedes https://example.org/adr/0003-superseded-api.md", ("0003-superseded-api.md",)),
        ("Amends [4. Memcached replaces Redis](0004-replaces-redis.md)", ()),
    ],
)
def test_superseded_records_are_read_but_not_from_titles_and_addresses(text: str, expected: tuple[str, ...]) -> None:
    references = references_in(text)
    assert (references.supersedes, references.superseded_by) == (expected, ())


@pytest.mark.parametrize(
    ("text", "expected"), [("ADR-1, ADR-2", ("ADR-1", "ADR-2")), ("use-new-store", ("use-new-store",)), ("none", ())]
)
def test_a_field_of_references_may_hold_any_single_name(text: str, expected: tuple[str, ...]) -> None:
    assert listed_references(text) == expected
