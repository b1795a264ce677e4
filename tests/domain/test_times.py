"""Instants survive the way into a document and back."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowcore.domain.times import from_value, to_text

ZONES = st.timezones() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=ZONES))  # noqa: DTZ001
def test_text_and_back_is_the_same_instant(moment: datetime) -> None:
    text = to_text(moment)
    assert text.endswith("Z")
    assert from_value(text) == moment


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2025-12-24T12:00:00Z", datetime(2025, 12, 24, 12, tzinfo=UTC)),
        ("2025-12-24T13:00:00+01:00", datetime(2025, 12, 24, 12, tzinfo=UTC)),
        ("2025-12-24T12:00:00.5Z", datetime(2025, 12, 24, 12, microsecond=500_000, tzinfo=UTC)),
        ("2025-12-24T12:00:00.123456789Z", datetime(2025, 12, 24, 12, microsecond=123_456, tzinfo=UTC)),
        (datetime(2025, 12, 24, 12, tzinfo=UTC), datetime(2025, 12, 24, 12, tzinfo=UTC)),
    ],
)
def test_timestamps_and_rfc_3339_are_read(value: object, expected: datetime) -> None:
    assert from_value(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "soon",
        "2025-12-24",
        "2025-12-24T12:00:00",
        datetime(2025, 12, 24),  # noqa: DTZ001 - the point of the case
        1766577600,
        True,
        b"2025-12-24T12:00:00Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "2025-12-24T12:00:00+99:00",
        "2025-13-24T12:00:00Z",
        "\ud800",
        ["2025-12-24T12:00:00Z"],
    ],
)
def test_what_is_no_instant_is_none(value: object) -> None:
    assert from_value(value) is None


@given(st.text(st.characters(codec=None)) | st.integers() | st.floats() | st.binary() | st.datetimes())
def test_reading_never_raises(value: object) -> None:
    moment = from_value(value)
    assert moment is None or moment.tzinfo is UTC


def test_fraction_is_written_only_where_there_is_one() -> None:
    moment = datetime(2025, 12, 24, 12, tzinfo=UTC)
    assert to_text(moment) == "2025-12-24T12:00:00Z"
    assert to_text(moment + timedelta(microseconds=5)) == "2025-12-24T12:00:00.000005Z"
