"""The orchestrator, through real events: what it writes, how often, and what it leaves alone."""

import random
from datetime import UTC, datetime

import pytest
from google.cloud.firestore_v1.field_path import FieldPath

from emulator.faults import delay, shape
from flowcore.testing.builders import CHARTS, OHLCV, REPORT, RUN_ID, a_run, a_step
from tests.functions.probe.runs import NOBODYS, planned, statuses, three
from tests.functions.system import System, Write

NOW = datetime.now(UTC)


def changed(write: Write) -> set[str]:
    """The dotted paths that a write has touched."""
    return set(_differences(write.before or {}, write.after or {}))


def _differences(before: dict[str, object], after: dict[str, object], at: str = "") -> list[str]:
    found: list[str] = []
    for key in {**before, **after}:
        old, new = before.get(key), after.get(key)
        if isinstance(old, dict) and isinstance(new, dict):
            found += _differences(old, new, f"{at}{key}.")
        elif old != new:
            found.append(at + key)
    return found


# --- promotion ---------------------------------------------------------------------------------------------


@pytest.mark.acceptance("A1", "A19")
def test_a_new_run_begins_with_one_patch(system: System) -> None:
    run_id = system.start(three("PENDING"))
    _, begun = system.writes(run_id)
    own = {f"steps.{OHLCV}.{field}" for field in ("status", "readyAt")}
    assert changed(begun) == own | {"status", "wakeAt", "updatedAt"}
    run = system.run(run_id)
    assert run["status"] == "RUNNING"
    assert statuses(run) == {OHLCV: "READY", CHARTS: "PENDING", REPORT: "PENDING"}


@pytest.mark.acceptance("A2", "A3")
@pytest.mark.parametrize(
    ("done", "next_one", "left"),
    [({"ohlcv": "SUCCEEDED"}, CHARTS, REPORT), ({"ohlcv": "SUCCEEDED", "charts": "SUCCEEDED"}, REPORT, None)],
    ids=["charts", "report"],
)
def test_a_step_is_ready_when_all_that_it_needs_has_succeeded(
    system: System, done: dict[str, str], next_one: str, left: str | None
) -> None:
    run_id = system.start(three(**done))
    now = statuses(system.run(run_id))
    assert now[next_one] == "READY"
    assert left is None or now[left] == "PENDING"
    assert len(system.writes(run_id)) == 2


@pytest.mark.acceptance("A4")
def test_steps_that_become_ready_together_share_one_patch(system: System) -> None:
    steps = {name: a_step(NOBODYS) for name in ("a", "b", "c")}
    run_id = system.start(a_run("PENDING", steps=steps))
    assert len(system.writes(run_id)) == 2
    assert statuses(system.run(run_id)) == {"a": "READY", "b": "READY", "c": "READY"}


@pytest.mark.acceptance("A5")
def test_a_dependency_at_work_is_waited_for_without_a_write(system: System) -> None:
    run_id = system.start(planned(three(ohlcv="RUNNING"), datetime.now(UTC)))
    assert len(system.writes(run_id)) == 1
    assert system.calls("firestore", "BatchGetDocuments") == 0  # the event's own snapshot was the first read


@pytest.mark.acceptance("A21")
def test_its_own_write_coming_back_is_one_more_look_and_no_more_writes(system: System) -> None:
    run_id = system.start(three("PENDING"))
    assert len(system.writes(run_id)) == 2
    assert system.outcomes("advance_flow") == ["delivered", "delivered"]
    assert system.calls("firestore", "Commit") == 2


# --- ends --------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("A6")
@pytest.mark.parametrize(
    "failure",
    [
        {},
        {"failures": 3, "error": {"code": "GEMINI_REQUEST_FAILED", "message": "503", "retryable": True}},
    ],
    ids=["for good", "failures used up"],
)
def test_a_failed_step_ends_the_run(system: System, failure: dict[str, object]) -> None:
    steps = {OHLCV: a_step(NOBODYS, "FAILED", **failure), CHARTS: a_step(NOBODYS, depends_on=[OHLCV])}  # type: ignore[arg-type]
    run_id = system.start(a_run(steps=steps))
    run = system.run(run_id)
    assert (run["status"], statuses(run)) == ("FAILED", {OHLCV: "FAILED", CHARTS: "SKIPPED"})
    assert run["finishedAt"].endswith("Z")
    assert "READY" not in [(write.after or {})["steps"][CHARTS]["status"] for write in system.writes(run_id)]


@pytest.mark.acceptance("A7")
def test_what_needs_a_skipped_step_is_skipped_and_the_run_ends(system: System) -> None:
    run_id = system.start(three(ohlcv="SKIPPED"))
    run = system.run(run_id)
    assert (run["status"], statuses(run)[CHARTS]) == ("SUCCEEDED", "SKIPPED")
    assert run["steps"][CHARTS]["error"]["code"] == "DEPENDENCY_NOT_SUCCEEDED"


@pytest.mark.acceptance("A8")
def test_a_run_whose_steps_have_all_succeeded_has_succeeded(system: System) -> None:
    run_id = system.start(three(ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED"))
    run = system.run(run_id)
    assert (run["status"], run["finishedAt"][-1]) == ("SUCCEEDED", "Z")
    assert len(system.writes(run_id)) == 2


@pytest.mark.acceptance("A9")
@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "CANCELLED"])
def test_a_finished_run_is_left_alone(system: System, status: str) -> None:
    run_id = system.start(three(status, ohlcv="SUCCEEDED", charts="SKIPPED", report="CANCELLED"))
    system.db.document(f"flow_runs/{run_id}").update({"note": "an operator was here"})
    system.settle()
    assert len(system.writes(run_id)) == 2
    assert system.calls("firestore", "Commit") == 2


@pytest.mark.acceptance("A10")
@pytest.mark.parametrize("wish", [{"status": "CANCELLED"}, {"cancelRequested": True}], ids=["by hand", "flag"])
def test_a_cancelled_run_closes_what_has_not_begun(system: System, wish: dict[str, object]) -> None:
    steps = {
        OHLCV: a_step(NOBODYS, "RUNNING", at=NOW),
        CHARTS: a_step(NOBODYS, "READY", at=NOW),
        REPORT: a_step(NOBODYS, depends_on=[OHLCV]),
    }
    run_id = system.start({**a_run(steps=steps), **wish})
    run = system.run(run_id)
    assert run["status"] == "CANCELLED"
    assert statuses(run) == {OHLCV: "RUNNING", CHARTS: "CANCELLED", REPORT: "CANCELLED"}
    assert len(system.writes(run_id)) == 2


@pytest.mark.acceptance("A20")
def test_an_answer_that_does_not_fit_is_never_tried_again(system: System) -> None:
    error = {"code": "INVALID_STRUCTURED_OUTPUT", "message": "no", "retryable": True}  # whatever the document says
    report = a_step("LLM_REPORT", "FAILED", at=NOW, timeframe="1M", error=error)
    run_id = system.start(a_run(steps={REPORT: report}))
    system.later(24 * 3600)
    system.sweep(every_run=True)
    assert system.run(run_id)["status"] == "FAILED"
    assert {(write.after or {})["steps"][REPORT]["status"] for write in system.writes(run_id)} == {"FAILED"}


# --- broken documents --------------------------------------------------------------------------------------


def with_steps(**needs: list[str]) -> dict[str, object]:
    return a_run(steps={name: a_step(NOBODYS, depends_on=depends_on) for name, depends_on in needs.items()})


@pytest.mark.acceptance("A11", "A12", "A13", "A14")
@pytest.mark.parametrize(
    ("document", "path"),
    [
        pytest.param(with_steps(a=["nobody"]), "steps.a.dependsOn[0]", id="unknown"),
        pytest.param(with_steps(a=["b"], b=["a"]), "steps.a.dependsOn", id="cycle"),
        pytest.param({**a_run(), "steps": None}, "steps", id="no steps"),
        pytest.param({**a_run(), "steps": ["a", "b"]}, "steps", id="a list"),
        pytest.param(a_run(steps={"a.b": a_step(NOBODYS)}), "steps", id="a dot"),
        pytest.param(a_run(steps={"a/b": a_step(NOBODYS)}), "steps", id="a slash"),
    ],
)
def test_a_broken_document_ends_as_an_invalid_run(system: System, document: dict[str, object], path: str) -> None:
    run_id = system.start(document)
    run = system.run(run_id)
    assert (run["status"], run["error"]["code"]) == ("FAILED", "FLOW_RUN_INVALID")
    assert run["error"]["details"]["path"] == path
    assert run["steps"] == document["steps"]  # no step of it is touched
    assert len(system.writes(run_id)) == 2
    assert set(system.outcomes("advance_flow")) == {"delivered"}


@pytest.mark.acceptance("B24")
def test_a_document_that_calls_itself_by_another_name_is_invalid(system: System) -> None:
    system.put("flow_runs/one", three(runId="another"))
    system.settle()
    assert (system.run("one")["status"], system.run("one")["error"]["code"]) == ("FAILED", "FLOW_RUN_INVALID")


@pytest.mark.acceptance("B23")
def test_fields_that_nobody_knows_are_kept_and_ignored(system: System) -> None:
    odd = {"x-owner": {"team": ["a", {"b": 1}]}, "with space": b"\x00\xff", "nothing": None}
    run_id = system.start({**three("PENDING"), **odd})
    run = system.run(run_id)
    assert statuses(run)[OHLCV] == "READY"
    assert {name: run[name] for name in odd} == odd


# --- races -------------------------------------------------------------------------------------------------


@pytest.mark.acceptance("A15")
def test_a_run_deleted_before_its_event_arrives_is_ignored(system: System) -> None:
    with system.holding("firestore", "Commit", skip=1) as promotion:
        system.put(f"flow_runs/{RUN_ID}", three("PENDING"))
        promotion.reached()
        system.db.document(f"flow_runs/{RUN_ID}").delete()
    assert [write.after for write in system.writes(RUN_ID)][1:] == [None]
    assert "flow_run_not_found" in [line.get("reason") for line in system.logs]
    assert set(system.outcomes("advance_flow")) == {"delivered"}


@pytest.mark.acceptance("A16")
def test_an_event_delivered_five_times_promotes_once(system: System) -> None:
    with system.recorded() as changes:
        run_id = system.start(three("PENDING"))
    answers = [system.deliver(changes[0], "advance_flow").status_code for _ in range(4)]
    system.settle()
    assert answers == [200] * 4
    assert len(system.writes(run_id)) == 2


@pytest.mark.acceptance("A17")
def test_of_two_that_decide_on_the_same_snapshot_one_writes(system: System) -> None:
    twice = system.faults.add(service="eventarc", method="advance_flow", action=shape("duplicate"), times=1)
    both = system.faults.add(service="firestore", method="Commit", action=delay(0.15), skip=1, times=2)
    run_id = system.start(three("PENDING"))
    assert (twice.fired, both.fired) == (1, 2)
    assert len(system.writes(run_id)) == 2
    assert system.calls("firestore", "Commit") == 3  # the test's, the winner's, and the loser's, which was refused
    assert system.calls("firestore", "BatchGetDocuments") == 1
    assert "ERROR" not in [line["severity"] for line in system.logs]


@pytest.mark.acceptance("A18")
def test_a_promotion_survives_a_write_that_has_nothing_to_do_with_it(system: System) -> None:
    with system.holding("firestore", "Commit", skip=1) as promotion:
        system.put(f"flow_runs/{RUN_ID}", three(ohlcv="SUCCEEDED"))
        promotion.reached()
        system.db.document(f"flow_runs/{RUN_ID}").update({f"steps.{OHLCV}.note": "a worker was here"})
    run = system.run(RUN_ID)
    assert statuses(run)[CHARTS] == "READY"
    assert run["steps"][OHLCV]["note"] == "a worker was here"
    ready = [write for write in system.writes(RUN_ID) if f"steps.{CHARTS}.readyAt" in changed(write)]
    assert len(ready) == 1


@pytest.mark.acceptance("A22")
@pytest.mark.parametrize("seed", [1, 2])
def test_in_any_graph_and_any_order_a_step_is_ready_once_and_after_all_it_needs(system: System, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"s{number:02}" for number in chance.sample(range(50), 50)]
    needs = {name: chance.sample(names[:place], min(place, chance.randint(0, 3))) for place, name in enumerate(names)}
    run_id = system.start(a_run("PENDING", steps={name: a_step(NOBODYS, depends_on=needs[name]) for name in names}))
    while ready := [name for name, status in statuses(system.run(run_id)).items() if status == "READY"]:
        some = chance.sample(ready, chance.randint(1, len(ready)))
        news: dict[str, object] = {}
        for name in some:
            news[FieldPath("steps", name, "status").to_api_repr()] = "SUCCEEDED"
            news[FieldPath("steps", name, "outputs").to_api_repr()] = {"gcs_uri": "gs://artifacts/x"}
        system.db.document(f"flow_runs/{run_id}").update(news)
        system.settle()
    assert system.run(run_id)["status"] == "SUCCEEDED"
    promotions = []
    for write in system.writes(run_id)[1:]:
        old, new = statuses(write.before or {}), statuses(write.after or {})
        for name in names:
            if (old[name], new[name]) == ("PENDING", "READY"):
                promotions.append(name)
                assert {old[dependency] for dependency in needs[name]} <= {"SUCCEEDED"}
    assert sorted(promotions) == sorted(names)
