"""Periods named in a question, and words that only resemble them."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from cognition_engines.relevance import Language
from cognition_engines.search.signals.dates import read_interval
from cognition_engines.search.temporal import read_days
from cognition_engines.search.temporal_days import Days

TODAY = date(2024, 6, 15)  # a Saturday

READ = {
    "what did we decide about caching in March 2024": "2024-03-01 2024-03-31",
    "in May": "2024-05-01 2024-05-31",
    "in may we decided": "2024-05-01 2024-05-31",
    "in December": "2023-12-01 2023-12-31",
    "the January outage": "2024-01-01 2024-01-31",
    "last May": "2024-05-01 2024-05-31",
    "this December": "2024-12-01 2024-12-31",
    "mid-August 2023": "2023-08-01 2023-08-31",
    "Sept 2023": "2023-09-01 2023-09-30",
    "on 7 May 2023": "2023-05-07 2023-05-07",
    "the 7th of May, 2023": "2023-05-07 2023-05-07",
    "May 7th": "2024-05-07 2024-05-07",
    "December 1,2023?": "2023-12-01 2023-12-01",
    "on July 4 it broke": "2023-07-04 2023-07-04",
    "February 29": "2024-02-29 2024-02-29",
    "(2023-05-07)": "2023-05-07 2023-05-07",
    "at 2023-05-07T10:30:00Z": "2023-05-07 2023-05-07",
    "in 2023-05": "2023-05-01 2023-05-31",
    "what happened in 2023": "2023-01-01 2023-12-31",
    "the year 2023 in rows": "2023-01-01 2023-12-31",
    "at the end of 2023": "2023-01-01 2023-12-31",
    "Q2 2023": "2023-04-01 2023-06-30",
    "2023 Q2": "2023-04-01 2023-06-30",
    "Q2/2023": "2023-04-01 2023-06-30",
    "in Q3": "2023-07-01 2023-09-30",
    "yesterday": "2024-06-14 2024-06-14",
    "as of today": "2024-06-15 2024-06-15",
    "last week": "2024-06-03 2024-06-09",
    "this week": "2024-06-10 2024-06-16",
    "last month": "2024-05-01 2024-05-31",
    "this quarter": "2024-04-01 2024-06-30",
    "last year": "2023-01-01 2023-12-31",
    "two weeks ago": "2024-05-27 2024-06-02",
    "3 days ago": "2024-06-12 2024-06-12",
    "a year ago": "2023-01-01 2023-12-31",
    "in the last three months": "2024-03-15 2024-06-15",
    "over the past year": "2023-06-15 2024-06-15",
    "since Q2 2023": "2023-04-01 -",
    "before last week": "- 2024-06-02",
    "since last week": "2024-06-03 -",
    "since yesterday": "2024-06-14 -",
    "since two weeks ago": "2024-05-27 -",
    "until yesterday": "- 2024-06-14",
    "after this month": "2024-07-01 -",
    "before the end of 2023": "- 2023-12-30",
    "since the start of 2023": "2023-01-01 -",
    "until the end of last month": "- 2024-05-31",
    "on or after 7 May 2023": "2023-05-07 -",
    "on or before May 7, 2023": "- 2023-05-07",
    "from 2020 until last month": "- 2024-05-31",
    "in May '23": "2023-05-01 2023-05-31",
    "in May '95": "1995-05-01 1995-05-31",
    "the last 30 days": "2024-05-16 2024-06-15",
    "on 29 February 2024": "2024-02-29 2024-02-29",
    "before 2023": "- 2022-12-31",
    "after 7 May 2023": "2023-05-08 -",
    "until June 2023": "- 2023-06-30",
    "since May 2023 but before 2024": "2023-05-01 2023-12-31",
    "the week before August 3, 2023": "2023-07-27 2023-08-02",
    "two days after 7 May 2023": "2023-05-08 2023-05-09",
    "between March and May 2023": "2023-03-01 2023-05-31",
    "from November 2022 until February": "2022-11-01 2023-02-28",
    "from August to February": "2023-08-01 2024-02-29",
    "in May and June 2023": "2023-05-01 2023-06-30",
    "compare May 2022 with July 2023": "2022-05-01 2023-07-31",
    "what did we decide 2022-2024": "2022-01-01 2024-12-31",
    "decisions, 2022–2024": "2022-01-01 2024-12-31",
    "the 2022—2024 roadmap": "2022-01-01 2024-12-31",
    "in 2022-2023 we moved": "2022-01-01 2023-12-31",
    "from 2022-2024": "2022-01-01 2024-12-31",
    "between 2022-2024": "2022-01-01 2024-12-31",
    "since 2022-2024": "2022-01-01 -",
    "before 2022-2024": "- 2021-12-31",
    "from 2022 to 2024": "2022-01-01 2024-12-31",
    "what changed from 2022 until 2023 in the API": "2022-01-01 2023-12-31",
    "between 2022 and 2024": "2022-01-01 2024-12-31",
    "early 2023": "2023-01-01 2023-04-30",
    "mid-2023": "2023-05-01 2023-08-31",
    "decisions of mid 2023": "2023-05-01 2023-08-31",
    "in late 2023": "2023-09-01 2023-12-31",
    "the late-2023 outages": "2023-09-01 2023-12-31",
    "since mid-2023": "2023-05-01 -",
    "before mid-2023": "- 2023-04-30",
    "until early 2023": "- 2023-04-30",
    "between late 2022 and mid-2023": "2022-09-01 2023-08-31",
    "from early 2022 to late 2023": "2022-01-01 2023-12-31",
    "late 2022 and early 2023": "2022-09-01 2023-04-30",
    "early May 2023": "2023-05-01 2023-05-31",
}
UNREAD = """we may march on
may I cache this
this may break
what may in practice fail
log in may not work
in may not be null
option 7 may fail
May 5 users log in?
the march of progress
an august body
dec 12
ask April about it
the second attempt now
version 2.0.23
HTTP 404 errors
port 2023 is open
up to 2023 rows
in 2000 requests
after 2000 ms
fits in 2048 tokens
between 1024 and 2048
between 2000 and 2010 connections
rfc 2119 from 1997
in 2,000 rows
CVE-2023-1234
dec-12
log-2023-05-07.txt
2023-05
2023-13-40
on 05/07/2023
Q1: what is it
it takes 5 minutes to start
one day of work
the last of the cranes
since the crane
99999 years ago
9999 years ago
in May 2023 before 2022
between
not in May
what was decided outside of May 2023
in May 1895
since May 1776
on 7 May 2123
two days after 31 December 9999
29 February 2023
February 29, 2023
30 February
on February 30
31 April
the week before
python 3.11-3.13
1000-2000 requests
1900-2000 requests
2000-2010 connections
between 2000-2010 connections
ports 2000-2010
pages 1990-2010 of the book
error codes 2000-2010
versions 2016-2019
windows server 2016-2019
v2022-2024
1.2022-2024
2022-2024-05
CVE-2020-2021
RFC 2000-2010
2024-2022
2022-2022
2022-2090
2022-24
not in 2022-2024
from 2000 to 2010 connections
from 1024 to 2048
from 2024 to 2022
from 2022 to 2090
the limit from 2000 to 2020
not in late 2023
mid-2090
mid-2000s
mid-size tenants
late-night deploys"""
OTHERS: list[tuple[Language, str, str]] = [
    ("de", "Was haben wir im Mai 2023 entschieden?", "2023-05-01 2023-05-31"),
    ("de", "vor dem 7. Mai", "- 2024-05-06"),
    ("de", "am 07.05.2023", "2023-05-07 2023-05-07"),
    ("de", "im Jahr 2022 galt", "2022-01-01 2022-12-31"),
    ("de", "gestern", "2024-06-14 2024-06-14"),
    ("de", "seit gestern", "2024-06-14 -"),
    ("it", "prima di maggio 2023", "- 2023-04-30"),
    ("fr", "en août 2023", "2023-08-01 2023-08-31"),
    ("fr", "avant le 7 mai", "- 2024-05-06"),
    ("es", "entre marzo y mayo de 2023", "2023-03-01 2023-05-31"),
    ("it", "nel 2023", "2023-01-01 2023-12-31"),
    ("pt", "em março", "2024-03-01 2024-03-31"),
    ("nl", "sinds maart 2023", "2023-03-01 -"),
    ("de", "von 2022 bis 2024", "2022-01-01 2024-12-31"),
    ("fr", "décisions de 2022–2024", "2022-01-01 2024-12-31"),
]


def shown(days: Days | None) -> str | None:
    return None if days is None else " ".join("-" if day is None else str(day) for day in (days.first, days.last))


@pytest.mark.parametrize("question", READ)
def test_a_time_is_read(question: str) -> None:
    assert shown(read_days(question, TODAY)) == READ[question]


@pytest.mark.parametrize("question", UNREAD.splitlines())
def test_text_resembling_a_time_is_no_time(question: str) -> None:
    assert read_days(question, TODAY) is None


@pytest.mark.parametrize(("language", "question", "days"), OTHERS)
def test_months_of_other_languages_are_read(language: Language, question: str, days: str) -> None:
    assert shown(read_days(question, TODAY, language)) == days
    if language != "en":
        assert read_days("in 2000 Zeilen", TODAY, language) is None or language == "nl"


def test_a_question_is_seen_from_its_moment_in_utc() -> None:
    late = datetime(2024, 6, 15, 1, tzinfo=timezone(timedelta(hours=5)))
    named = read_interval("yesterday", late, "en")
    assert named is not None
    assert named.first == datetime(2024, 6, 13, tzinfo=UTC)


def test_the_nearest_past_month_and_the_first_and_last_years_are_read() -> None:
    assert shown(read_days("in May", date(2024, 5, 1))) == "2024-05-01 2024-05-31"
    assert shown(read_days("in May", date(2024, 4, 30))) == "2023-05-01 2023-05-31"
    assert read_days("last year", date(1, 1, 1)) is None
    assert shown(read_days("this year", date(9999, 12, 31))) == "9999-01-01 9999-12-31"
