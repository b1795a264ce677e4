"""Providers and stores that fail: one paid call, the documented code, and a step that is finished or will come back."""

import json
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest

from emulator.faults import Fault, delay, drop, drop_after, hang, refuse, shape, status
from flowcore.domain.artifacts import Artifact, description, ownership, sha256
from flowcore.domain.times import to_text
from flowcore.testing.builders import REPORT, RUN_ID, parsed
from functions.worker_llm_report.asking import REPAIR_MARGIN
from tests.functions.llm_report import scene
from tests.functions.llm_report.scene import failed_with
from tests.functions.system import BUCKET, System

FAILED, LATER = "FAILED", "PENDING"
SILENT = "GEMINI_REQUEST_FAILED"
REFUSED = "LLM_PROFILE_INVALID"


@pytest.mark.acceptance("E26", "E27", "E28", "E29")
@pytest.mark.parametrize(
    ("trouble", "code", "then"),
    [
        (status(429), "RATE_LIMITED", LATER),
        (status("RESOURCE_EXHAUSTED"), "RATE_LIMITED", LATER),
        *(
            (trouble, SILENT, LATER)
            for trouble in (status(500), status(502), status(503), status(504), status(500, applied=True))
        ),
        *((trouble, SILENT, LATER) for trouble in (delay(20), hang(20), hang(20, applied=True))),
        *((trouble, SILENT, LATER) for trouble in (refuse(), drop(), drop_after(), shape("non_json"))),
        (status(400), REFUSED, FAILED),
        (status(401), REFUSED, FAILED),
        (status(403), REFUSED, FAILED),
        (status(404), REFUSED, FAILED),
    ],
)
def test_a_provider_that_fails_is_asked_once(system: System, trouble: Fault, code: str, then: str) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="gemini", action=trouble, times=1)
    with system.configured(GEMINI_TIMEOUT_SECONDS="0.4" if trouble.wait else "60"):
        step = scene.outcome(system, scene.a_report_run(attempts=2))
    assert (step["status"], scene.model_calls(system), fault.fired) == (then, 1, 1)
    error = step["error"] if then == FAILED else step["attempts"][0]["error"]
    assert (error["code"], error["retryable"]) == (code, then == LATER)
    assert ("notBefore" in step) == (then == LATER)


def test_a_slow_answer_is_an_answer(system: System) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="gemini", action=delay(0.2), times=1)
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], scene.model_calls(system), fault.fired) == ("SUCCEEDED", 1, 1)


@pytest.mark.acceptance("E26")
def test_a_provider_that_asks_for_patience_gets_it(system: System) -> None:
    scene.set_up(system)
    system.faults.add(service="gemini", action=status(429, retry_after=1234.5), times=1)
    step = scene.outcome(system, scene.a_report_run(attempts=2))
    assert step["attempts"][0]["error"]["details"]["retryAfterSeconds"] == 1234.5
    rest = datetime.fromisoformat(step["notBefore"]) - datetime.now(UTC)
    assert timedelta(seconds=1200) < rest < timedelta(seconds=1250)


def test_after_its_rest_the_step_is_tried_again_and_succeeds(system: System) -> None:
    scene.set_up(system)
    system.faults.add(service="gemini", action=status(503), times=1)
    scene.outcome(system, scene.a_report_run(attempts=2))
    system.later(60)
    system.sweep()
    step = system.step(RUN_ID, REPORT)
    assert (step["status"], step["attempt"], scene.model_calls(system)) == ("SUCCEEDED", 2, 2)
    assert step["attempts"][0]["error"]["code"] == SILENT


@pytest.mark.acceptance("E28")
def test_a_model_that_does_not_exist_is_named(system: System) -> None:
    scene.set_up(system)
    step = scene.outcome(system, scene.a_report_run(scene.inputs(scene.profile(modelName="gemini-0.1-never"))))
    assert failed_with(step, REFUSED, "MODEL_NOT_FOUND")
    assert "gemini-0.1-never" in step["error"]["message"]


@pytest.mark.acceptance("E28")
def test_a_key_that_is_refused_is_not_shown(system: System) -> None:
    scene.set_up(system)
    with system.configured(GEMINI_API_KEY="hunter2-hunter2"):
        step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, REFUSED, "key_refused")
    assert "GEMINI_API_KEY" in step["error"]["message"]
    assert "hunter2" not in json.dumps([step, system.logs])


@pytest.mark.acceptance("E29")
def test_a_call_ends_at_its_deadline(system: System) -> None:
    scene.set_up(system)
    system.faults.add(service="gemini", action=hang(30))
    began = time.monotonic()
    with system.configured(GEMINI_TIMEOUT_SECONDS="0.5"):
        step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, SILENT)
    assert 500 <= duration_ms(step) < 5_000
    assert time.monotonic() - began < 10


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seconds that the provider was told to have, call by call, as it went over the wire."""
    seconds: list[int] = []
    send = httpx2.AsyncClient.send

    async def noted(self: httpx2.AsyncClient, request: httpx2.Request, **more: Any) -> httpx2.Response:
        seconds.append(int(request.headers["X-Server-Timeout"]))
        return await send(self, request, **more)

    monkeypatch.setattr(httpx2.AsyncClient, "send", noted)
    return seconds


@pytest.mark.acceptance("E24")
def test_a_repair_gets_what_is_left_without_the_reserve_and_a_margin(system: System, allowed: list[int]) -> None:
    """Of 780 seconds 590 are gone, waiting for the candles, when the model is asked; 120 are kept back."""
    scene.set_up(system)
    system.platform.gemini.script.say("{")
    system.platform.gemini.script.say(scene.GOOD, when="<repair>")
    slow = system.faults.add(
        service="storage",
        method="objects.get_media",
        resource=f"*/{scene.OHLCV_OBJECT}",
        action=status(503, retry_after=590),
        times=1,
    )
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], slow.fired, scene.model_calls(system)) == ("SUCCEEDED", 1, 2)
    first, repair = allowed
    assert 50 < first <= 780 - 590 - 120
    assert 45 < repair <= 780 - 590 - 120 - REPAIR_MARGIN


@pytest.mark.acceptance("E24")
def test_after_a_slow_answer_there_may_be_no_time_for_a_repair(system: System) -> None:
    scene.set_up(system)
    system.platform.gemini.script.say("{", times=None)
    slow = system.faults.add(service="gemini", action=delay(1.2), times=1)
    limits = {"INVOCATION_TIMEOUT_SECONDS": "12", "GEMINI_TIMEOUT_SECONDS": "11", "FINALIZE_BUDGET_SECONDS": "1"}
    with system.configured(**limits):
        step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, "INVALID_STRUCTURED_OUTPUT", "json_parse")
    assert (step["error"]["details"]["repair"], slow.fired, scene.model_calls(system)) == ("time_budget", 1, 1)


@pytest.mark.acceptance("E30")
def test_without_time_for_an_answer_the_model_is_not_asked(system: System) -> None:
    scene.set_up(system)
    limits = {"INVOCATION_TIMEOUT_SECONDS": "10", "GEMINI_TIMEOUT_SECONDS": "4", "FINALIZE_BUDGET_SECONDS": "6"}
    with system.configured(**limits):
        step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, SILENT, "time_budget")
    assert scene.model_calls(system) == 0


# --- the stores ---


@pytest.mark.acceptance("E19")
@pytest.mark.parametrize(
    ("name", "method"),
    [
        (scene.OHLCV_OBJECT, "objects.get_media"),
        (scene.MANIFEST_OBJECT, "objects.get_media"),
        (scene.image_object("ctpl_1_v1"), "objects.get_media"),
        (scene.image_object("ctpl_1_v1"), "objects.get"),
    ],
    ids=["candles", "manifest", "image", "size of an image"],
)
def test_material_that_comes_at_the_third_try(system: System, name: str, method: str) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="storage", method=method, resource=f"*/{name}", action=status(503), times=2)
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], fault.fired, scene.model_calls(system)) == ("SUCCEEDED", 2, 1)


@pytest.mark.acceptance("E19")
def test_material_that_never_comes(system: System) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="storage", method="objects.get_media", action=status(503))
    step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, "GCS_READ_FAILED")
    assert (step["error"]["retryable"], fault.fired, scene.model_calls(system)) == (True, 5, 0)


@pytest.mark.parametrize("path", ["llm_prompts", "llm_schemas"])
def test_a_registry_that_answers_at_the_third_try(system: System, path: str) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="firestore", resource=f"*{path}/*", action=status(503), times=2)
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], fault.fired, scene.model_calls(system)) == ("SUCCEEDED", 2, 1)


@pytest.mark.acceptance("E35")
def test_a_report_that_is_stored_at_the_third_try_was_paid_once(system: System) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="storage", method="objects.insert", action=status(503), times=2)
    step = scene.outcome(system, scene.a_report_run())
    assert (step["status"], fault.fired, scene.model_calls(system)) == ("SUCCEEDED", 2, 1)


@pytest.mark.acceptance("E36")
def test_a_report_that_cannot_be_stored(system: System) -> None:
    scene.set_up(system)
    fault = system.faults.add(service="storage", method="objects.insert", action=status(503))
    step = scene.outcome(system, scene.a_report_run())
    assert failed_with(step, "GCS_WRITE_FAILED")
    assert (step["error"]["retryable"], fault.fired, scene.model_calls(system)) == (True, 5, 1)


# --- a report that is there already ---

FOUND = Artifact.json(
    {"metadata": {}, "output": scene.GOOD},
    execution={"attempts": {"total": 2}, "llm": {"finishReason": "STOP", "attempts": {"total": 2}}},
)


def leave_behind(system: System, document: dict[str, Any]) -> None:
    """What a worker stored before it vanished."""
    assert isinstance(FOUND.content, bytes)
    step = parsed(document).steps[REPORT]
    about = {**ownership(RUN_ID, step), **description(FOUND, sha256(FOUND.content))}
    system.put_object(scene.REPORT_OBJECT, FOUND.content, metadata=about)


def running_since(seconds: float) -> dict[str, object]:
    started = datetime.now(UTC) - timedelta(seconds=seconds)
    lease = {"token": "of-the-vanished", "expiresAt": to_text(started + timedelta(seconds=900))}
    return {"status": "RUNNING", "attempt": 1, "startedAt": to_text(started), "lease": lease}


@pytest.mark.acceptance("E31")
def test_a_running_step_whose_report_is_there_is_finished_from_it(system: System) -> None:
    scene.set_up(system)
    document = scene.a_report_run(report=running_since(40))
    leave_behind(system, document)
    step = scene.outcome(system, document)
    execution = step["outputs"]["execution"]
    assert (step["status"], execution["reused"], scene.model_calls(system)) == ("SUCCEEDED", True, 0)
    assert execution["llm"] == {"finishReason": "STOP", "attempts": {"total": 2}}
    assert execution["attempts"] == {"total": 2}


@pytest.mark.acceptance("E32")
def test_a_ready_step_whose_report_is_there_is_claimed_and_pays_nothing(system: System) -> None:
    scene.set_up(system)
    document = scene.a_report_run()
    leave_behind(system, document)
    step = scene.outcome(system, document)
    assert (step["status"], step["attempt"], scene.model_calls(system)) == ("SUCCEEDED", 1, 0)
    assert step["outputs"]["execution"]["reused"] is True


@pytest.mark.acceptance("E33")
def test_a_succeeded_step_that_lost_its_pointer_gets_it_back(system: System) -> None:
    scene.set_up(system)
    before = {"status": "SUCCEEDED", "attempt": 1, "finishedAt": to_text(datetime.now(UTC)), "outputs": {"mine": 1}}
    document = scene.a_report_run(report=before)
    leave_behind(system, document)
    step = scene.outcome(system, document)
    assert step["outputs"] == {"mine": 1, "gcs_uri": f"gs://{BUCKET}/{scene.REPORT_OBJECT}"}
    assert {**step, "outputs": None} == {**document["steps"][REPORT], "outputs": None}  # type: ignore[index]
    assert scene.model_calls(system) == 0


@pytest.mark.acceptance("E34")
def test_a_report_that_somebody_else_stored_meanwhile_is_the_result(system: System) -> None:
    scene.set_up(system)
    document = scene.a_report_run()

    def be_slower_than_another(prompt: object) -> str:
        leave_behind(system, document)
        return json.dumps({"summary": {"markdown": "Too late."}, "details": {}})

    system.platform.gemini.script.say(be_slower_than_another)
    step = scene.outcome(system, document)
    assert (step["status"], scene.model_calls(system)) == ("SUCCEEDED", 1)
    assert step["outputs"]["execution"]["reused"] is True
    assert scene.written(system)["output"] == scene.GOOD


def duration_ms(step: dict[str, Any]) -> float:
    started, finished = (datetime.fromisoformat(step[name]) for name in ("startedAt", "finishedAt"))
    return (finished - started) / timedelta(milliseconds=1)
