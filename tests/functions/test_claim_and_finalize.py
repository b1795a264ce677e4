"""What every worker promises, shown on a toy one: it takes a step once, pays once, and records what came of it."""

from datetime import UTC, datetime
from typing import Any

import pytest
from google.cloud import firestore

from emulator.faults import Fault, Handle, delay, drop, drop_after, shape, status
from flowcore.domain.artifacts import Artifact, description, ownership, sha256
from flowcore.domain.errors import REGISTRY
from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.testing.builders import a_step
from tests.domain.promises import broken_promises
from tests.functions.probe.provider import Provider
from tests.functions.probe.runs import BEFORE, NOBODYS, OBJECT, PROBE_RUN, WORK, probing, statuses
from tests.functions.system import System, wait_until
from tests.functions.test_advance_flow import changed

DOCUMENT = f"flow_runs/{PROBE_RUN}"


def work(system: System) -> dict[str, Any]:
    return system.step(PROBE_RUN, WORK)


def moved(system: System, step_id: str = WORK) -> list[str]:
    """The states that a step has gone through."""
    states = [statuses(write.after or {})[step_id] for write in system.writes(PROBE_RUN)]
    return [state for place, state in enumerate(states) if not place or states[place - 1] != state]


def events(system: System) -> list[str]:
    """What the probe has logged."""
    return [line["event"] for line in system.logs if line.get("step_type") == "PROBE"]


def codes(system: System, event: str) -> list[str]:
    """With which codes the probe has logged an event."""
    return [str(line["code"]) for line in system.logs if (line["event"], line.get("step_type")) == (event, "PROBE")]


def update(system: System, **fields: object) -> None:
    """Somebody else writes the run."""
    system.db.document(DOCUMENT).update({name.replace("__", "."): value for name, value in fields.items()})


def set_step(system: System, step_id: str, **fields: object) -> None:
    update(system, **{f"steps__{step_id}__{name}": value for name, value in fields.items()})


# --- claim -------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("B1", "B20")
def test_a_step_is_claimed_executed_and_recorded(system: System, provider: Provider) -> None:
    system.start(probing(provider))
    _, claim, final, _ = system.writes(PROBE_RUN)
    own = {f"steps.{WORK}.{field}" for field in ("status", "startedAt", "lease", "attempt")}
    assert changed(claim) == own | {"wakeAt", "updatedAt"}
    assert statuses(final.after or {})[WORK] == "SUCCEEDED"
    step = work(system)
    execution = step["outputs"]["execution"]
    assert (step["attempt"], execution["attempts"], execution["model"]) == (1, {"total": 1}, "m-1")
    assert execution["timing"]["durationMs"] >= 0
    assert {execution["timing"][end][-1] for end in ("startedAt", "finishedAt")} | {step["finishedAt"][-1]} == {"Z"}
    assert "lease" not in step
    assert system.object(step["outputs"]["gcs_uri"]) == b'{"text":"answer 1"}'
    assert system.run(PROBE_RUN)["status"] == "SUCCEEDED"
    assert provider.calls == 1


@pytest.mark.acceptance("B1", "B18")
def test_a_claim_takes_away_what_an_earlier_attempt_left(system: System, provider: Provider) -> None:
    stale: Any = {"error": {"code": "INTERNAL", "message": "old"}, "finishedAt": "2025-12-24T12:00:00Z", "attempt": 4}
    system.start(probing(provider, **stale))
    claim = system.writes(PROBE_RUN)[1]
    assert {f"steps.{WORK}.error", f"steps.{WORK}.finishedAt"} <= changed(claim)
    assert (work(system)["status"], work(system)["attempt"], "error" in work(system)) == ("SUCCEEDED", 5, False)


@pytest.mark.acceptance("B1")
def test_a_claim_on_what_is_no_longer_true_is_refused(system: System, provider: Provider) -> None:
    """The precondition is on the wire: with the document changed under it, the claim's first write does not land."""
    with system.holding("firestore", "Commit", skip=1) as claim:
        system.put(DOCUMENT, probing(provider))
        claim.reached()
        lost = system.faults.add(service="eventarc", method="probe", action=shape("drop"), times=1)
        update(system, note=1)
        wait_until(lambda: lost.fired == 1)  # so that the claim under way is the only one
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]
    assert system.calls("firestore", "Commit") == len(system.writes(PROBE_RUN)) + 1
    assert [line["conflicts"] for line in system.logs if line["event"] == "step_claimed"] == [1]


@pytest.mark.acceptance("B2")
def test_of_two_workers_one_pays(system: System, provider: Provider) -> None:
    twice = system.faults.add(service="eventarc", method="probe", action=shape("duplicate"), times=1)
    both = system.faults.add(service="firestore", method="Commit", action=delay(0.15), skip=1, times=2)
    system.start(probing(provider))
    assert (twice.fired, both.fired) == (1, 2)
    assert provider.calls == 1
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]
    assert work(system)["attempt"] == 1
    assert "ERROR" not in [line["severity"] for line in system.logs]
    assert set(system.outcomes("probe")) == {"delivered"}


@pytest.mark.acceptance("B3")
def test_a_claim_that_loses_every_race_gives_up_without_a_word(system: System, provider: Provider) -> None:
    lost = system.faults.add(service="firestore", method="Commit", action=status("FAILED_PRECONDITION"), skip=1)
    system.start(probing(provider))
    assert 3 <= lost.fired <= 5
    first, *later = system.clock.naps
    assert first <= 0.01
    assert all(0.1 <= nap <= 0.5 for nap in later)
    assert len(set(later)) == len(later) > 0
    assert codes(system, "event_noop") == ["STEP_CLAIM_CONFLICT"]
    assert (len(system.writes(PROBE_RUN)), provider.calls, system.outcomes("probe")) == (1, 0, ["delivered"])


@pytest.mark.acceptance("B4")
def test_a_claim_survives_a_write_that_has_nothing_to_do_with_it(system: System, provider: Provider) -> None:
    with system.holding("firestore", "Commit", skip=1) as claim:
        system.put(DOCUMENT, probing(provider))
        claim.reached()
        set_step(system, BEFORE, note="another was here")
    assert (work(system)["status"], provider.calls) == ("SUCCEEDED", 1)


@pytest.mark.acceptance("B5")
@pytest.mark.parametrize("wish", [{"status": "CANCELLED"}, {"cancelRequested": True}], ids=["by hand", "flag"])
def test_a_run_cancelled_before_the_claim_takes_none(
    system: System, provider: Provider, wish: dict[str, object]
) -> None:
    with system.holding("firestore", "Commit", skip=1) as claim:
        system.put(DOCUMENT, probing(provider))
        claim.reached()
        lost = system.faults.add(service="eventarc", method="advance_flow", action=shape("drop"), times=1)
        update(system, **wish)
        wait_until(lambda: lost.fired == 1)  # so that nobody but the worker itself keeps it from the step
    assert moved(system) == ["READY"]
    assert provider.calls == 0


@pytest.mark.acceptance("B6")
@pytest.mark.parametrize("state", ["RUNNING", "PENDING"])
def test_a_dependency_that_is_no_longer_done_takes_the_claim_away(
    system: System, provider: Provider, state: str
) -> None:
    with system.holding("firestore", "Commit", skip=1) as claim:
        system.put(DOCUMENT, probing(provider))
        claim.reached()
        set_step(system, BEFORE, **a_step(NOBODYS, state, at=datetime.now(UTC)))
    assert "RUNNING" not in moved(system)
    assert provider.calls == 0


@pytest.mark.acceptance("B7")
def test_a_refused_claim_fails_the_invocation_and_does_nothing(system: System, provider: Provider) -> None:
    refused = system.faults.add(
        service="firestore", method="Commit", action=status("PERMISSION_DENIED"), skip=1, times=2
    )
    paid_at: list[int] = []
    provider.meanwhile = lambda: paid_at.append(refused.fired)
    system.start(probing(provider))
    assert codes(system, "claim_failed") == ["FIRESTORE_CLAIM_FAILED"] * 2
    assert system.outcomes("probe")[:2] == ["answered 500", "answered 500"]
    assert paid_at == [2]  # not before the platform's third delivery, when the claim was no longer refused
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]


@pytest.mark.acceptance("B8")
def test_a_ready_step_whose_dependency_is_at_work_is_left_alone(system: System, provider: Provider) -> None:
    document = probing(provider)
    steps: Any = document["steps"]
    steps[BEFORE] = a_step(NOBODYS, "RUNNING", at=datetime.now(UTC))
    system.start(document)
    assert "DEPENDENCY_NOT_SUCCEEDED" in codes(system, "event_noop")
    assert provider.calls == 0
    assert "RUNNING" not in moved(system)


@pytest.mark.acceptance("B9", "B11")
@pytest.mark.parametrize("steps", [{"other": a_step(NOBODYS, "READY")}, {"a": a_step("PROBE", "PENDING", ["before"])}])
def test_a_delivery_that_is_not_for_us_costs_no_call(system: System, provider: Provider, steps: dict[str, Any]) -> None:
    for step in steps.values():
        step["readyAt"] = datetime.now(UTC).isoformat()
    document = probing(provider, before="RUNNING" if "a" in steps else "SUCCEEDED", steps=steps)
    system.start(document)
    assert codes(system, "event_noop") == ["NO_READY_STEP"]
    assert (system.calls("firestore", "BatchGetDocuments"), system.calls("firestore", "Commit")) == (0, 1)
    assert system.calls("storage", "objects.*") == 0
    assert provider.calls == 0


@pytest.mark.acceptance("B10")
def test_one_delivery_takes_the_first_step_and_its_event_brings_the_next(system: System, provider: Provider) -> None:
    now, inputs = datetime.now(UTC), {"provider": provider.url}
    both = {name: a_step("PROBE", "READY", at=now, inputs=inputs) for name in ("zeta", "alpha")}
    system.start(probing(provider, steps=both))
    claims = [line["step_id"] for line in system.logs if line["event"] == "step_claimed"]
    assert claims == ["alpha", "zeta"]
    first = next(w for w in system.writes(PROBE_RUN) if statuses(w.after or {})["alpha"] == "RUNNING")
    assert statuses(first.after or {})["zeta"] == "READY"
    assert (system.run(PROBE_RUN)["status"], provider.calls) == ("SUCCEEDED", 2)


@pytest.mark.acceptance("B12")
@pytest.mark.parametrize("state", ["RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED"])
def test_a_step_that_is_not_ready_is_left_alone(system: System, provider: Provider, state: str) -> None:
    document = probing(provider, state)
    system.start(document)
    assert system.run(PROBE_RUN)["steps"] == document["steps"]
    assert (provider.calls, system.calls("storage", "objects.*")) == (0, 0)


# --- finalize ----------------------------------------------------------------------------------------------


@pytest.mark.acceptance("B13")
def test_somebody_elses_success_is_not_overwritten(system: System, provider: Provider) -> None:
    theirs = {"gcs_uri": "gs://artifacts/theirs"}
    provider.meanwhile = lambda: set_step(
        system, WORK, status="SUCCEEDED", lease=firestore.DELETE_FIELD, outputs=theirs
    )
    system.start(probing(provider))
    assert work(system)["outputs"] == theirs
    assert "STEP_FINALIZE_CONFLICT" in [line.get("code") for line in system.logs]
    assert set(system.outcomes("probe")) == {"delivered"}


@pytest.mark.acceptance("B14")
def test_a_result_lands_however_often_others_are_faster(system: System, provider: Provider) -> None:
    lost: list[Handle] = []

    def others_are_faster() -> None:
        action = status("FAILED_PRECONDITION")
        lost.append(system.faults.add(service="firestore", method="Commit", action=action, times=25))

    provider.meanwhile = others_are_faster
    system.start(probing(provider))
    assert lost[0].fired == 25
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]
    assert [line["conflicts"] for line in system.logs if line["event"] == "step_succeeded"] == [25]
    assert provider.calls == 1


@pytest.mark.acceptance("B15")
@pytest.mark.parametrize("silence", [status(503), drop(), drop_after()], ids=["503", "dropped", "reply lost"])
def test_silence_at_the_last_write_is_outlasted_without_paying_again(
    system: System, provider: Provider, silence: Fault
) -> None:
    heard: list[Handle] = []
    provider.meanwhile = lambda: heard.append(
        system.faults.add(service="firestore", method="Commit", action=silence, times=2)
    )
    system.start(probing(provider))
    assert heard[0].fired == 2
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]
    assert (provider.calls, system.calls("storage", "objects.insert")) == (1, 1)


@pytest.mark.acceptance("B16")
@pytest.mark.parametrize("answer", ["UNAVAILABLE", "PERMISSION_DENIED"])
def test_what_could_not_be_recorded_is_recorded_from_its_object(
    system: System, provider: Provider, answer: str
) -> None:
    planned: list[Handle] = []
    provider.meanwhile = lambda: planned.append(
        system.faults.add(service="firestore", method="Commit", action=status(answer))
    )
    system.put(DOCUMENT, probing(provider))
    wait_until(lambda: "finalize_failed" in events(system))
    system.faults.remove(planned[0].id)
    system.settle()
    assert codes(system, "finalize_failed") == ["FIRESTORE_FINALIZE_FAILED"]
    assert "answered 500" in system.outcomes("probe")
    assert (provider.calls, system.calls("storage", "objects.insert")) == (1, 1)
    assert moved(system) == ["READY", "RUNNING", "SUCCEEDED"]
    assert work(system)["outputs"]["execution"]["reused"] is True


@pytest.mark.acceptance("B17")
def test_a_step_cancelled_while_at_work_takes_no_result(system: System, provider: Provider) -> None:
    provider.meanwhile = lambda: set_step(system, WORK, status="CANCELLED", lease=firestore.DELETE_FIELD)
    system.start(probing(provider))
    assert (work(system)["status"], work(system)["outputs"]) == ("CANCELLED", {})
    assert provider.calls == 1


@pytest.mark.acceptance("B18")
def test_a_step_that_failed_once_ends_without_a_trace_of_it_in_error(system: System, provider: Provider) -> None:
    provider.status = 503
    system.start(probing(provider))
    assert (work(system)["status"], work(system)["failures"]) == ("PENDING", 1)
    provider.status = 200
    system.later(20)
    system.sweep()
    assert (work(system)["status"], "error" in work(system), work(system)["attempt"]) == ("SUCCEEDED", False, 2)
    assert work(system)["attempts"][0]["error"]["code"] == "GEMINI_REQUEST_FAILED"


# --- an object that is there already -----------------------------------------------------------------------


def put_object(system: System, document: dict[str, object], **of_another: str) -> None:
    """What an attempt left behind that was not heard of again after it had stored its answer."""
    step = parse_run(Snapshot(PROBE_RUN, document, datetime.now(UTC))).steps[WORK]
    answer = Artifact.json({"text": "paid for already"}, execution={"model": "m-0"})
    assert isinstance(answer.content, bytes)
    about = {**ownership(PROBE_RUN, step), **description(answer, sha256(answer.content)), **of_another}
    system.put_object(OBJECT, answer.content, answer.content_type, about)


def test_what_was_paid_for_already_is_the_result(system: System, provider: Provider) -> None:
    document = probing(provider)
    put_object(system, document)
    system.start(document)
    execution = work(system)["outputs"]["execution"]
    assert (work(system)["status"], execution["reused"], execution["model"]) == ("SUCCEEDED", True, "m-0")
    assert (provider.calls, system.calls("storage", "objects.insert", f"*/{OBJECT}")) == (0, 1)  # the test's own


def test_an_object_of_other_inputs_is_never_the_result(system: System, provider: Provider) -> None:
    document = probing(provider)
    put_object(system, document, **{"inputs-sha256": "of-others"})
    system.start(document)
    error = work(system)["error"]
    assert (error["code"], error["retryable"], error["details"]["reason"]) == (
        "GCS_WRITE_FAILED",
        False,
        "object_taken",
    )
    assert provider.calls == 0


# --- whatever goes wrong -----------------------------------------------------------------------------------

POINTS: dict[str, dict[str, Any]] = {
    "claim": {"service": "firestore", "method": "Commit", "skip": 1},
    "look": {"service": "storage", "method": "objects.get"},
    "store": {"service": "storage", "method": "objects.insert"},
    "record": {"service": "firestore", "method": "Commit", "skip": 2},
}
TROUBLES = {
    "503": status(503),
    "403": status(403),
    "400": status(400),
    "dropped": drop(),
    "reply lost": drop_after(),
}


@pytest.mark.acceptance("B19")
@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("point", POINTS)
def test_whatever_breaks_the_run_comes_to_its_end(system: System, provider: Provider, point: str, trouble: str) -> None:
    fault = system.faults.add(action=TROUBLES[trouble], times=1, **POINTS[point])
    system.start(probing(provider))
    assert fault.fired == 1
    assert_sound(system)
    for _ in range(4):
        system.later(900)
        system.sweep()
    assert_sound(system)
    step = work(system)
    assert system.run(PROBE_RUN)["status"] in ("SUCCEEDED", "FAILED")
    assert step["status"] == "SUCCEEDED" or step["error"]["code"] in REGISTRY
    assert step["status"] == "SUCCEEDED" or trouble in ("403", "400"), "only what no retry mends may end a step"
    assert provider.calls <= 1


@pytest.mark.acceptance("B19")
@pytest.mark.parametrize(
    ("answer", "code", "retried"),
    [(503, "GEMINI_REQUEST_FAILED", True), (400, "INVALID_STEP_INPUTS", False), (418, "INTERNAL", False)],
)
def test_a_provider_that_fails_is_a_failed_step_with_a_code(
    system: System, provider: Provider, answer: int, code: str, retried: bool
) -> None:
    provider.status = answer
    system.start(probing(provider, retry={"maxAttempts": 1}))
    assert (work(system)["status"], work(system)["error"]["code"]) == ("FAILED", code)
    assert work(system)["error"]["retryable"] is retried
    assert_sound(system)


@pytest.mark.acceptance("B19")
def test_inputs_that_cannot_be_read_are_a_failed_step(system: System, provider: Provider) -> None:
    system.start(probing(provider, steps={WORK: a_step("PROBE", "READY", at=datetime.now(UTC), inputs={})}))
    assert work(system)["error"]["code"] == "INVALID_STEP_INPUTS"
    assert "inputs.provider" in work(system)["error"]["message"]
    assert provider.calls == 0


def assert_sound(system: System) -> None:
    """In every state that the document has ever been in."""
    for write in system.writes(PROBE_RUN):
        run = parse_run(Snapshot(PROBE_RUN, write.after or {}, datetime.now(UTC)))
        assert not broken_promises(run)


# --- and besides -------------------------------------------------------------------------------------------


@pytest.mark.acceptance("B21")
def test_nothing_needs_a_transaction(system: System, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a transaction")

    monkeypatch.setattr(firestore.Client, "transaction", refused)
    system.start({**probing(provider, "PENDING"), "status": "PENDING"})
    assert (system.run(PROBE_RUN)["status"], provider.calls) == ("SUCCEEDED", 1)
    assert system.calls("firestore", "BeginTransaction") == 0


@pytest.mark.acceptance("B22")
@pytest.mark.parametrize("function", ["probe", "advance_flow"])
@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({"type": "google.cloud.firestore.document.v1.deleted"}, "event_type_filtered"),
        ({"type": "google.cloud.storage.object.v1.finalized"}, "event_type_filtered"),
        ({"subject": f"documents/prompts/{PROBE_RUN}"}, "other_collection"),
        ({"subject": "nonsense"}, "invalid_subject"),
        ({"subject": f"documents/flow_runs/{PROBE_RUN}/notes/n1"}, "invalid_subject"),
        ({"subject": "documents/flow_runs/a run of .. mine"}, "invalid_run_id"),
    ],
    ids=["deleted", "other type", "other collection", "nonsense", "below a run", "odd id"],
)
def test_an_event_that_is_none_of_ours_is_ignored_with_a_reason(
    system: System, provider: Provider, function: str, attributes: dict[str, str], reason: str
) -> None:
    with system.recorded() as changes:
        system.start(probing(provider))
    system.faults.calls.clear()
    system.lines.clear()
    assert system.deliver(changes[0], function, **attributes).status_code == 200
    (line,) = system.logs
    assert (line["event"], line["reason"]) == ("event_ignored", reason)
    assert system.calls("*") == 0


@pytest.mark.acceptance("B23")
def test_an_unknown_field_does_not_disturb_a_worker(system: System, provider: Provider) -> None:
    system.start({**probing(provider, priority=7, owner={"team": "a"}), "labels": ["x"]})
    assert (work(system)["status"], work(system)["priority"], work(system)["owner"]) == (
        "SUCCEEDED",
        7,
        {"team": "a"},
    )


@pytest.mark.acceptance("B24")
def test_a_run_under_another_name_is_not_worked_on(system: System, provider: Provider) -> None:
    system.put(DOCUMENT, {**probing(provider), "runId": "probe-another"})
    system.settle()
    assert (system.run(PROBE_RUN)["error"]["code"], provider.calls) == ("FLOW_RUN_INVALID", 0)
