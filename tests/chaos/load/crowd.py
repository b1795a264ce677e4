"""A thousand runs at once on one laptop: every function in a process of its own, and no clock but the wall's.

Most are of steps that cost nothing, so that what is measured is the flow; some are market reports, so that it is the
real one, too. All of them must end, nobody may have grown by then, and the auditor listens all the time.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
import requests
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.platform import Function, Platform
from flowcore.cli.project import functions
from flowcore.cli.seeding import seeds
from flowcore.cli.world import BUCKET
from flowcore.contracts.flows import instantiate
from flowcore.testing.builders import a_run, a_step
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.load.listening import Listener
from tests.chaos.load.weighing import Weights

NAME: Final = "load: runs at once"
MARKETS: Final = 20  # one run in so many is a market report
A_FEW: Final = 100  # runs; for fewer it takes longer to start a process for each function than to play them
AT_ONCE: Final = 100  # runs a commit
SLOWEST: Final = 600.0  # seconds for all of them
STUCK_AFTER: Final = 60.0  # seconds in which nothing moved
GROWTH: Final = 24 * 2**20  # of a function, in the second half; at most 21 MiB were measured: reports come late
PLATFORM_GROWTH: Final = 128 * 2**20  # it remembers everything, up to its own limits; 42 MiB were measured


@dataclass
class Figures:
    """What a load has cost."""

    runs: int = 0
    steps: int = 0
    seconds: float = 0.0
    writes: int = 0
    commits: int = 0
    deliveries: int = 0
    failed_deliveries: int = 0
    memory: dict[str, tuple[int, int]] = field(default_factory=dict)  # at most, and its growth in the second half

    def told(self) -> str:
        lost = self.commits - self.writes
        memory = ", ".join(
            f"{name} {most // 2**20} {more / 2**20:+.0f} MiB" for name, (most, more) in self.memory.items()
        )
        return (
            f"{self.runs} runs, {self.steps} steps in {self.seconds:.1f} s ({self.steps / self.seconds:.0f} steps/s); "
            f"{self.writes / self.steps:.2f} writes a step, {lost} lost to conflicts ({lost / self.commits:.1%}); "
            f"{self.deliveries} deliveries, {self.failed_deliveries} of them failed; {memory}"
        )


@dataclass
class Crowd:
    platform: Platform
    figures: Figures = field(default_factory=Figures)
    seeded: int = 0  # changes before the first run
    batches: int = 0

    def __post_init__(self) -> None:
        self.db = firestore.Client()
        self.storage = StorageClient()

    def arrive(self, count: int) -> None:
        self.storage.create_bucket(BUCKET)
        flows = {}
        for seed in seeds():
            self.db.document(seed.path).set(dict(seed.fields))
            flows[seed.path] = json.loads(json.dumps(seed.fields))
        self.platform.settled()
        self.platform.faults.calls.clear()
        self.seeded = self.platform.firestore.sequence
        self.listener = Listener(self.platform.faults.history, self.storage)
        market = flows["flow_definitions/market_report_v1"]
        for first in range(0, count, AT_ONCE):
            batch = self.db.batch()
            for number in range(first, min(count, first + AT_ONCE)):
                run = _market(market, number) if number % MARKETS == 0 else _cheap(number)
                self.figures.steps += len(run["steps"])
                batch.set(self.db.document(f"flow_runs/{run['runId']}"), run)
            batch.commit()
            self.batches += 1
        self.figures.runs = count

    def ended(self, ends: float) -> None:
        """Wait, with a sweep now and then as Cloud Scheduler would, until all have or nothing moves any more."""
        moved, last, progress = time.monotonic(), -1, Progress(NAME, self.figures.runs)
        while time.monotonic() < ends and (unfinished := self.open_runs()):
            progress.tell(self.figures.runs - len(unfinished), 0)
            self.platform.settled(2.0)
            self.listener.listen()
            if (written := self.platform.firestore.sequence) != last:
                moved, last = time.monotonic(), written
            elif time.monotonic() - moved > STUCK_AFTER:
                return
            else:
                requests.post(self.platform.url_of("sweep"), timeout=60)

    def open_runs(self) -> list[str]:
        unfinished = FieldFilter("status", "in", ["PENDING", "RUNNING"])
        return [found.id for found in self.db.collection("flow_runs").where(filter=unfinished).stream()]

    def verdict(self) -> Iterator[str]:
        found = [snapshot.to_dict() or {} for snapshot in self.db.collection("flow_runs").stream()]
        statuses = Counter(run["status"] for run in found)
        if statuses != {"SUCCEEDED": self.figures.runs}:
            yield f"of {self.figures.runs} runs: {dict(statuses)}"
        late = [run["runId"] for run in found if "wakeAt" in run and run["status"] == "SUCCEEDED"]
        if late:
            yield f"{len(late)} finished runs still want to be woken, {late[0]} for one"
        twice = [
            f"{run['runId']}/{step_id}"
            for run in found
            for step_id, step in run["steps"].items()
            if step.get("attempt", 0) > 1
        ]
        if twice:
            yield f"{len(twice)} steps were claimed more than once in fair weather, {twice[0]} for one"
        yield from self.listener.verdict()


def _cheap(number: int) -> dict[str, Any]:
    now = datetime.now(UTC)
    steps = {"a": a_step("CHEAP", at=now), "b": a_step("CHEAP", depends_on=["a"], at=now)}
    return a_run("PENDING", run_id=f"load-{number}", steps=steps, at=now)


def _market(definition: dict[str, Any], number: int) -> dict[str, Any]:
    given = {"symbol": "BTCUSDT", "timeframes": ["1M"]}
    trigger = {"type": "USER", "source": "load"}
    return instantiate(definition, given, run_id=f"market-{number}", now=datetime.now(UTC), trigger=trigger)


def hosts() -> list[Function]:
    """All that a deployment has, each told of every change of every run; and one more, for the steps without a cost."""
    cheap = Path(__file__).parent / "cheap"
    own = Function("cheap", cheap, "cheap", "flow_runs/{runId}", environment={"ARTIFACTS_BUCKET": BUCKET})
    return [own, *functions()]


def run(order: Order) -> Outcome:
    few = order.cases < A_FEW
    with Platform(functions=hosts(), single_process=few) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        crowd = Crowd(platform)
        weights = Weights({"platform": os.getpid()} | {name: made.pid for name, made in platform.functions.items()})
        began = time.monotonic()
        with weights.watched():
            crowd.arrive(order.cases)
            crowd.ended(began + SLOWEST)  # all of them have begun: none is left
        figures = crowd.figures
        figures.seconds = time.monotonic() - began
        figures.writes = platform.firestore.sequence - crowd.seeded - order.cases
        figures.commits = platform.faults.calls.count("firestore", "Commit", "*flow_runs/*") - crowd.batches
        figures.deliveries = platform.faults.calls.count("eventarc")
        outcomes = Counter(note.detail["outcome"] for note in platform.faults.history.of("event"))
        figures.failed_deliveries = sum(count for outcome, count in outcomes.items() if outcome != "delivered")
        figures.memory = {name: (weights.peak(name), weights.growth(name)) for name in weights.samples}
        violations = list(crowd.verdict())
        for name in () if few else weights.samples:  # a few runs only show what is imported
            most = PLATFORM_GROWTH if name == "platform" else GROWTH
            if name != "platform" and platform.functions[name].restarts:
                violations.append(f"{name} died and was started again")
            if weights.growth(name) > most:
                violations.append(f"{name} grew by {weights.growth(name) // 2**20} MiB in the second half")
    conflicts = figures.commits - figures.writes
    return Outcome(NAME, order.cases, conflicts, tuple(f"{NAME}: {broken}" for broken in violations), (figures.told(),))


BATTERIES = (Battery(NAME, 1_000, 5.0, run),)
