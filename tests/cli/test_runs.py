"""`flow runs`: newest first, by an index that every database has."""

from datetime import UTC, datetime, timedelta

import pytest

from flowcore.cli import listing
from flowcore.cli.listing import since_when
from flowcore.testing.builders import a_run
from tests.cli.conftest import Desk
from tests.cli.typing_it import typed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def filled(desk: Desk, *statuses: str) -> None:
    """One run a day, the newest last; r0 is as many days old as there are others."""
    today = datetime.now(UTC)
    for number, status in enumerate(statuses):
        age = timedelta(days=len(statuses) - 1 - number, minutes=1)
        desk.put(a_run(status, run_id=f"r{number}", at=today - age), run_id=f"r{number}")


def listed(*options: str) -> list[str]:
    return [run["runId"] for run in typed("runs", "--json", *options).data]


def test_the_newest_comes_first(desk: Desk) -> None:
    filled(desk, "SUCCEEDED", "FAILED", "RUNNING")
    said = typed("runs")
    assert (said.code, said.err) == (0, "")
    world, heading, *rows = said.out.splitlines()
    assert world.startswith("in the platform")
    assert heading.split() == ["run", "status", "steps", "took", "started", "flow"]
    assert [row.split()[0] for row in rows] == ["r2", "r1", "r0"]
    assert rows[1].split()[2:4] == ["FAILED", "0/3"]


def test_status_since_and_limit_narrow_the_list(desk: Desk) -> None:
    filled(desk, "FAILED", "FAILED", "RUNNING", "FAILED")
    assert listed("--status", "failed") == ["r3", "r1", "r0"]
    assert listed("--status", "FAILED", "--status", "RUNNING", "--limit", "2") == ["r3", "r2"]
    assert listed("--since", "36h") == ["r3", "r2"]
    assert listed("--since", "1h", "--status", "RUNNING") == []


def test_one_query_of_one_field_is_enough(desk: Desk) -> None:
    filled(desk, "FAILED", "RUNNING")
    desk.platform.faults.calls.clear()
    assert listed("--status", "FAILED", "--since", "7d") == ["r0"]
    assert desk.platform.faults.calls.count("firestore", "RunQuery") == 1


def test_many_runs_come_page_by_page(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "PAGE", 2)
    filled(desk, *["FAILED"] * 5)
    desk.platform.faults.calls.clear()
    assert listed("--limit", "3") == ["r4", "r3", "r2"]
    assert desk.platform.faults.calls.count("firestore", "RunQuery") == 2


def test_a_search_without_a_bound_has_one_all_the_same(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "LOOKED_AT", 2)
    filled(desk, "FAILED", "RUNNING", "RUNNING")
    assert listed("--status", "FAILED") == []
    assert listed("--status", "FAILED", "--since", "30d") == ["r0"]


def test_no_runs_is_an_answer(desk: Desk) -> None:
    assert "flow run" in typed("runs").out
    assert "no such run among the newest 2,000; --since" in typed("runs", "--status", "FAILED").out
    assert typed("runs", "--status", "FAILED", "--since", "2h").out.endswith("\nno such run\n")
    assert listed() == []


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("90s", NOW - timedelta(seconds=90)),
        ("2h", NOW - timedelta(hours=2)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T10:00+02:00", datetime(2026, 1, 31, 8, tzinfo=UTC)),
    ],
)
def test_since_is_an_age_or_a_date(text: str, moment: datetime) -> None:
    assert since_when(text, NOW) == moment
