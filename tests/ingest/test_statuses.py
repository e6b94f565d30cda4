import pytest

from cognition_engines.ingest.adr.references import listed_references, references_in
from cognition_engines.ingest.statuses import chosen, normalise_status


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
    ],
)
def test_a_status_is_normalised(text: str, status: str) -> None:
    assert normalise_status(text) == status


@pytest.mark.parametrize(
    "text",
    [
        "{proposed | rejected | accepted | deprecated | … | superseded by [ADR-0123](0123-example.md)}",
        "[proposed, accepted, rejected]",
        "Proposed, Accepted, Rejected, Deprecated",
        "Accepted or Rejected",
        "proposed | accepted",
        "What is the status, such as proposed, accepted, rejected, deprecated, superseded, etc.?",
        "STATUS",
        "{status}",
    ],
)
def test_a_list_of_choices_with_none_chosen_is_no_status(text: str) -> None:
    assert chosen(text) is None


def test_a_choice_outside_the_brackets_is_chosen() -> None:
    text = chosen("Proposed [Proposed, Accepted, Rejected, Superseded by ADR-1]")
    assert text is not None
    assert normalise_status(text) == "proposed"


@pytest.mark.parametrize("text", ["Accepted, Implemented", "accepted (was proposed)", "Accepted / implemented"])
def test_two_words_for_one_status_are_no_list_of_choices(text: str) -> None:
    assert chosen(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Superseded by [16. Distributed queue](0016-distributed-queue.md)", ("0016-distributed-queue.md",)),
        ("superseded by [ADR-0062](docs/0062-payload.md#top)", ("0062-payload.md",)),
        ("Superseded by [ADR 23](/adr/23) and [ADR 26](/adr/26)", ("ADR 23", "ADR 26")),
        ("Superseded by ADR-0062", ("ADR-0062",)),
        ("Superseded by ADR 23 and ADR 26.", ("ADR 23", "ADR 26")),
        ("Superseded 0019", ("0019",)),
        ("⌛️ Superseded by 036", ("036",)),
        ("Superseded by 0012-use-x.md on 2020-01-02", ("0012-use-x.md",)),
        ("Replaced by [the new one](../2022-01-01-new-one/README.md)", ("2022-01-01-new-one",)),
        ("**Superseded by:** DR008", ("DR008",)),
        ("Superseded by 12, 13 & 14 in version 5", ("12", "13", "14")),
        ("Partly superseded by ADR-5", ()),
        ("Superseded by the storage work", ()),
        ("replaced Redis 3", ()),
    ],
)
def test_what_supersedes_a_record_is_read(text: str, expected: tuple[str, ...]) -> None:
    assert references_in(text).superseded_by == expected


def test_what_a_record_supersedes_is_read() -> None:
    references = references_in("Accepted, supercedes [3. Queue](0003-queue.md)")
    assert references.supersedes == ("0003-queue.md",)
    assert references.superseded_by == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("ADR-1, ADR-2", ("ADR-1", "ADR-2")), ("use-new-store", ("use-new-store",)), ("none", ())]
)
def test_a_field_of_references_may_hold_any_single_name(text: str, expected: tuple[str, ...]) -> None:
    assert listed_references(text) == expected
