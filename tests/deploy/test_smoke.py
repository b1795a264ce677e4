"""What the smoke test does with the run that it starts. The functions are played by a thread; the stores are real."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.cloud import firestore
from google.cloud.storage import Client  # type: ignore[import-untyped]

from deploy.smoke import FLOW, smoke
from deploy.target import target
from emulator.platform import Platform

DEFINITION = json.loads(FLOW.read_text())


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    with Platform() as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        yield platform


@pytest.fixture
def world(platform: Platform) -> Iterator[tuple[Any, Any]]:
    """The runs and the bucket of an environment, with another run's object in it."""
    platform.reset()
    where = target("dev", platform.project, "europe-west1")
    db = firestore.Client(project=platform.project)
    bucket = Client(project=platform.project).create_bucket(where.bucket)
    bucket.blob("runs/another/ohlcv/1w.json").upload_from_string("{}")
    yield db.collection(where.runs_collection), bucket
    db.close()  # type: ignore[no-untyped-call]


def tried(platform: Platform, *, seconds: float = 20.0, keep: bool = False) -> int:
    return smoke(target("dev", platform.project, "europe-west1"), DEFINITION, seconds, keep=keep)


@contextmanager
def functions(runs: Any, bucket: Any, end: dict[str, object]) -> Iterator[None]:
    """They write two objects for each run that they find, and end it like this."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.02):
            for run in runs.where(filter=firestore.FieldFilter("status", "==", "PENDING")).stream():
                for name in (f"runs/{run.id}/ohlcv/1w.json", f"charts/{run.id}/chart/manifest.json"):
                    bucket.blob(name).upload_from_string("{}")
                run.reference.update(end)

    working = threading.Thread(target=work)
    working.start()
    try:
        yield
    finally:
        over.set()
        working.join()


def left(runs: Any, bucket: Any) -> tuple[int, int]:
    return len(list(runs.stream())), len(list(bucket.list_blobs()))


def test_a_run_that_succeeds_leaves_nothing_behind(platform: Platform, world: tuple[Any, Any]) -> None:
    with functions(*world, {"status": "SUCCEEDED"}):
        assert tried(platform) == 0
    assert left(*world) == (0, 1), "what is not its own stays"


def test_a_run_that_is_kept_stays_with_its_objects(platform: Platform, world: tuple[Any, Any]) -> None:
    with functions(*world, {"status": "SUCCEEDED"}):
        assert tried(platform, keep=True) == 0
    assert left(*world) == (1, 3)


def test_a_run_that_fails_is_told_and_taken_away(
    platform: Platform, world: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    why = {"steps.chart.status": "FAILED", "steps.chart.error": {"code": "INTERNAL", "message": "oh"}}
    with functions(*world, {"status": "FAILED", **why}):
        assert tried(platform) == 1
    assert "chart: INTERNAL: oh" in capsys.readouterr().out
    assert left(*world) == (0, 1)


def test_a_run_that_nobody_takes_is_given_up_and_taken_away(
    platform: Platform, world: tuple[Any, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert tried(platform, seconds=0.0) == 1
    assert capsys.readouterr().out.endswith("PENDING\n")
    assert left(*world) == (0, 1)
