"""`flow logs`: what the functions said about a run, from files on a laptop and from Cloud Logging in the cloud."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import requests

from flowcore.cli import cloud_logging, state
from flowcore.cli.log_lines import in_order, of_run, told
from flowcore.testing.builders import RUN_ID, a_run
from flowcore.testing.world import T0
from tests.cli.answering import answering
from tests.cli.conftest import Desk
from tests.cli.typing_it import typed


def line(event: str, second: int, run_id: str = RUN_ID, **fields: object) -> str:
    moment = f"2025-12-24T12:00:{second:02}+00:00"
    return json.dumps(
        {"run_id": run_id, **fields, "severity": "INFO", "event": event, "message": event, "time": moment}
    )


@pytest.fixture
def logged(desk: Desk) -> Iterator[Path]:
    """A platform of this folder that has written its log."""
    logs = desk.folder / "logs"
    logs.mkdir()
    (logs / "worker_charts.log").write_text(
        "\n".join(
            [
                " * Serving a function",
                line("step_claimed", 2, step_id="charts", attempt=1, event_id="e-1", step_type="CHART_EXPORT"),
                line("step_claimed", 3, run_id=f"{RUN_ID}-not", step_id="charts"),
                line("event_noop", 4, reason="no_ready_step"),
                f"a line that names {RUN_ID} and is no JSON",
            ]
        )
    )
    (logs / "advance_flow.log").write_text(line("run_moved", 1, status="RUNNING", service="advance_flow") + "\n")
    desk.put(a_run())
    with state.claimed(desk.folder) as ready:
        ready(state.here(desk.platform.exports, {}, logs))
        yield logs


def test_lines_of_all_functions_come_in_the_order_of_time(logged: Path) -> None:
    said = typed("logs", RUN_ID)
    assert (said.code, said.err) == (0, "")
    _, first, second = said.out.splitlines()
    assert first.split()[1:] == ["advance_flow", "run_moved", "status=RUNNING"]
    assert second.split()[1:] == ["worker_charts", "step_claimed", "charts", "attempt=1"]


def test_idle_deliveries_are_shown_on_demand(logged: Path) -> None:
    assert [each["event"] for each in typed("logs", RUN_ID, "--all", "--json").data] == [
        "run_moved",
        "step_claimed",
        "event_noop",
    ]


def test_a_run_that_nobody_spoke_of_is_said_to_be_one(logged: Path, desk: Desk) -> None:
    desk.put(a_run(run_id="silent"), run_id="silent")
    assert "nobody has logged anything about silent" in typed("logs", "silent").out


def test_the_log_of_another_platform_is_not_taken_for_ours(desk: Desk) -> None:
    desk.put(a_run())
    with state.claimed(desk.folder) as ready:
        ready(state.here({"FIRESTORE_EMULATOR_HOST": "elsewhere:1"}, {}, desk.folder))
        said = typed("logs", RUN_ID)
    assert said.code == 4
    assert "flow env" in said.complaint


def test_a_platform_that_was_started_elsewhere_keeps_its_log_there(desk: Desk) -> None:
    desk.put(a_run())
    said = typed("logs", RUN_ID)
    assert said.code == 5
    assert "the log is kept where flow up was typed" in said.complaint


def test_what_was_kept_without_a_time_comes_first(tmp_path: Path) -> None:
    (tmp_path / "f.log").write_text(line("b", 1) + "\n" + json.dumps({"run_id": RUN_ID, "event": "a"}) + "\n")
    found = in_order(of_run(tmp_path, RUN_ID))
    assert [each.event for each in found] == ["a", "b"]
    assert told(found[0]).plain.split() == ["f", "a"]


def entry(event: str, service: str) -> dict[str, object]:
    return {
        "timestamp": "2025-12-24T12:00:01.5Z",
        "severity": "WARNING",
        "resource": {"type": "cloud_run_revision", "labels": {"service_name": service}},
        "jsonPayload": {"event": event, "run_id": RUN_ID, "step_id": "charts"},
    }


def test_cloud_logging_is_read_page_by_page() -> None:
    pages: list[dict[str, Any]] = [
        {"entries": [entry("a", "sweep")], "nextPageToken": "more"},
        {"entries": [entry("b", "advance-flow")]},
    ]
    with answering(pages) as there, requests.Session() as session:
        wanted = cloud_logging.matching(RUN_ID, T0, None)
        found = list(cloud_logging.entries(session, f"{there.url}/v2/entries:list", "my-project", wanted))
    assert [(each.event, each.function, each.severity) for each in found] == [
        ("a", "sweep", "WARNING"),
        ("b", "advance-flow", "WARNING"),
    ]
    assert found[0].time == datetime(2025, 12, 24, 12, 0, 1, 500_000, tzinfo=UTC)
    (_, first), (_, second) = there.asked
    assert first["resourceNames"] == ["projects/my-project"]
    assert first["filter"] == f'jsonPayload.run_id="{RUN_ID}" AND timestamp>="2025-12-24T12:00:00Z"'
    assert second["pageToken"] == "more"


def test_a_refusal_of_cloud_logging_is_not_an_empty_log() -> None:
    with (
        answering([{"error": {}}], code=403) as there,
        requests.Session() as session,
        pytest.raises(requests.HTTPError),
    ):
        list(cloud_logging.entries(session, there.url, "my-project", cloud_logging.matching(RUN_ID, None, None)))


def test_of_two_environments_that_know_the_same_run_only_one_is_asked() -> None:
    wanted = cloud_logging.matching(RUN_ID, None, "staging")
    assert wanted == f'jsonPayload.run_id="{RUN_ID}" AND resource.labels.service_name=~"^staging-"'


def test_where_it_cannot_be_read_the_command_that_can_is_named() -> None:
    command = cloud_logging.by_hand("my-project", cloud_logging.matching(RUN_ID, None, None))
    assert (
        command
        == f"gcloud logging read 'jsonPayload.run_id=\"{RUN_ID}\"' --project my-project --order asc --format json"
    )
