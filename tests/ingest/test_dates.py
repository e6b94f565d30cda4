from datetime import UTC, datetime

import pytest

from cognition_engines.ingest.dates import date_in_name, find_dates, first_date, iso_date


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2019-07-07", "2019-07-07"),
        ("2019/7/07", "2019-07-07"),
        ("25/04/2022", "2022-04-25"),
        ("03/04/2022", "2022-04-03"),
        ("04/25/2022", "2022-04-25"),
        ("30.11.2018", "2018-11-30"),
        ("04-Feb-2018", "2018-02-04"),
        ("February 3, 2020", "2020-02-03"),
        ("Dec 19, 2022", "2022-12-19"),
        ("January 28th, 2022", "2022-01-28"),
        ("3 February 2020", "2020-02-03"),
        ("3rd of February 2020", "2020-02-03"),
        ("2019 Oct 22", "2019-10-22"),
        ("8. September 2024", "2024-09-08"),
        ("den 9. März 2024", "2024-03-09"),
        ("den 9. Ma\u0308rz 2024", "2024-03-09"),
        ("3.OKTOBER 2024", "2024-10-03"),
        ("1er août 2024", "2024-08-01"),
        ("8 de septiembre de 2024", "2024-09-08"),
        ("1º de março de 2024", "2024-03-01"),
        ("9 maggio 2024", "2024-05-09"),
        ("9 maart 2024", "2024-03-09"),
        ("7 сентября 2024", "2024-09-07"),
        ("2024年9月7日", "2024-09-07"),
        ("于2024 年 9 月 7 日", "2024-09-07"),
        ("２０２４年９月７日", "2024-09-07"),
        ("令和6年9月7日", "2024-09-07"),
        ("2024년 9월 7일", "2024-09-07"),
        ("2024-10-31 :ghost:", "2024-10-31"),
        ("decided on 2024-10-31, at last", "2024-10-31"),
    ],
)
def test_a_full_date_is_read_however_it_is_written(text: str, expected: str) -> None:
    hit = first_date(text)
    assert hit is not None
    assert hit.date == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["20201-02-13", "2023-24-05", "2024-023-2706", "31/31/2020", "30 February 2021", "2024年13月7日"]
)
def test_what_is_shaped_like_a_date_but_cannot_be_one_has_none(text: str) -> None:
    hit = first_date(text)
    assert hit is not None
    assert hit.date is None


@pytest.mark.parametrize(
    "text", ["May 2025", "v1.2.3", "1.2.3", "YYYY-MM-DD", "3-4-5", "2020", "src/2020/01/02", "8. Sept", "2024年9月", ""]
)
def test_what_is_not_a_full_date_is_not_found(text: str) -> None:
    assert first_date(text) is None


def test_a_two_digit_year_is_day_first_and_marked() -> None:
    hit = first_date("08/01/24")
    assert hit is not None
    assert (hit.date, hit.short_year) == (datetime(2024, 1, 8, tzinfo=UTC), True)


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2023-05-01T01:30:00+02:00", datetime(2023, 4, 30, 23, 30, tzinfo=UTC)),
        ("2023-05-01 10:00:00.123 Z", datetime(2023, 5, 1, 10, tzinfo=UTC)),
        ("2023-05-01T10:00", datetime(2023, 5, 1, 10, tzinfo=UTC)),
        *((text, None) for text in ("2023-05-01T25:00:00Z", "2023-05-01 and more", "25/04/2022", "0001-01-01", "x")),
    ],
)
def test_a_timestamp_is_in_utc_and_between_1900_and_2199(text: str, date: datetime | None) -> None:
    assert iso_date(text) == date


@pytest.mark.parametrize(
    ("name", "dates"),
    [
        ("2022-03-28_017-udp", [datetime(2022, 3, 28, tzinfo=UTC)]),
        ("2022-13-28-udp", [None]),
        ("0017-udp", []),
    ],
)
def test_a_file_name_may_begin_with_a_date(name: str, dates: list[datetime | None]) -> None:
    hit = date_in_name(name)
    assert ([] if hit is None else [hit.date]) == dates


def test_several_dates_are_found_from_left_to_right() -> None:
    dates = [hit.date for hit in find_dates("2020-01-02: draft, 2020-02-03: accepted")]
    assert dates == [datetime(2020, 1, 2, tzinfo=UTC), datetime(2020, 2, 3, tzinfo=UTC)]
