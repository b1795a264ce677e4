"""A process of its own that exports candles once, and says how much memory it took at most.

    python -m tests.functions.ohlcv.measured '{"source": "bigquery", …}' 1h

The stores are those of the environment, except for the run: its document is in memory.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from google.cloud.storage import Client  # type: ignore[import-untyped]

from flowcore import runtime
from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.adapters.gcs import GcsArtifacts
from flowcore.domain.budget import TimeBudget
from flowcore.engine.event import FlowEvent
from flowcore.engine.worker import Worker
from flowcore.testing.builders import RUN_ID, a_run, a_step
from flowcore.testing.stores import MemoryRuns
from flowcore.testing.world import MemoryLog
from functions.worker_ohlcv_export.main import OHLCV_EXPORT


def main(inputs: dict[str, object], timeframe: str) -> None:
    runs = MemoryRuns()
    step = a_step("OHLCV_EXPORT", "READY", timeframe=timeframe, inputs={**inputs, "timeframe": timeframe})
    artifacts = GcsArtifacts(Client(), runtime.config().artifacts_bucket)
    worker = Worker(OHLCV_EXPORT, runs, artifacts, SystemClock(), SystemChance(), MemoryLog(), TimeBudget())
    worker.handle(FlowEvent("event-1", RUN_ID, runs.put(RUN_ID, a_run(steps={"candles": step}))))
    snapshot = runs.get(RUN_ID)
    done = snapshot.document["steps"]["candles"]  # type: ignore[union-attr,index]
    sys.stdout.write(json.dumps({"step": done, "peak": peak()}))


def peak() -> int:
    """In KiB. `getrusage` would also count what the parent had before this process became another."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2])
