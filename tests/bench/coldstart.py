"""`make bench-coldstart`: from the start of a process to its first answer, for each function and for its floor.

The floor is a bare function under the same functions-framework that makes the same calls with the same Google clients
and nothing else. So the ratio is what Flowcore costs. Each pair is measured in turns, and the best of several runs
counts: the rest of the machine can only make a start slower. Both are compiled beforehand, as the builder of Cloud
Functions does (it runs `compileall` over a function's source, so that a syntax error ends the build).

A worker is sent a step whose object is there already: it claims, looks, and records, and pays nobody.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import requests
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]
from google.events.cloud.firestore import DocumentEventData

from emulator.platform import Platform
from flowcore.domain.artifacts import Artifact as Result
from flowcore.domain.artifacts import description, main_object, ownership
from flowcore.testing.builders import a_run, a_step, parsed
from functions.catalogue import Deployable, deployables
from tests.reading.sources import ROOT

BUCKET = "artifacts"
WITHIN = 1.15
RUN = "bench-coldstart"
STEP = "the_step"
STEP_TYPES = {"worker_ohlcv_export": "OHLCV_EXPORT", "worker_charts": "CHART_EXPORT", "worker_llm_report": "LLM_REPORT"}

EVENT_FLOOR = """
import functions_framework
from google.cloud import firestore
from google.events.cloud.firestore import DocumentEventData
{more_imports}
db = None

@functions_framework.cloud_event
def floor(event):
    global db
    db = db or firestore.Client()
    told = DocumentEventData.deserialize(event.data)
    run = db.document("flow_runs/{run}")
    update_time = told.value.update_time
    {calls}
"""
PROMOTION = """
    run.update({"updatedAt": "now"}, option=db.write_option(last_update_time=update_time))
"""
WORK = """
    update_time = run.update({"updatedAt": "a"}, option=db.write_option(last_update_time=update_time)).update_time
    storage.Client().bucket("artifacts").get_blob(NAME)
    run.update({"updatedAt": "b"}, option=db.write_option(last_update_time=update_time))
"""
SWEEP_FLOOR = """
import functions_framework
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter
import datetime

@functions_framework.http
def floor(request):
    runs = firestore.Client().collection("flow_runs")
    now = datetime.datetime.now(datetime.UTC)
    list(runs.where(filter=FieldFilter("wakeAt", "<=", now)).order_by("wakeAt").stream())
    list(runs.where(filter=FieldFilter("status", "==", "PENDING")).stream())
    return {}
"""
START_FLOOR = """
import functions_framework
from google.cloud import firestore

@functions_framework.http
def floor(request):
    db = firestore.Client()
    body = request.get_json()
    db.document("flow_runs/floor").get()
    db.document("flow_definitions/bench").get()
    db.collection("floors").document().create(body)
    return {}
"""


@dataclass(frozen=True)
class Bench:
    platform: Platform
    environment: Mapping[str, str]

    def seconds(self, source: Path, target: str, kind: str, function: str) -> float:
        """One start: a fresh document, a fresh process, one request; the clock runs until it is answered."""
        headers, body = self._request(function)
        with _process(source, target, kind, self.environment) as (port, began):
            answer = _first_answer(port, headers, body)
            taken = time.perf_counter() - began
        assert answer.ok, f"{function}: {answer.status_code} {answer.text[:500]}"
        return taken

    def _request(self, function: str) -> tuple[dict[str, str], bytes]:
        self.platform.reset()
        db = firestore.Client()
        bucket = StorageClient().create_bucket(BUCKET)
        if function == "sweep":
            return {}, b""
        if function == "start_flow":
            db.document("flow_definitions/bench").set({"steps": {"a": {"stepType": "NOBODYS"}}})
            return {"content-type": "application/json"}, b'{"flowKey": "bench"}'
        step_type = STEP_TYPES.get(function)
        step = a_step(step_type or "NOBODYS", "READY" if step_type else "PENDING", timeframe="1M")
        run = a_run(run_id=RUN, steps={STEP: step}, at=datetime.now(UTC))
        if step_type:
            found = parsed(run, RUN).steps[STEP]
            blob = bucket.blob(main_object(RUN, found))
            blob.metadata = {**ownership(RUN, found), **description(Result.json({}), "0" * 64)}
            blob.upload_from_string(b"{}", "application/json")
        db.document(f"flow_runs/{RUN}").set(run)
        return _event(db)


def _event(db: firestore.Client) -> tuple[dict[str, str], bytes]:
    """The event that Eventarc would send for the document as it is now."""
    snapshot = db.document(f"flow_runs/{RUN}").get()
    name = f"projects/{db.project}/databases/(default)/documents/flow_runs/{RUN}"
    found = next(
        iter(db._firestore_api.batch_get_documents({"database": name.partition("/documents")[0], "documents": [name]}))
    )
    data: Any = DocumentEventData.pb()()
    data.value.MergeFromString(type(found.found).serialize(found.found))
    assert snapshot.exists
    headers = {
        "content-type": "application/protobuf",
        "ce-id": "1",
        "ce-source": "//firestore.googleapis.com/projects/p/databases/(default)",
        "ce-specversion": "1.0",
        "ce-type": "google.cloud.firestore.document.v1.written",
        "ce-subject": f"documents/flow_runs/{RUN}",
    }
    return headers, data.SerializeToString()


@contextmanager
def _process(source: Path, target: str, kind: str, environment: Mapping[str, str]) -> Iterator[tuple[int, float]]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "functions_framework", "--source", str(source), "--target", target]
    command += ["--signature-type", kind, "--host", "127.0.0.1", "--port", str(port)]
    began = time.perf_counter()
    process = subprocess.Popen(
        command, env=dict(environment), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    try:
        yield port, began
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _first_answer(port: int, headers: Mapping[str, str], body: bytes) -> requests.Response:
    deadline = time.monotonic() + 30
    while True:
        try:
            return requests.post(f"http://127.0.0.1:{port}/", data=body, headers=dict(headers), timeout=30)
        except requests.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.002)


def _floor(function: Deployable, folder: Path) -> Path:
    """A file with the bare function that makes the same calls."""
    if function.name == "sweep":
        text = SWEEP_FLOOR
    elif function.name == "start_flow":
        text = START_FLOOR
    else:
        step_type = STEP_TYPES.get(function.name)
        calls = (WORK if step_type else PROMOTION).strip()
        imports = ""
        if step_type:
            name = main_object(
                RUN, parsed(a_run(run_id=RUN, steps={STEP: a_step(step_type, timeframe="1M")}), RUN).steps[STEP]
            )
            calls, imports = calls.replace("NAME", repr(name)), "from google.cloud import storage"
        text = EVENT_FLOOR.replace("{run}", RUN).replace("{calls}", calls).replace("{more_imports}", imports)
    path = folder / f"floor_{function.name}.py"
    path.write_text(text)
    compileall.compile_file(path, quiet=1)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench-coldstart", description=__doc__)
    parser.add_argument("--runs", type=int, default=15, help="of each kind; the best counts (default: %(default)s)")
    parser.add_argument("functions", nargs="*", help="only these")
    options = parser.parse_args()
    for source in ("flowcore", "functions"):
        compileall.compile_dir(ROOT / source, quiet=1)
    rows: list[dict[str, Any]] = []
    with Platform() as platform, tempfile.TemporaryDirectory() as folder:
        os.environ.update(platform.exports)
        bench = Bench(platform, {**os.environ, "ARTIFACTS_BUCKET": BUCKET, "LOG_LEVEL": "ERROR"})
        print(f"{'function':<22}{'floor':>9}{'ours':>9}{'ratio':>8}", flush=True)
        for function in deployables():
            if options.functions and function.name not in options.functions:
                continue
            kind = "cloudevent" if function.run_triggered else "http"
            floor, ours = _floor(function, Path(folder)), function.folder / "main.py"
            pairs = [
                (
                    bench.seconds(floor, "floor", kind, function.name),
                    bench.seconds(ours, function.name, kind, function.name),
                )
                for _ in range(options.runs)
            ]
            best = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
            rows.append({"function": function.name, "floor": best[0], "ours": best[1], "ratio": best[1] / best[0]})
            print(f"{function.name:<22}{best[0]:>7.3f} s{best[1]:>7.3f} s{best[1] / best[0]:>8.2f}", flush=True)
    build = Path("build")
    build.mkdir(exist_ok=True)
    (build / "coldstart.json").write_text(json.dumps({"within": WITHIN, "functions": rows}, indent=2))
    slow = [row["function"] for row in rows if row["ratio"] > WITHIN]
    if slow:
        sys.exit(f"more than {WITHIN} times the floor: {', '.join(map(str, slow))}")


if __name__ == "__main__":
    main()
