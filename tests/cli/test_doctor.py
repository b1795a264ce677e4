"""`flow doctor`: each thing that can be missing, and what to do about it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import requests

from emulator.faults import status
from flowcore.cli import checkup, cloud_functions, state
from flowcore.testing.world import T0
from tests.cli.answering import answering
from tests.cli.conftest import Desk
from tests.cli.typing_it import Said, typed

KEY = {"key": "GEMINI_API_KEY", "secret": "gemini"}


def verdicts(said: Said) -> dict[str, str]:
    return {check["name"]: check["verdict"] for check in said.data}


@pytest.fixture
def furnished(desk: Desk) -> Desk:
    desk.storage.create_bucket("artifacts")
    assert typed("seed").code == 0
    return desk


@pytest.fixture
def healthy(furnished: Desk) -> Iterator[Desk]:
    """All is there: bucket, seeds, and a function that answers (the storage, for want of a real one)."""
    with state.claimed(furnished.folder) as ready:
        ready(state.here(furnished.platform.exports, {"sweep": furnished.platform.storage.url}, furnished.folder))
        yield furnished


def test_nothing_is_missing(healthy: Desk) -> None:
    said = typed("doctor", "--json")
    assert set(verdicts(said).values()) <= {"ok", "warn"}
    assert verdicts(said).keys() == {
        "python", "platform", "variables", "world", "firestore", "clock", "seeds", "bucket", "functions", "gemini",
    }  # fmt: skip
    assert said.code == 0


def test_people_get_one_line_for_each(healthy: Desk) -> None:
    said = typed("doctor")
    assert (said.code, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()].count("ok") >= 9


def test_missing_seeds(healthy: Desk) -> None:
    healthy.db.document("flow_definitions/market_report_v1").delete()
    said = typed("doctor")
    assert said.code == 1
    assert "market_report_v1" in said.complaint
    assert "flow seed" in said.complaint


def test_a_missing_bucket(healthy: Desk) -> None:
    healthy.storage.bucket("artifacts").delete()
    said = typed("doctor", "--json")
    assert (said.code, verdicts(said)["bucket"]) == (1, "fail")


def test_a_function_that_does_not_answer(furnished: Desk) -> None:
    with state.claimed(furnished.folder) as ready:
        ready(state.here(furnished.platform.exports, {"sweep": "http://127.0.0.1:1/"}, furnished.folder))
        said = typed("doctor")
    assert said.code == 1
    assert "sweep: no answer" in said.complaint


def test_half_an_emulator(healthy: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST")
    said = typed("doctor")
    assert said.code == 1
    assert "STORAGE_EMULATOR_HOST is not set" in said.complaint
    assert "flow env" in said.complaint


def test_firestore_that_refuses_ends_the_search_there(healthy: Desk) -> None:
    refused = healthy.platform.faults.add(service="firestore", action=status("PERMISSION_DENIED"))
    said = typed("doctor", "--json")
    assert said.code == 1
    assert refused.fired == 1
    assert verdicts(said)["firestore"] == "fail"
    assert "seeds" not in verdicts(said)


def test_no_world_at_all(nowhere: Path) -> None:
    said = typed("doctor", "--json")
    assert said.code == 1
    assert verdicts(said) == {"python": "ok", "platform": "warn", "variables": "ok", "world": "fail"}


@pytest.mark.parametrize(("seconds", "verdict"), [(0.5, "ok"), (-20, "warn"), (61, "fail")])
def test_a_clock_that_goes_wrong(seconds: float, verdict: str) -> None:
    assert checkup._clock(T0, T0 + timedelta(seconds=seconds)).verdict == verdict


def test_deployed_functions_are_listed_with_the_names_of_their_variables() -> None:
    place = "projects/p/locations/europe-west1/functions"
    pages: list[dict[str, Any]] = [
        {
            "functions": [
                {
                    "name": f"{place}/worker-llm-report",
                    "serviceConfig": {"environmentVariables": {"A": "1"}, "secretEnvironmentVariables": [KEY]},
                }
            ],
            "nextPageToken": "more",
        },
        {"functions": [{"name": f"{place}/sweep"}]},
    ]
    with answering(pages) as there, requests.Session() as session:
        found = cloud_functions.listed(session, there.url, "p")
    assert found == {"worker_llm_report": {"A", "GEMINI_API_KEY"}, "sweep": set()}
    assert there.asked[1][0] == "/v2/projects/p/locations/-/functions?pageToken=more"
