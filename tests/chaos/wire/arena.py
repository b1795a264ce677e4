"""One platform with the project's functions, each in its own process, on which many runs are disturbed at once.

Functions have little time here, so that a call which hangs is over soon, and events that failed come again at once.
Leases do not end by waiting: when nothing moves any more, `sweep` is called with a clock that is an hour ahead, and
with one that is yet another hour ahead, until the runs are over. Nobody is at work then whose lease that would take.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from emulator.faults import Faults
from emulator.history import Record
from emulator.platform import Function, Log, Platform
from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.cli import project
from flowcore.cli.furnishing import at_home, furnished
from flowcore.cli.world import World
from flowcore.contracts.flows import instantiate
from flowcore.domain import manual
from flowcore.domain.errors import NetworkError
from flowcore.domain.model import StepStatus
from flowcore.domain.parse import parse_run
from flowcore.engine.sweep import Sweep
from flowcore.ports import Conflict
from tests.chaos.auditor import Auditor
from tests.chaos.transitions import FINISHED, Document
from tests.chaos.twins.world import SILENT

FLOW = Path(__file__).parents[3] / "spec" / "flows" / "market_report_v1.json"
CHARTS = "charts_${timeframe}_default_set_v1"
SUMMARY = "llm_report_${timeframes.0}_summary_v1"
# Seconds: of an invocation, of one call to a provider, and kept back for the record.
SECONDS = {"INVOCATION_TIMEOUT_SECONDS": "16", "GEMINI_TIMEOUT_SECONDS": "5", "FINALIZE_BUDGET_SECONDS": "4"}
HANGS = 11.0  # longer than any call is waited for
SETTLED_WITHIN = 90.0
MOST_SWEEPS = 30
FASTER = 100.0  # how much sooner an event comes again than in the cloud


@dataclass(slots=True)
class AheadClock(SystemClock):
    ahead: timedelta = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended, with its id left out: what a disturbed run must have in common with an undisturbed one."""

    run: str
    steps: tuple[tuple[str, str], ...]
    objects: tuple[tuple[str, str], ...]  # name and owner


@dataclass(slots=True)
class Arena:
    platform: Platform
    world: World
    clock: AheadClock = field(default_factory=AheadClock)
    operators: bool = False

    @property
    def faults(self) -> Faults:
        return self.platform.faults

    def begin(self, run_id: str) -> None:
        definition = json.loads(FLOW.read_text("utf-8"))
        del definition["steps"][SUMMARY]
        definition["steps"][CHARTS]["inputs"]["minImages"] = 2  # as many as are asked for: no run may do with less
        trigger = {"type": "USER", "source": "chaos"}
        run = instantiate(definition, {"timeframes": ["1M"]}, run_id=run_id, now=datetime.now(UTC), trigger=trigger)
        self.world.documents.create(f"flow_runs/{run_id}", run)

    def finish(self, run_ids: Sequence[str]) -> bool:
        """Whatever is under way ends, and what no event brings about is done by `sweep`. False: it never ends."""
        for _ in range(MOST_SWEEPS):
            if not self.platform.settled(SETTLED_WITHIN):
                return False
            if all(_over(self.document(run_id)) for run_id in run_ids):
                return True
            self.clock.ahead += timedelta(hours=1)
            try:
                Sweep(self.world.runs, self.clock, SystemChance(), SILENT, 30).minutely()
            except NetworkError:
                continue  # a fault that was meant for somebody else
        return False

    def cancel(self, run_id: str) -> None:
        self.world.firestore.document(f"flow_runs/{run_id}").update({"cancelRequested": True})

    def retry(self, run_id: str) -> None:
        """An operator's wish for a run that failed; some failures allow none."""
        snapshot = self.world.runs.get(run_id)
        assert snapshot is not None
        run = parse_run(snapshot)
        failed = [step.step_id for step in run.in_status(StepStatus.FAILED)]
        with suppress(manual.Refused, Conflict):
            self.world.runs.update(run_id, manual.retry(run, failed, self.clock.now()), snapshot.update_time)

    def document(self, run_id: str) -> Document:
        found = self.world.firestore.document(f"flow_runs/{run_id}").get().to_dict()
        assert found is not None
        document: Document = found
        return document

    def ending(self, run_id: str) -> Ending:
        document = self.document(run_id)
        steps = sorted((name, step["status"]) for name, step in document["steps"].items())
        return Ending(document["status"], tuple(steps), tuple(sorted(self._objects(run_id))))

    def judge(self, records: Sequence[Record], run_ids: Sequence[str]) -> dict[str, list[str]]:
        """What the auditor says, by run; what it says of no run in particular stands under the empty id."""
        found: dict[str, list[str]] = {}
        for law in Auditor(skew=None, operators=self.operators).hear(records).verdict(read=self._read):
            found.setdefault(next((run_id for run_id in run_ids if run_id in law), ""), []).append(law)
        return found

    def _objects(self, run_id: str) -> Iterator[tuple[str, str]]:
        for root in ("runs", "charts"):
            for blob in self.world.storage.list_blobs(self.world.bucket, prefix=f"{root}/{run_id}/"):
                if ".attempt-" not in blob.name:  # evidence of a failed attempt: the auditor's business
                    owner = blob.metadata or {}
                    said = f"{owner.get('run')} {owner.get('step')}"
                    yield blob.name.replace(run_id, "RUN"), said.replace(run_id, "RUN")

    def _read(self, name: str) -> bytes:
        content: bytes = self.world.storage.bucket(self.world.bucket).blob(name).download_as_bytes()
        return content


@contextmanager
def opened() -> Iterator[Arena]:
    functions = [_hurried(function) for function in project.functions() if function.pattern]
    with Platform(functions=functions, time_scale=FASTER, log=Log()) as platform, at_home(platform) as world:
        furnished(world)
        yield Arena(platform, world)


def _hurried(function: Function) -> Function:
    environment: Mapping[str, str] = {**function.environment, **SECONDS, "LOG_LEVEL": "ERROR"}
    return replace(function, environment=environment, timeout=float(SECONDS["INVOCATION_TIMEOUT_SECONDS"]))


def _over(document: Mapping[str, Any]) -> bool:
    steps = document["steps"].values()
    return document["status"] in FINISHED and all(step["status"] != "RUNNING" for step in steps)
