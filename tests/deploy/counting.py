"""What one run of the market report asks of the platform, and what no run at all does, counted on the platform itself.

`python -m tests.deploy.counting` prints it; `--record` writes it to deploy/costs/, where `flow cost` finds it. Branches
run side by side, so a write is lost here and there, and the figures differ a little from run to run: of several runs,
the dearest is recorded.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from emulator.eventarc import Subscription
from emulator.eventarc.events import Event, event_of
from emulator.platform import Platform
from flowcore.cli.seeding import seeds
from flowcore.contracts.flows import instantiate
from flowcore.testing.world import T0
from tests.functions.hosting import hosted
from tests.functions.system import System

FLOW = "market_report_v1"
FOLDER = Path(__file__).parents[2] / "deploy/costs"
NOTHING_DONE = ("event_noop", "event_ignored")


def counted(system: System) -> dict[str, Any]:
    """One run, from the first write to the last event."""
    definitions = {}
    for seed in seeds():
        system.put(seed.path, seed.fields)
        definitions[seed.path] = seed.fields
    document = instantiate(
        definitions[f"flow_definitions/{FLOW}"], {}, run_id="counted", now=T0, trigger={"type": "USER", "source": "x"}
    )
    system.settle()
    system.faults.calls.clear()
    system.faults.history.clear()
    system.lines.clear()
    with system.recorded() as changes:
        run_id = system.start(document)
    run = system.run(run_id)
    assert run["status"] == "SUCCEEDED", run
    told = Subscription("any", "", "flow_runs/{runId}")
    of_the_run = [change for change in changes if "/flow_runs/" in change.name]
    deliveries = Counter(note.method for note in system.faults.history.of("event"))
    answers = [line for line in system.logs if line["event"] == "llm_request_finished"]
    reads = system.calls("firestore", "BatchGetDocuments")
    run_reads = system.calls("firestore", "BatchGetDocuments", f"*flow_runs/{run_id}")
    return {
        "steps": len(run["steps"]),
        "documentWrites": system.calls("firestore", "Commit"),
        "runReads": run_reads,
        "otherReads": reads - run_reads,
        "deliveries": dict(sorted(deliveries.items())),
        "deliveriesForNobody": sum(line["event"] in NOTHING_DONE for line in system.logs),
        "eventBytes": sum(_size(event_of(change, told, "nam5")) for change in of_the_run),
        "objectWrites": system.calls("storage", "objects.insert*"),
        "objectReads": system.calls("storage", "objects.get*"),
        "queries": system.calls("bigquery", "jobs.query"),
        "modelCalls": len(answers),
        "inputTokens": sum(line["prompt_tokens"] for line in answers),
        "outputTokens": sum(line["total_tokens"] - line["prompt_tokens"] for line in answers),
    }


def _size(event: Event) -> int:
    """As Pub/Sub counts it: with its attributes."""
    return len(event.body) + sum(len(name) + len(value) for name, value in event.headers.items())


def at_rest(system: System) -> dict[str, dict[str, int]]:
    """One sweep of each kind, when every run has finished."""
    found = {}
    for name, every_run in {"minutely": False, "hourly": True}.items():
        system.faults.calls.clear()
        report = system.sweep(every_run=every_run)
        assert (report["seen"], report["failed"]) == (0, 0), report
        found[name] = {
            "queries": system.calls("firestore", "RunQuery"),
            "otherCalls": system.calls("firestore") - system.calls("firestore", "RunQuery"),
        }
    return found


def dearest(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return max(runs, key=lambda run: (sum(run["deliveries"].values()), run["documentWrites"], run["runReads"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    runs = []
    with Platform(time_scale=1000.0) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        with hosted(platform) as system:
            for _ in range(asked.runs):
                platform.reset()
                system.renew()
                runs.append(counted(system))
            resting = at_rest(system)
    made = {FLOW: {"flow": FLOW, "perRun": dearest(runs)}, "at_rest": {"perSweep": resting}}
    if asked.record:
        for name, content in made.items():
            (FOLDER / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    sys.stdout.write(json.dumps(made, indent=2) + "\n")


if __name__ == "__main__":
    main()
