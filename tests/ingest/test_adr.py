import codecs
from datetime import UTC, datetime

import pytest

from cognition_engines.models import Decision, Sensitivity
from cstp.values.decisions import Reason
from tests.ingest.decisions import Reading, read_file

PATH = "docs/adr/0012-use-udp.md"
BODY = "\n## Context\n\nWe had a need.\n\n## Decision\n\nWe met it.\n"


GUIDANCE = (
    'A decision may be "proposed" if the stakeholders have not agreed with it yet, or "accepted" once it is agreed.'
)


def reading(text: str, path: str = PATH) -> Reading:
    return read_file(path, text.encode())


def draft(text: str, path: str = PATH) -> Decision:
    result = reading(text, path)
    assert result.recognised
    assert result.rejected == ()
    (only,) = result.drafts
    return only


def warned(text: str, path: str = PATH) -> str:
    return " / ".join(problem.reason for problem in reading(text, path).warnings)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# 17. Use UDP protocol", "Use UDP protocol"),
        ("# ADR 12: Use UDP", "Use UDP"),
        ("# ADR-0001 - Use UDP", "Use UDP"),
        ("# ADR000: Use UDP", "Use UDP"),
        ("# [ADR-003] Use UDP", "Use UDP"),
        ("# 0007 - Use UDP", "Use UDP"),
        ("# DR008: Use UDP", "Use UDP"),
        ("# Architecture Decision Record: Use UDP", "Use UDP"),
        ("# 1. [NET-29] Use UDP", "[NET-29] Use UDP"),
        ("# 2 Factor authentication", "2 Factor authentication"),
        ("# 508 systems list as a view", "508 systems list as a view"),
        ("# 3-way merge", "3-way merge"),
        ("# Use `snake_case` and *never* [camelCase](x.md)", "Use snake_case and never camelCase"),
        ("# Use snake_case_names", "Use snake_case_names"),
        ("# Use UDP <!-- short -->", "Use UDP"),
        ("## Use UDP ##", "Use UDP"),
        ("#46. Use UDP", "Use UDP"),
        ("Use UDP\n=======", "Use UDP"),
        ("# 12.", "12."),
    ],
)
def test_a_title_loses_its_number_and_its_marks_and_nothing_else(heading: str, title: str) -> None:
    assert draft(heading + "\n" + BODY).title == title


@pytest.mark.parametrize(
    ("head", "text"),
    [
        ("# Use UDP\n\nIntro *here*.\n", "Intro *here*.\n\n## Context\n\nWe had a need.\n\n## Decision\n\nWe met it."),
        ("---\ntitle: Use UDP\n---\n# Use UDP\n", "## Context\n\nWe had a need.\n\n## Decision\n\nWe met it."),
    ],
)
def test_the_text_is_the_markdown_below_the_title(head: str, text: str) -> None:
    assert draft(head + BODY).text == text


@pytest.mark.parametrize(
    ("front", "end"),
    [
        ("deciders: ann, bob\nconsulted:\n  - eve\n  - dan\ninformed:", "deciders: ann, bob\nconsulted: eve, dan"),
        ("status: {proposed}\ndeciders: { A B }\n  { C }", "deciders: { A B } { C }"),
        ("date: 2023-24-05", "date: 2023-24-05"),
    ],
)
def test_front_matter_without_a_field_ends_the_text(front: str, end: str) -> None:
    assert draft(f"---\n{front}\n---\n# A\n{BODY}").text.endswith(f"We met it.\n\n{end}")


@pytest.mark.parametrize(
    ("head", "fields"),
    [
        ("---\n# optional\nstatus: accepted\n---\n# A\n", {"status": "accepted", "status_text": "accepted"}),
        ("---\nstatus: {proposed}\ndate: {2023-11-10}\n---\n# A\n", {"status": "proposed", "date": day("2023-11-10")}),
        ("---\nstatus: accepted\ndate: 2023-05-29\n---\n# A\n", {"date": day("2023-05-29")}),
        ("---\ntitle: |\n  17. Use UDP\n---\n\n## Status\n\nDraft\n", {"title": "Use UDP"}),
        ("---\nstage: accepted\n---\n# A\n", {"status": "accepted"}),
        ("---\nstate: accepted\n---\n# A\n", {"status": "accepted"}),
        ("---\ntags: [Accepted]\n---\n# A\n", {"status": "accepted"}),
        ("---\ntags: [Accepted]\n---\n# A\n\n## Status\n\nProposed\n", {"status": "proposed"}),
        ("---\ntags: a, b\n---\n# A\n", {"tags": ("a", "b")}),
        ("---\ntags: [billing, 2024, true]\n---\n# A\n", {"tags": ("billing", "2024", "true")}),
        ("---\ntags: 2024\n---\n# A\n", {"tags": ("2024",)}),
        (
            "# A\n\n## Status\n\n> ⌛️ Superseded by [036](036-x.md)\n",
            {"status_text": "⌛️ Superseded by 036", "superseded_by": ("036-x.md",)},
        ),
        (
            "# A\n\n## Status\n\nAccepted\n\nThe draft was rejected by nobody.\n",
            {"status": "accepted", "status_text": "Accepted"},
        ),
        (
            "# A\n\n* Status: Proposed [Proposed, Accepted, Superseded by ADR-1]\n",
            {
                "status": "proposed",
                "superseded_by": (),
                "status_text": "Proposed [Proposed, Accepted, Superseded by ADR-1]",
            },
        ),
        (
            "# A\n\n- **Status:** Accepted (2024-05-06), this record has\n  superseded the wiki page\n"
            "- **Supersedes:** 3,\n  4\n",
            {
                "status": "accepted",
                "supersedes": ("3", "4"),
                "superseded_by": (),
                "status_text": "Accepted (2024-05-06), this record has superseded the wiki page",
            },
        ),
        (
            "---\nsupersedes: [ADR-1, 2]\nsuperseded-by: 0009-new.md\n---\n# A\n\n* Superseded by: ADR-10\n"
            "\n## Links\n\n* Supersedes [ADR-3](0003-c.md)\n",
            {"supersedes": ("ADR-1", "2", "0003-c.md"), "superseded_by": ("0009-new.md", "ADR-10")},
        ),
        (f"# A\n{BODY}\n## Status\n\nPROPOSED\n", {"status": "proposed"}),
        (f"# A\n{BODY}\n## Status\n\nThe interface gets a property.\n", {"status": None}),
        ("# A\n\n```yaml\nstatus: accepted\n# B\n```\n", {"status": None}),
        ("# A\n\n<!--\nStatus: accepted\n-->\nStatus: rejected\n", {"status": "rejected"}),
        (
            "# A\n\n## Changelog\n\n- 2021/04/23: Deprecated\n- 18/05/2020: Draft, see 2019-01-01\n",
            {"date": day("2020-05-18")},
        ),
        (
            "# A\n\n| Revision | Date | Info |\n|---|---|---|\n| 1 | 2021-05-06 | first |\n| 2 | 2022-05-06 | more |\n",
            {"date": day("2021-05-06")},
        ),
    ],
)
def test_fields_are_read_from_front_matter_sections_and_lists(head: str, fields: dict[str, object]) -> None:
    record = draft(head if BODY in head else head + BODY)
    assert {name: getattr(record, name) for name in fields} == fields


def test_a_repeated_front_matter_member_refuses_the_record() -> None:
    (problem,) = reading("---\nstatus: accepted\nstatus: rejected\n---\n# Use UDP\n" + BODY).rejected
    assert (problem.line, problem.reason) == (3, "'status' is given twice")


@pytest.mark.parametrize(
    "header",
    [
        "Status: Accepted\nDate: 2020-01-02",
        "**Status**: Accepted\n**Date**: 2020-01-02",
        "**Status:** Accepted\n\n**Date:** 2020-01-02",
        "* Status: Accepted\n* Date: 2020-01-02",
        "- **Status:** Accepted\n- **Date:** 2 January 2020",
        "Status: Accepted | Date: 2020-01-02",
        "Date:\n2020-01-02\n\nStatus:\n\nAccepted",
        "| Status | Accepted |\n|---|---|\n| Date | 2020-01-02 |",
        "|Metadata|Value|\n|---|---|\n|Date |2020-01-02|\n|Status |Accepted|",
        "| Status | Date |\n|---|---|\n| Accepted | 2020-01-02 |",
        "## Status\n\nAccepted\n\n## Date\n\n2020-01-02",
        "## Status\n\n> Accepted\n\nDate: 2020-01-02",
        "## Status: Accepted\n\n## Date: 2020-01-02",
        "## Status\n\nAccepted (2020-01-02)",
        "Status\n------\n\nAccepted\n\nDate\n----\n\n02.01.2020",
        "## Status\n\n- [ ] Proposed\n- [x] Accepted\n\n## Date\n2020-01-02",
        "## Status\n\n2019-12-01: proposed\n2020-01-02 accepted",
        "## Metadata\n\nStatus: Accepted\nDate: 2020-01-02",
        "1. **Status:** Accepted\n2. **Date:** 2020-01-02",
        "> - Status: Accepted\n>   - Date: 2020-01-02",
        "Status | Date\n--|--\nAccepted | 2020-01-02",
        "Status: Accepted\nDate: 2020-01-02\n---",
        "##Status\n\nAccepted\n\n##Date\n\n2020-01-02",
        "<table>\n<tr><th>Status</th><td>Accepted</td></tr>\n<tr><th>Date</th><td>2020-01-02</td></tr>\n</table>\n",
        "## Status\n\n| Date | Status |\n|---|---|\n| 2019-01-02 | Proposed |\n| 2020-01-02 | Accepted |",
        "## Status\n\n- [approved](https://example.org/7) (2020-01-02)\n- [proposed](#6) (2019-01-02)",
        "## Status\n\n_What is the status: proposed, accepted, rejected?_\n\nAccepted (2020-01-02)",
        "## Status\n\n*Choose one of the values below.*\n\nAccepted (2020-01-02)",
        "## Changelog\n\n- [approved](https://example.org/7) (2020-01-02)\n- removed a picture (2020-03-04)",
        "Status: Accepted\n\nDatum: 2. Januar 2020",
        "Status: Accepted\n\n日付：2020年1月2日",
    ],
)
def test_status_and_date_are_found_wherever_people_put_them(header: str) -> None:
    record = draft(f"# Use UDP\n\n{header}\n{BODY}")
    assert (record.status, record.date) == ("accepted", day("2020-01-02"))


def test_the_original_status_is_at_most_200_characters() -> None:
    record = draft("# A\n\n## Status\n\nAccepted " + "because " * 100 + BODY)
    assert record.status_text is not None
    assert len(record.status_text) <= 200


@pytest.mark.parametrize(
    ("section", "status", "supersedes", "superseded_by"),
    [
        ("Superseded\nby [7. B](0007-b.md)", "superseded", (), ("0007-b.md",)),
        ("Superseded by ADR-7,\nADR-8 and ADR-9", "superseded", (), ("ADR-7", "ADR-8", "ADR-9")),
        ("Superseded by:\n\n- [7. B](0007-b.md)\n- 8", "superseded", (), ("0007-b.md", "8")),
        ("Superseded by the following records:\n* ADR-7\n* ADR-8", "superseded", (), ("ADR-7", "ADR-8")),
        ("Supersedes [3. Drop the\nsuperseded API](0003-c.md)\n\nAccepted", "accepted", ("0003-c.md",), ()),
        ("Supersedes\n- [3](3.md)\n- Rope ([4](4.md))\n\nAmends:\n- [5](5.md)\n\nDraft", "draft", ("3.md", "4.md"), ()),
        ("- Accepted\n- Supersedes:\n  - [3](0003-c.md)\n  - 4", "accepted", ("0003-c.md", "4"), ()),
        ("Accepted\n\nThis has not been\nsuperseded by anything yet.", "accepted", (), ()),
        ("Accepted. The part about TLS has been\nsuperseded by ADR-7.", "accepted", (), ()),
        ("Accepted\n\n> Parts of this are\n> superseded by [7](0007-b.md)", "accepted", (), ()),
        ("Accepted\n\nSuperseded by:", "accepted", (), ()),
        ("Accepted\n\nSuperseded by [2. B](0002-b.md)", "superseded", (), ("0002-b.md",)),
        ("Supersedes [1. Z](0001-z.md)\n\nAccepted", "accepted", ("0001-z.md",), ()),
        ("accepted\nsuperseded by 7", "superseded", (), ("7",)),
        (f"{GUIDANCE}\n\nRejected", "rejected", (), ()),
        (f"> {GUIDANCE} A later ADR may reverse it.\n\nRejected", "rejected", (), ()),
        ("> [!NOTE]\n> Write one of: proposed, accepted, superseded.\n\nDeprecated", "deprecated", (), ()),
        ("> [!NOTE]\n> Deprecated", "deprecated", (), ()),
        ("Accepted. Supersedes both [3. C](0003-c.md) and [4](4.md).", "accepted", ("0003-c.md", "4.md"), ()),
        ("Accepted\n\nSupersedes our earlier decision [2. B](0002-b.md)", "accepted", ("0002-b.md",), ()),
        ("Replaces all of our previous decisions:\n\n- [2](2.md)\n- [3](3.md)\n\nDraft", "draft", ("2.md", "3.md"), ()),
        ("Superseded by [Twelve, see ADR-7][t]\n\n[T]: 0012-x.md", "superseded", (), ("0012-x.md",)),
        ("Superseded by [12. Twelve][]\n\n[12. twelve]: <0012 x.md>", "superseded", (), ("0012 x.md",)),
        ("Superseded by [12. Twelve]\n\n[12. Twelve]: 0012-x.md", "superseded", (), ("0012-x.md",)),
        ("Superseded by [11. New][eleven]", "superseded", (), ()),
        ("Superseded by [Twelve, see ADR-7][t]", "superseded", (), ()),
        ("Accepted by the board, after a long talk with all\nTeams.\n\nRejected", "accepted", (), ()),
    ],
)  # fmt: skip
def test_a_statement_runs_over_lines_and_has_the_list_below_it(
    section: str, status: str, supersedes: tuple[str, ...], superseded_by: tuple[str, ...]
) -> None:
    record = draft(f"# A\n\n## Status\n\n{section}\n{BODY}")
    assert (record.status, record.supersedes, record.superseded_by) == (status, supersedes, superseded_by)


def test_a_choice_list_with_none_chosen_is_no_status_and_noticed() -> None:
    text = "# A\n\n* Status: {proposed | rejected | accepted}\n" + BODY
    assert (draft(text).status, draft(text).status_text) == (None, None)
    assert "choices" in warned(text)


@pytest.mark.parametrize("lead", ["<!-- licence -->\n", "\ufeff", "<!-- a -->\n<!--\nb\n-->\n\n", "\n\n"])
def test_what_stands_before_the_front_matter_is_passed_over(lead: str) -> None:
    record = draft(lead + "---\nstatus: accepted\n---\n<!-- c -->\n# Use UDP\n" + BODY)
    assert (record.title, record.status) == ("Use UDP", "accepted")
    assert record.text.startswith("## Context")


def test_other_line_ends_are_read_alike() -> None:
    text = "---\nstatus: accepted\n---\n# Use UDP\n" + BODY
    assert draft(text.replace("\n", "\r\n")) == draft(text) == draft(text.replace("\n", "\r"))


@pytest.mark.parametrize(
    "header",
    [
        "## Date\n\n9. März 2024\n\n## Status\n\nAccepted",
        "##Status\nAccepted\n\n##Date\n9. März 2024",
        "## Status\n\nAccepted\n\n9. March 2024",
        "## Statut\n\nAccepté\n\n2024-03-09",
        "9. März 2024\n\n## Status\n\nAccepted",
        "2024-03-09\n\n## Status\n\nAccepted",
        "| Datum | Status |\n|---|---|\n| 9. März 2024 | Accepted |",
        "| | |\n|-|-|\n| **Status** | Accepted |\n| **Datum** | 9. März 2024 |",
        "## Change log\n\n- [approved](https://x.example) (2024-03-09)\n- [proposed](https://x.example) (2024-01-01)",
        "## History\n\n| Date | By | Change |\n|-|-|-|\n| 2024-03-09 | Ana | Approved |\n| 2024-01-01 | B | Proposed |",
    ],
)
def test_a_date_alone_in_other_words_and_of_an_approval_is_that_of_the_record(header: str) -> None:
    record = draft(f"# A\n\n{header}\n{BODY}")
    assert (record.status, record.date) == ("accepted", day("2024-03-09"))


def test_a_change_whose_date_cannot_be_one_leaves_none() -> None:
    text = "# A\n\n## Changelog\n\n- 2023-24-05: draft\n- 2023-07-01: done\n" + BODY
    assert draft(text).date is None
    assert "2023-24-05" in warned(text)


@pytest.mark.parametrize(
    ("head", "path", "date"),
    [
        ("# A\n", "adr/2022-03-28_017-x.md", "2022-03-28"),
        ("# A\n", "adr/2022-03-28-x/README.md", "2022-03-28"),
        ("# A\n", "adr/2022-03-28-x.md", "2022-03-28"),
        ("# A\n\nDate: 2020-01-01\n", "adr/2022-03-28-x.md", "2020-01-01"),
    ],
)
def test_a_stated_date_is_trusted_before_that_of_the_name(head: str, path: str, date: str) -> None:
    assert draft(head + BODY, path).date == day(date)


@pytest.mark.parametrize("date", ["20201-02-13", "2023-24-05", "{YYYY-MM-DD when last updated}", "May 2025"])
def test_a_date_that_cannot_be_one_is_none_and_its_line_shown(date: str) -> None:
    text = f"---\ndate: {date}\n---\n# A\n{BODY}"
    assert draft(text).date is None
    (problem,) = reading(text).warnings
    assert (problem.line, date in problem.reason) == (2, True)


def test_a_refused_record_reports_its_broken_date_and_all_else_that_is_wrong() -> None:
    front = "---\ndate: soon\nconfidence: 2\nstakes: []\ntype: adr\n---\n"
    found = reading(f"{front}# A\n\nWords.\n")
    (refused,) = found.rejected
    assert ["confidence" in refused.reason, "stakes" in refused.reason] == [True, True]
    assert [problem.line for problem in found.warnings if "not a full date" in problem.reason] == [2]


def test_after_a_broken_date_a_full_one_in_the_name_is_taken_with_a_warning() -> None:
    text = "# A\n\nDate: 2023-24-05\n" + BODY
    assert draft(text, "adr/2023-05-24-a.md").date == day("2023-05-24")
    assert "2023-24-05" in warned(text, "adr/2023-05-24-a.md")


def test_without_a_title_the_words_of_the_name_are_taken() -> None:
    record = draft("## Context and Problem Statement\n\nx\n\n## Decision\n\ny\n", "adr/0018-kernel-hooks.md")
    assert record.title == "kernel hooks"
    assert "no title" in warned("## Context\n\nx\n\n## Decision\n\ny\n", "adr/0018-kernel-hooks.md")
    unfilled = "---\nstatus: accepted\ndate: 2024-03-15\n---\n# {short title of solved problem}\n" + BODY
    assert draft(unfilled, "adr/0039-set-plugin-name.md").title == "set plugin name"
    text = "## Status\n\nAccepted\n\n## Decision\n\nWe use UDP.\n"
    assert draft(text, "docs/2023-12-19-use-udp/README.md").title == "use udp"
    assert draft(text, "docs/use-udp/README.md").title == "use udp"
    assert not reading(text, "README.md").recognised


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.md", "# Notes\n\nJust words.\n"),
        ("README.md", "# Decisions\n\n- [1. Use UDP](0001-use-udp.md)\n- [2. Use TCP](0002-use-tcp.md)\n"),
        ("README.md", "# Tool\n\n## Status\n\nActive development\n"),
        ("index.md", "# Records\n\n| ADR | Status | Date |\n|---|---|---|\n| 1 | Accepted | 2020-01-01 |\n"),
        ("CONTRIBUTING.md", "# How to\n\n## Background\n\nx\n"),
        ("adr-template.md", "# A\n" + BODY),
        ("0000-template.md", "# A\n" + BODY),
        ("form.md", "# {short title of solved problem}\n\n* Status: {proposed | accepted}\n" + BODY),
        ("form.md", "# [short title of solved problem and solution]\n" + BODY),
        ("form.md", "# NUMBER. TITLE\n\nDate: DATE\n\n## Status\n\nSTATUS\n" + BODY),
        ("empty.md", ""),
        ("blank.md", "\n\n  \n"),
        # one mark is too little
        ("x.md", "# A\n\n## Context\n\nx\n\n## Consequences\n\ny\n"),
        ("x.md", "# A\n\n## Decision Outcome\n\nx\n"),
        ("x.md", "# A\n\nStatus: accepted\n"),
        ("x.md", "# A\n\nStatus: done\n\nDecision: we go on.\n"),
        ("x.md", "# A\n\nStatus: done\n\n## Attendees\n\nAna\n\n## Decision\n\nWe go on.\n"),
        ("0001-x.md", "# A\n\nwords\n"),
        ("adr-12-x.md", "# A\n\nwords\n"),
        ("2022-03-28-x.md", "# A\n\nwords\n"),
        ("2022-03-28-x/README.md", "# A\n\nwords\n"),
        ("some/folder/README.md", "# A\n\n## Decision\n\nx\n"),
        ("adr/notes.md", "# A\n\nwords\n"),
        ("adr/notes-2024.md", "# A\n\nwords\n"),
        ("adr/team-notes-202401.md", "# A\n\nwords\n"),
        ("adr/week-12.md", "# A\n\nwords\n"),
        ("adr/one/two/three/0001-x.md", "# A\n\nwords\n"),
        ("x.md", "---\ntype: guide\n---\n# A\n\nwords\n"),
    ],
)
def test_a_file_without_the_marks_of_a_decision_is_not_recognised(path: str, text: str) -> None:
    assert reading(text, path) == Reading(recognised=False)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("x.md", "# A\n\nStatus: accepted\n\n## Decision\n\nx\n"),
        ("x.md", "# A\n\n## Status\n\nIn use since May\n\n## Decision Outcome\n\nx\n"),
        ("x.md", "# A\n\n| Status | Agreed |\n|---|---|\n\n## Context\n\nx\n\n## Consequences\n\ny\n"),
        ("x.md", "---\nstatus: accepted\n---\n# A\n\n## Decision Drivers\n\nx\n"),
        ("x.md", "---\ntype: ADR\n---\n# A\n\nwords\n"),
        ("x.md", "---\nkind: decision\n---\n# A\n\nwords\n"),
        ("x.md", "---\nlayout: architecture-decision-record\n---\n# A\n\nwords\n"),
        ("some/folder/README.md", "# A\n\n## Status\n\nAccepted\n\n## Decision\n\nx\n"),
        ("docs/adr/0001-x.md", "# A\n\nwords\n"),
        ("docs/ADR/ADR-0001.md", "# A\n\nwords\n"),
        ("adrs/adr-12-x.md", "# A\n\nwords\n"),
        ("DecisionRecords/12 x.md", "# A\n\nwords\n"),
        ("decisions/7-x.md", "# A\n\nwords\n"),
        ("architecture_decisions/2022-03-28_017-x.md", "# A\n\nwords\n"),
        ("docs/decision-records/2022-03-28-x/README.md", "# A\n\nwords\n"),
        ("docs\\adr\\payments\\adr-pay-001.md", "# A\n\nwords\n"),
        ("adr/0005-use-adr-template.md", "# A\n\nwords\n"),
        ("adr/2024-01-02-x.md", "# A\n\n## Context\n\nx\n\n## Decision\n\ny\n"),
        ("adr/2024-001-x.md", "# A\n\nwords\n"),
        ("adr/shop-0012-x.md", "# A\n\nwords\n"),
        ("adr/shop-adr-7.md", "# A\n\nwords\n"),
        ("adr/20240102.md", "# A\n\n## Status\n\nDone\n\n## Decision\n\ny\n"),
    ],
)
def test_a_file_with_the_marks_of_a_decision_is_recognised(path: str, text: str) -> None:
    assert draft(text, path).title == "A"


def test_front_matter_may_give_every_field() -> None:
    text = (
        "---\nid: net-1\ntitle: Use UDP\nstatus: accepted\ndate: 2020-01-02\ncategory: network\nconfidence: 0.8\n"
        "stakes: high\noutcome: good\ntags: [a, b]\nproject: p\nsensitivity: sensitive\n"
        "reasons:\n  - analysis\n  - type: pattern\n    text: seen before\n---\n" + BODY
    )
    record = draft(text)
    assert (record.id, record.title, record.category, record.confidence) == ("net-1", "Use UDP", "network", 0.8)
    assert (record.stakes, record.outcome, record.tags, record.project) == ("high", "good", ("a", "b"), "p")
    assert record.sensitivity is Sensitivity.SENSITIVE
    assert record.reasons == (Reason("analysis"), Reason("pattern", "seen before"))
    assert record.text.endswith("We met it.")


def test_what_the_file_does_not_say_is_none() -> None:
    record = draft("# A\n" + BODY)
    fields = (record.id, record.category, record.confidence, record.stakes, record.outcome, record.project)
    assert fields == (None,) * 6
    assert (record.status, record.date, record.tags, record.sensitivity) == (None, None, (), None)


@pytest.mark.parametrize(
    ("member", "name"),
    [
        ("confidence: high", "confidence"),
        ("confidence: 2", "confidence"),
        ("sensitivity: secret", "sensitivity"),
        ("tags: [a, [b]]", "tags"),
        ("tags: [a", "tags"),
        ("id: two words", "id"),
        ("reasons: [{x: 1}]", "reasons"),
    ],
)
def test_a_bad_front_matter_field_rejects_the_record_and_names_field_and_line(member: str, name: str) -> None:
    result = reading(f"---\nstatus: accepted\n{member}\n---\n# A\n{BODY}")
    assert result.drafts == ()
    (problem,) = result.rejected
    assert (problem.file, problem.line, problem.reason.startswith(name)) == (PATH, 3, True)


@pytest.mark.parametrize(
    ("text", "name"),
    [(f"# {'a' * 3_991}{BODY}", "title"), (f"###### {'a' * 40_000}{BODY}", "title"), ("# A\n" + BODY + "\0", "text")],
)
def test_a_long_title_and_a_nul_are_refused(text: str, name: str) -> None:
    (problem,) = reading(text).rejected
    assert problem.reason.startswith(name)


@pytest.mark.parametrize(
    ("path", "text", "line"), [("0001-x.md", "# A\n\nStatus: accepted\n\ncafé\n", 5), ("x.md", "# Café\n", 1)]
)
def test_bytes_that_are_not_utf_8_are_refused_with_the_line_of_the_first(path: str, text: str, line: int) -> None:
    (problem,) = read_file(path, text.encode("latin-1")).rejected
    assert (problem.line, "UTF-8" in problem.reason) == (line, True)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_utf_16_with_its_mark_is_read_and_refused_where_it_is_broken(mark: bytes) -> None:
    order = "utf-16-le" if mark == codecs.BOM_UTF16_LE else "utf-16-be"
    written = mark + "# Grüße 🚢\n\nStatus: accepted\n\n## Decision\n\nWe do.\n".encode(order)
    assert [(one.title, one.status) for one in read_file("0001-x.md", written).drafts] == [("Grüße 🚢", "accepted")]
    (problem,) = read_file("0001-x.md", written + "\ud800".encode(order, "surrogatepass")).rejected
    assert "UTF-16 with a broken character" in problem.reason


def test_a_title_or_status_whose_quote_is_not_closed_gives_way_to_the_headings() -> None:
    text = (
        '---\ntitle: "unclosed\nstatus: [a\n---\n# Keep it simple\n\n## Status\n\nAccepted\n\n## Decision\n\nWe do.\n'
    )
    reading = read_file("0001-x.md", text.encode())
    assert (reading.drafts[0].title, reading.drafts[0].status) == ("Keep it simple", "accepted")
    assert [problem.line for problem in reading.warnings] == [2, 3]


@pytest.mark.parametrize(
    ("front", "parts"),
    [
        ('affects: [src/**, "!src/gen/**"]', [("path", "src/**"), ("path", "!src/gen/**")]),
        ("paths:\n  - docs/\n  - {type: package, pattern: starlette}", [("path", "docs/"), ("package", "starlette")]),
        ("affects: src/x.py", [("path", "src/x.py")]),
    ],
)
def test_the_front_matter_names_what_a_decision_governs(front: str, parts: list[tuple[str, str]]) -> None:
    found = draft(f"---\nstatus: accepted\n{front}\n---\n# Version the API\n\nIn its path.\n")
    assert [(one.type, one.pattern) for one in found.affects] == parts
    assert (found.text, found.metadata) == ("In its path.", {})


@pytest.mark.parametrize(
    ("front", "reason"),
    [
        ("affects: [ok, a**b**c]", "affects: pattern 2 must have at most 3 * between two slashes: 'a**b**c'"),
        ("paths: [../x]", "affects: pattern 1 must be relative to the root of the repository"),
        ("affects: [a]\npaths: [b]", "affects is given twice, as paths, too"),
        ("affects: [{component: x}]", "affects must be a list of at most 100 patterns"),
    ],
)
def test_a_bad_pattern_refuses_the_file_and_is_named(front: str, reason: str) -> None:
    (refused,) = reading(f"---\nstatus: accepted\n{front}\n---\n# Version the API\n\nIn its path.\n").rejected
    assert refused.reason.startswith(reason)
