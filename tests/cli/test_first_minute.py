"""`flow up`, and then every command as a new user would type it, in the same folder and without any preparation."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowcore.cli.state import LOGS
from tests.cli.program import up
from tests.cli.typing_it import Said, typed

RUN = "first"
STEPS = 7


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A platform that has run the shipped flow once: its folder, and what it said until it was ready."""
    folder = tmp_path_factory.mktemp("first")
    with up(folder) as (process, lines):
        assert process.stdout
        # Somebody has to read what it says: a full pipe would stop it.
        threading.Thread(target=process.stdout.read, daemon=True).start()
        yield folder, "".join(lines)


@pytest.fixture
def here(running: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Nothing is exported: the folder alone says which world is meant. What a command exports, ends with it."""
    monkeypatch.chdir(running[0])
    before = dict(os.environ)
    for name in ("FIRESTORE_EMULATOR_HOST", "STORAGE_EMULATOR_HOST", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT"):
        os.environ.pop(name, None)
    yield running[0]
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def finished(here: Path) -> Said:
    """The same id and the same content are the same run, so every test may ask for it."""
    said = typed("run", "market_report_v1", "--id", RUN, "--watch", "--json")
    assert said.code == 0, said
    return said


def test_it_says_that_all_is_there_for_a_run(running: tuple[Path, str]) -> None:
    assert "the bucket artifacts and the seeds are there" in running[1]


def test_the_doctor_finds_nothing(here: Path) -> None:
    said = typed("doctor", "--json")
    assert {check["name"]: check["verdict"] for check in said.data if check["verdict"] != "ok"} == {}
    assert said.code == 0


def test_a_run_works_right_after(finished: Said) -> None:
    assert finished.data == {"runId": RUN, "status": "SUCCEEDED"}
    assert "in the platform on this machine" in finished.err


def test_it_is_listed_and_shown(finished: Said) -> None:
    assert RUN in [run["runId"] for run in typed("runs", "--status", "SUCCEEDED", "--since", "1h", "--json").data]
    shown = typed("show", RUN, "--json").data
    assert len(shown["steps"]) == STEPS
    assert shown["next"] == [f"flow open {RUN}"]
    text = typed("show", RUN).out
    assert "─● llm_report_1M_summary_v1" in text
    assert "█" in text


def test_its_log_is_kept_beside_the_platform(finished: Said, here: Path) -> None:
    lines = typed("logs", RUN, "--json").data
    assert sum(line["event"] == "step_succeeded" for line in lines) == STEPS
    assert {"advance_flow", "worker_charts", "worker_llm_report"} <= {line["function"] for line in lines}
    assert [line["time"] for line in lines] == sorted(line["time"] for line in lines)
    assert (here / LOGS / "advance_flow.log").exists()


def test_its_page_is_written(finished: Said) -> None:
    page = Path(typed("open", RUN, "--json").data["url"].removeprefix("file://"))
    assert "<svg" in page.read_text()
    assert len(list(page.parent.rglob("*.png"))) >= 4


def test_the_same_again_is_a_run_of_its_own(finished: Said) -> None:
    again = typed("rerun", RUN, "--json").data["runId"]
    assert typed("watch", again, "--json").data == {"runId": again, "status": "SUCCEEDED"}
    assert typed("cancel", again).code == 4
