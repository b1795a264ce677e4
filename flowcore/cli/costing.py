"""What runs cost: what they were counted to ask of the platform, times a dated table of prices.

Free tiers are left out: with them it is less, never more. A run's own work (drawing, waiting for a model) takes as long
under any orchestrator, so its seconds are an argument. What is ours are the writes, the events, and the functions that
those wake; each is counted with the shortest time that the platform bills, because an event that is for nobody ends in
milliseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "deploy/costs"
BILLED_SECONDS = 0.1  # the platform rounds up to it
MEMORY_GIB = 1.0  # the largest of our functions
SMALLEST_QUERY = 10 * 2**20
MONTH_DAYS = 30
SWEEPS_A_DAY = {"minutely": 24 * 60, "hourly": 24}
SWEEP_GIB = 0.5
JOBS = 2  # one for each kind of sweep


@dataclass(frozen=True, slots=True)
class Line:
    """So many of something, and what they cost."""

    what: str
    amount: float
    usd: float


@dataclass(frozen=True, slots=True)
class Prices:
    as_of: str
    where: str
    table: Mapping[str, Mapping[str, Any]]

    @property
    def unverified(self) -> list[str]:
        return [name for name, about in self.table.items() if about.get("verified") is False]

    def line(self, what: str, price: str, amount: float) -> Line:
        return Line(what, amount, amount * self.table[price]["usd"] / self.table[price]["per"])


@dataclass(frozen=True, slots=True)
class Bill:
    orchestration: list[Line]
    work: list[Line]
    elsewhere: list[Line]  # the same flow under other orchestrators; each line stands for itself
    at_rest: list[Line]  # a month without a run


def total(lines: list[Line]) -> float:
    return sum(line.usd for line in lines)


def bill(
    run: Mapping[str, Any], sweep: Mapping[str, Any], prices: Prices, runs: int, work_seconds: float = 0.0
) -> Bill:
    """`run`, `sweep`: what one of them was counted to ask for; `work_seconds`: how long the steps of one run work."""
    return Bill(
        orchestration=_orchestration(run, prices, runs),
        work=_work(run, prices, runs, work_seconds),
        elsewhere=_elsewhere(run["steps"], prices, runs),
        at_rest=_at_rest(sweep, prices),
    )


def _orchestration(run: Mapping[str, Any], prices: Prices, runs: int) -> list[Line]:
    woken = sum(run["deliveries"].values())
    triggers = len(run["deliveries"])
    return [
        prices.line("writes of the run", "documentWrite", runs * run["documentWrites"]),
        prices.line("reads of the run", "documentRead", runs * run["runReads"]),
        prices.line("functions woken", "request", runs * woken),
        prices.line("their seconds of CPU", "cpuSecond", runs * woken * BILLED_SECONDS),
        prices.line("their GiB-seconds", "memoryGibSecond", runs * woken * BILLED_SECONDS * MEMORY_GIB),
        # Each trigger has a topic of its own, and every event goes in and out.
        prices.line("bytes of events", "eventByte", runs * run["eventBytes"] * triggers * 2),
    ]


def _work(run: Mapping[str, Any], prices: Prices, runs: int, seconds: float) -> list[Line]:
    return [
        prices.line("prompts, schemas, templates read", "documentRead", runs * run["otherReads"]),
        prices.line("objects written", "objectWrite", runs * run["objectWrites"]),
        prices.line("objects read", "objectRead", runs * run["objectReads"]),
        prices.line("bytes queried", "queriedByte", runs * run["queries"] * SMALLEST_QUERY),
        prices.line("tokens in", "inputToken", runs * run["inputTokens"]),
        prices.line("tokens out", "outputToken", runs * run["outputTokens"]),
        prices.line("seconds of work, CPU", "cpuSecond", runs * seconds),
        prices.line("seconds of work, GiB", "memoryGibSecond", runs * seconds * MEMORY_GIB),
    ]


def _elsewhere(steps: int, prices: Prices, runs: int) -> list[Line]:
    """The leanest form of the flow: a state for each step, one that runs the branches side by side, and the start."""
    return [
        prices.line("AWS Step Functions, Standard: transitions", "stepFunctionsTransition", runs * (steps + 2)),
        # Workflows also assigns each answer to a variable before the next step can use it.
        prices.line("Google Cloud Workflows: internal steps", "workflowsStep", runs * (2 * steps + 2)),
    ]


def _at_rest(sweep: Mapping[str, Any], prices: Prices) -> list[Line]:
    sweeps = MONTH_DAYS * sum(SWEEPS_A_DAY.values())
    queries = MONTH_DAYS * sum(sweep[kind]["queries"] * often for kind, often in SWEEPS_A_DAY.items())
    return [
        prices.line("sweeps", "request", sweeps),
        prices.line("their seconds of CPU", "cpuSecond", sweeps * BILLED_SECONDS),
        prices.line("their GiB-seconds", "memoryGibSecond", sweeps * BILLED_SECONDS * SWEEP_GIB),
        prices.line("empty queries, a read each", "documentRead", queries),
        prices.line("jobs of the scheduler", "schedulerJobMonth", JOBS),
    ]


def flows(folder: Path = FOLDER) -> dict[str, Mapping[str, Any]]:
    """What one run of each flow that somebody has counted asks for."""
    files = {file.stem: json.loads(file.read_text("utf-8")) for file in sorted(folder.glob("*.json"))}
    return {name: content["perRun"] for name, content in files.items() if "perRun" in content}


def sweeps(folder: Path = FOLDER) -> Mapping[str, Any]:
    """What one sweep of each kind asks for when there is nothing to do."""
    counted: Mapping[str, Any] = json.loads((folder / "at_rest.json").read_text("utf-8"))["perSweep"]
    return counted


def price_table(file: Path = FOLDER / "prices.json") -> Prices:
    table = json.loads(file.read_text("utf-8"))
    return Prices(table["asOf"], table["where"], table["prices"])
