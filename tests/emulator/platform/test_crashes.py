"""Crash points: a function dies at a call of its own, before or after the effect, and what it was told comes again."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.cloud import firestore

from emulator.faults import Fault, delay, kill
from emulator.platform import Function, Platform
from tests.emulator.firestore.client import connected
from tests.emulator.platform.toy_function import NOTING, toy


@dataclass(frozen=True)
class Scene:
    """A function that writes a note for each run, and one that only watches; who began to handle which event."""

    platform: Platform
    db: firestore.Client
    begun: Path

    def lives(self) -> list[str]:
        """The processes that have begun, for one event."""
        attempts = [line.split() for line in self.begun.read_text().splitlines()]
        assert len({event for event, _ in attempts}) == 1
        return [pid for _, pid in attempts]

    def notes(self) -> list[str]:
        """By whom the note of r1 was written, in order."""
        written = self.platform.faults.history.of("write", service="firestore")
        return [str(record.detail["after"]["by"]) for record in written if record.resource == "notes/r1"]

    def restarts(self, function: str = "noting") -> int:
        return self.platform.functions[function].restarts


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Platform, Path]]:
    folder = tmp_path_factory.mktemp("crashes")
    environment = {"BEGUN": str(folder / "begun")}
    noting = Function("noting", NOTING, "note", "runs/{id}", environment=environment)
    with Platform(functions=[noting, toy(folder / "seen")], time_scale=1000) as platform:
        yield platform, folder / "begun"


@pytest.fixture
def scene(running: tuple[Platform, Path]) -> Iterator[Scene]:
    platform, begun = running
    platform.reset()
    begun.unlink(missing_ok=True)
    with connected(platform.firestore.host, platform.project) as db:
        yield Scene(platform, db, begun)


@pytest.mark.parametrize("action", [kill(), delay(0.05, kill())], ids=["at once", "a little later"])
def test_a_function_dies_before_its_write_and_writes_in_its_next_life(scene: Scene, action: Fault) -> None:
    before = scene.restarts(), scene.restarts("toy")
    planned = scene.platform.faults.add(
        service="firestore", method="Commit", resource="notes/*", action=action, times=1
    )
    scene.db.document("runs/r1").set({"v": 1})
    assert scene.platform.settled()
    assert planned.fired == 1
    first, *_, last = scene.lives()
    assert first != last
    assert scene.notes() == [last]
    assert (scene.restarts(), scene.restarts("toy")) == (before[0] + 1, before[1])
    assert "killed by a fault; a new one starts at once" in scene.platform.log.lines("noting")


def test_a_function_dies_after_its_write_and_writes_once_more(scene: Scene) -> None:
    action = kill(applied=True)
    planned = scene.platform.faults.add(
        service="firestore", method="Commit", resource="notes/*", action=action, times=1
    )
    scene.db.document("runs/r1").set({"v": 1})
    assert scene.platform.settled()
    assert planned.fired == 1
    first, *_, last = scene.lives()
    assert first != last
    assert scene.notes() == [first, last]


def test_a_function_dies_at_a_call_of_any_service(scene: Scene) -> None:
    planned = scene.platform.faults.add(service="storage", action=kill(), times=1)
    scene.db.document("runs/r1").set({"v": 1})
    assert scene.platform.settled()
    assert planned.fired == 1
    assert scene.notes() == scene.lives()
    (killed,) = [call for call in scene.platform.faults.history.of("call") if "killed" in call.detail]
    assert (killed.service, killed.detail) == ("storage", {"fault": planned.id, "killed": "noting"})


def test_one_life_after_another(scene: Scene) -> None:
    before = scene.restarts()
    planned = scene.platform.faults.add(service="firestore", resource="notes/r1", action=kill(), times=3)
    scene.db.document("runs/r1").set({"v": 1})
    assert scene.platform.settled()
    assert planned.fired == 3
    assert scene.restarts() == before + 3
    assert len(set(scene.lives())) == 4
    assert len(scene.notes()) == 1


def test_nobody_is_killed_whom_the_platform_has_not_started(scene: Scene) -> None:
    planned = scene.platform.faults.add(service="firestore", resource="mine/*", action=kill())
    scene.db.document("mine/d").set({"v": 1}, retry=None)
    assert scene.db.document("mine/d").get().exists
    assert planned.fired == 0


def test_a_platform_without_functions_has_nobody_to_kill() -> None:
    with Platform() as platform, pytest.raises(ValueError, match="kill: nobody here knows who calls"):
        platform.faults.add(action=kill())
