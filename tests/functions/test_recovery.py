"""What no event will do, and what a process that is gone leaves behind: through real events, sweeps and processes."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
import requests
from google.cloud.firestore import DELETE_FIELD

from emulator.eventarc import Subscription
from emulator.eventarc.events import event_of
from emulator.faults import shape, status
from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.domain.times import to_text
from flowcore.testing.builders import a_run, a_step
from tests.domain.promises import broken_promises
from tests.emulator.platform.sockets import a_free_base, listening
from tests.functions.conftest import PROBE
from tests.functions.hosting import FUNCTIONS
from tests.functions.probe.provider import Provider
from tests.functions.probe.runs import NOBODYS, OBJECT, PROBE_RUN, WORK, probing
from tests.functions.probe.runs import planned as as_planned
from tests.functions.system import System, wait_until

LEASE = 780 + 60  # seconds
STEP = "a_step"
DOCUMENT = f"flow_runs/{PROBE_RUN}"


def left_behind(step_type: str = NOBODYS, **fields: object) -> dict[str, object]:
    """A run whose worker was not heard of again; it began just now."""
    now = datetime.now(UTC)
    lease = {"token": "of-the-vanished", "expiresAt": to_text(now + timedelta(seconds=LEASE))}
    step = a_step(step_type, "RUNNING", at=now, **{"lease": lease, "timeframe": "1M", **fields})  # type: ignore[arg-type]
    return as_planned(a_run(steps={STEP: step}, at=now), now)


# --- leases ------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("F1")
@pytest.mark.parametrize(("step_type", "allowed"), [(NOBODYS, 3), ("LLM_REPORT", 1)])
def test_an_expired_lease_is_offered_again_and_given_up_after_enough_losses(
    system: System, step_type: str, allowed: int
) -> None:
    run_id = system.start(left_behind(step_type, inputs={}, leaseLosses=allowed - 1))
    system.faults.add(service="eventarc", method="worker_*", action=shape("drop"))  # nobody takes it meanwhile
    system.later(LEASE + 1)
    assert system.sweep() == {"seen": 1, "changed": 1, "failed": 0, "unfinished": False}
    step = system.step(run_id, STEP)
    assert (step["status"], step["leaseLosses"], "lease" in step) == ("READY", allowed, False)

    expired = {"token": "of-another", "expiresAt": to_text(system.clock.now())}
    taken = {f"steps.{STEP}.{name}": value for name, value in {"status": "RUNNING", "lease": expired}.items()}
    system.db.document(f"flow_runs/{run_id}").update(taken)
    system.later(1)
    system.sweep(every_run=True)
    step = system.step(run_id, STEP)
    assert (step["status"], step["error"]["code"]) == ("FAILED", "LEASE_EXPIRED")
    assert system.run(run_id)["status"] == "FAILED"


@pytest.mark.acceptance("F1")
def test_a_worker_leaves_an_expired_lease_to_the_orchestrator(system: System, provider: Provider) -> None:
    with system.recorded() as changes:
        system.start(probing(provider, "RUNNING"))
    system.later(LEASE + 1)
    assert system.deliver(changes[0], "probe").status_code == 200
    assert (len(system.writes(PROBE_RUN)), provider.calls) == (1, 0)


@pytest.mark.acceptance("F2")
def test_a_lease_that_still_holds_is_not_even_looked_at(system: System) -> None:
    run_id = system.start(left_behind())
    system.later(LEASE - 60)
    assert system.sweep()["seen"] == 0
    assert system.sweep(every_run=True)["changed"] == 0
    assert len(system.writes(run_id)) == 1


@pytest.mark.acceptance("F3")
def test_a_claim_that_says_not_even_when_it_began_is_given_its_time(system: System) -> None:
    run_id = system.start(left_behind(startedAt=None, lease=None))
    system.sweep(every_run=True)
    assert "startedAt" in system.step(run_id, STEP)
    system.later(LEASE + 1)
    system.sweep()
    assert system.step(run_id, STEP)["status"] == "READY"


@pytest.mark.acceptance("F4")
def test_a_live_worker_that_lost_its_lease_finalizes_to_nothing(system: System, provider: Provider) -> None:
    """The sweep is first: the worker's clock stood still, and its lease ended while it was at work."""

    def sweep_once() -> None:
        provider.meanwhile = lambda: None
        system.later(LEASE + 1)
        system.call("sweep")

    provider.meanwhile = sweep_once
    system.start(probing(provider))
    step = system.step(PROBE_RUN, WORK)
    assert (step["status"], step["attempt"], step["leaseLosses"]) == ("SUCCEEDED", 2, 1)
    assert "STEP_FINALIZE_CONFLICT" in [line.get("code") for line in system.logs]
    assert system.objects() == [OBJECT]
    assert system.run(PROBE_RUN)["status"] == "SUCCEEDED"


@pytest.mark.acceptance("F4")
def test_a_sweep_that_comes_too_late_leaves_the_result_alone(system: System, provider: Provider) -> None:
    """The worker is first: the sweep decided on a document that has moved when its write arrives."""
    system.start(probing(provider, "RUNNING"))
    system.later(LEASE + 1)
    outputs = {"gcs_uri": "gs://artifacts/just-in-time"}
    with ThreadPoolExecutor() as meanwhile:
        with system.holding("firestore", "Commit") as late:
            sweeping = meanwhile.submit(system.call, "sweep")
            late.reached()
            final = {"status": "SUCCEEDED", "outputs": outputs, "lease": DELETE_FIELD}
            system.db.document(DOCUMENT).update({f"steps.{WORK}.{name}": value for name, value in final.items()})
        assert sweeping.result().status_code == 200
    assert system.step(PROBE_RUN, WORK)["outputs"] == outputs
    assert "READY" not in [(write.after or {})["steps"][WORK]["status"] for write in system.writes(PROBE_RUN)]
    assert system.run(PROBE_RUN)["status"] == "SUCCEEDED"


# --- events that never came --------------------------------------------------------------------------------


@pytest.mark.acceptance("F5")
def test_a_ready_step_whose_event_was_lost_is_offered_again(system: System, provider: Provider) -> None:
    lost = system.faults.add(service="eventarc", method="probe", action=shape("drop"), times=1)
    system.start(probing(provider))
    assert (lost.fired, provider.calls) == (1, 0)
    system.later(301)
    system.sweep()
    step = system.step(PROBE_RUN, WORK)
    assert (step["status"], step["nudges"], provider.calls) == ("SUCCEEDED", 1, 1)


@pytest.mark.acceptance("F5")
def test_a_new_run_whose_event_was_lost_is_begun(system: System, provider: Provider) -> None:
    lost = system.faults.add(service="eventarc", action=shape("drop"), times=5)
    system.start({**probing(provider, "PENDING"), "status": "PENDING", "wakeAt": None})
    system.faults.clear()
    assert lost.fired >= 2
    system.sweep()
    assert (system.run(PROBE_RUN)["status"], provider.calls) == ("SUCCEEDED", 1)


@pytest.mark.acceptance("F5")
def test_a_step_without_a_worker_ends_by_name(system: System) -> None:
    run_id = system.start(a_run("PENDING", steps={STEP: a_step(NOBODYS)}))
    for _ in range(6):
        system.later(301)
        system.sweep()
    assert system.step(run_id, STEP)["error"]["code"] == "NO_WORKER"
    assert system.run(run_id)["status"] == "FAILED"


@pytest.mark.acceptance("F6")
def test_the_whole_history_again_in_any_order_changes_nothing(system: System, provider: Provider) -> None:
    with system.recorded() as changes:
        system.start({**probing(provider, "PENDING"), "status": "PENDING"})
    before = (system.run(PROBE_RUN), _generations(system), provider.calls)
    again = [(change, function) for change in changes for function in ("advance_flow", "probe") for _ in range(2)]
    random.Random(7).shuffle(again)
    system.faults.history.clear()
    assert {system.deliver(change, function).status_code for change, function in again} == {200}
    system.settle()
    assert (system.run(PROBE_RUN), _generations(system), provider.calls) == before
    assert system.writes(PROBE_RUN) == []


@pytest.mark.acceptance("F1", "F5")
def test_one_run_that_cannot_be_written_does_not_stop_the_sweep(system: System) -> None:
    system.faults.add(service="eventarc", action=shape("drop"))
    for number in range(3):
        system.put(f"flow_runs/run-{number}", a_run("PENDING", run_id=f"run-{number}", steps={STEP: a_step(NOBODYS)}))
    refused = system.faults.add(
        service="firestore", method="Commit", resource="flow_runs/run-1", action=status(403), times=1
    )
    answer = system.call("sweep")
    assert (answer.status_code, refused.fired) == (500, 1)
    assert answer.json() == {"seen": 3, "changed": 2, "failed": 1, "unfinished": False}
    assert [system.run(f"run-{number}")["status"] for number in range(3)] == ["RUNNING", "PENDING", "RUNNING"]
    assert system.sweep()["changed"] == 1


# --- a process that is gone --------------------------------------------------------------------------------


@pytest.mark.acceptance("F15")
def test_after_its_lease_another_worker_takes_over(system: System, provider: Provider) -> None:
    """The first worker paid and vanished: of it there is a claim, and no object."""
    system.start(probing(provider, "RUNNING", attempt=1))
    system.later(LEASE + 1)
    system.sweep()
    step = system.step(PROBE_RUN, WORK)
    assert (step["status"], step["attempt"], step["leaseLosses"]) == ("SUCCEEDED", 2, 1)
    assert step["attempts"][0]["error"]["code"] == "LEASE_EXPIRED"
    assert system.objects() == [OBJECT]


@pytest.mark.acceptance("F15")
def test_a_worker_killed_at_work_is_succeeded_by_another(system: System, provider: Provider) -> None:
    lost = system.faults.add(service="eventarc", method="probe", action=shape("drop"))  # the other one gets it all
    with system.recorded() as changes, a_process("probe", str(PROBE.source / "main.py")) as (process, url):
        system.start(probing(provider))
        provider.meanwhile = lambda: os.killpg(process.pid, signal.SIGKILL)
        event = event_of(changes[0], Subscription("probe", url, "flow_runs/{runId}"), "nam5")
        with pytest.raises(requests.ConnectionError):
            requests.post(url, data=event.body, headers=dict(event.headers), timeout=20)
        assert process.wait(10) == -signal.SIGKILL
    system.settle()
    assert lost.fired >= 1
    assert (system.step(PROBE_RUN, WORK)["status"], system.objects()) == ("RUNNING", [])

    provider.meanwhile = lambda: None
    system.faults.clear()
    system.later(LEASE + 1)
    system.sweep()
    step = system.step(PROBE_RUN, WORK)
    assert (step["status"], step["attempt"], system.objects()) == ("SUCCEEDED", 2, [OBJECT])
    assert provider.calls == 2  # paid twice, and recorded so: once for each claim
    assert system.run(PROBE_RUN)["status"] == "SUCCEEDED"


@pytest.mark.acceptance("F16")
@pytest.mark.parametrize("seed", range(3))
def test_every_state_that_is_ever_seen_is_sound(system: System, provider: Provider, seed: int) -> None:
    """Result if and only if it succeeded, error only if it did not, lease if and only if it is at work."""
    chance = random.Random(seed)
    weather = [
        {"service": "firestore", "method": "Commit", "action": status(503)},
        {"service": "firestore", "method": "Commit", "action": status(503, applied=True)},
        {"service": "firestore", "method": "Commit", "action": status("ABORTED")},
        {"service": "storage", "method": "objects.*", "action": status(503)},
        {"service": "eventarc", "method": "*", "action": shape("duplicate")},
        {"service": "eventarc", "method": "*", "action": shape("reorder", 0.01)},
        {"service": "eventarc", "method": "*", "action": shape("drop")},
    ]
    provider.meanwhile = lambda: setattr(provider, "status", chance.choice([200, 200, 503]))
    steps = {
        name: a_step("PROBE", depends_on=needs, inputs={"provider": provider.url}, optional=name == "c")
        for name, needs in {"a": [], "b": ["a"], "c": ["a"], "d": ["b"]}.items()
    }
    system.put(DOCUMENT, a_run("PENDING", run_id=PROBE_RUN, steps=steps))
    planned = [
        system.faults.add(**kind, probability=0.15, seed=seed * 100 + number)  # type: ignore[arg-type]
        for number, kind in enumerate(weather)
    ]
    for _ in range(40):
        system.settle()
        if _is_over(system):
            break
        system.later(301)
        system.call("sweep", params={"every_run": "true"})
    system.faults.clear()
    system.settle()
    assert _is_over(system), system.run(PROBE_RUN)
    assert sum(handle.fired for handle in planned) > 10
    for write in system.writes(PROBE_RUN):
        run = parse_run(Snapshot(PROBE_RUN, write.after or {}, datetime.now(UTC)))
        assert not broken_promises(run), write
    assert provider.calls <= sum(
        step["attempt"] for step in system.run(PROBE_RUN)["steps"].values() if "attempt" in step
    )


# --- a process that must not start -------------------------------------------------------------------------


@pytest.mark.acceptance("F17")
def test_a_process_with_a_wrong_setting_refuses_to_start_and_names_it(system: System) -> None:
    wrong = {
        ("advance_flow", "ARTIFACTS_BUCKET"): {"ARTIFACTS_BUCKET": ""},
        ("advance_flow", "GEMINI_TIMEOUT_SECONDS"): {
            "GEMINI_TIMEOUT_SECONDS": "700.125",
            "FINALIZE_BUDGET_SECONDS": "100.375",
        },
        ("advance_flow", "INVOCATION_TIMEOUT_SECONDS"): {"INVOCATION_TIMEOUT_SECONDS": "sesame"},
        ("worker_ohlcv_export", "CANDLES_TABLE"): {"CANDLES_TABLE": "sesame; --"},
        ("worker_charts", "CHARTS_TIMEZONE"): {"CHARTS_TIMEZONE": "Europe/Sesame"},
        ("worker_llm_report", "GEMINI_API_KEY"): {"GEMINI_API_KEY": ""},
    }
    processes = {
        case: _started(case[0], str(FUNCTIONS / case[0] / "main.py"), a_free_base(1), settings)
        for case, settings in wrong.items()
    }
    for case, process in processes.items():
        out, err = process.communicate(timeout=40)
        assert process.returncode != 0, case
        assert case[1] in err.decode()
        for value in filter(None, wrong[case].values()):
            assert value not in (out + err).decode()


# --- how it is done ----------------------------------------------------------------------------------------


def _is_over(system: System) -> bool:
    run = system.run(PROBE_RUN)
    at_work = [step for step in run["steps"].values() if step["status"] == "RUNNING"]
    return run["status"] in ("SUCCEEDED", "FAILED") and not at_work


def _generations(system: System) -> dict[str, int]:
    return {blob.name: blob.generation for blob in system.bucket.list_blobs()}


def _started(target: str, source: str, port: int, settings: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "functions_framework", "--source", source, "--target", target]
    return subprocess.Popen(
        [*command, "--signature-type", "cloudevent", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # the framework serves from a child of its own, and both shall go together
    )


@contextmanager
def a_process(target: str, source: str) -> "Iterator[tuple[subprocess.Popen[bytes], str]]":
    """A function in a process of its own, as it is deployed."""
    port = a_free_base(1)
    process = _started(target, source, port, {})
    try:
        wait_until(lambda: listening(port))
        yield process, f"http://127.0.0.1:{port}/"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=10)
