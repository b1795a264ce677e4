"""Why a step can never run: which settled step stands in its way."""

from collections.abc import Sequence

import pytest

from flowcore.domain.dependencies import blockers, was_blocked
from flowcore.domain.model import Run
from flowcore.testing.builders import a_run, a_step, parsed

BLOCKED = {"code": "DEPENDENCY_NOT_SUCCEEDED", "message": "needs another", "retryable": False}


def a_graph(**steps: str | tuple[str, Sequence[str]]) -> Run:
    """`a="FAILED", b=("PENDING", ["a"])`"""
    pairs = {name: (entry, ()) if isinstance(entry, str) else entry for name, entry in steps.items()}
    return parsed(a_run(steps={name: a_step("X", status, needs) for name, (status, needs) in pairs.items()}))


def causes(run: Run) -> dict[str, str]:
    return {name: cause.step_id for name, cause in blockers(run).items()}


@pytest.mark.parametrize("status", ["FAILED", "SKIPPED", "CANCELLED"])
def test_step_behind_a_settled_one_is_blocked(status: str) -> None:
    assert causes(a_graph(a=status, b=("PENDING", ["a"]))) == {"b": "a"}


@pytest.mark.parametrize("status", ["PENDING", "READY", "RUNNING", "SUCCEEDED"])
def test_step_behind_a_living_one_is_not(status: str) -> None:
    assert causes(a_graph(a=status, b=("PENDING", ["a"]))) == {}


def test_cause_is_carried_down_any_number_of_levels() -> None:
    chain = {f"s{number}": ("PENDING", [f"s{number - 1}"]) for number in range(1, 30)}
    run = a_graph(s0="FAILED", **chain)
    assert causes(run) == dict.fromkeys(chain, "s0")


def test_failed_cause_is_named_before_any_other() -> None:
    run = a_graph(a="SKIPPED", b="FAILED", c="CANCELLED", d=("PENDING", ["a", "c", "b"]), e=("PENDING", ["a", "d"]))
    assert causes(run) == {"d": "b", "e": "b"}


def test_step_that_was_blocked_passes_its_cause_on() -> None:
    steps = {
        "a": a_step("X", "FAILED", optional=True),
        "b": a_step("X", "SKIPPED", ["a"], error=BLOCKED),
        "c": a_step("X", "PENDING", ["b"]),
    }
    assert causes(parsed(a_run(steps=steps)))["c"] == "a"


def test_step_that_an_operator_skipped_is_the_cause_itself() -> None:
    run = a_graph(a="FAILED", b=("SKIPPED", ["a"]), c=("PENDING", ["b"]))
    assert causes(run)["c"] == "b"


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("SKIPPED", BLOCKED, True),
        ("SKIPPED", None, False),
        ("SKIPPED", {**BLOCKED, "code": "INTERNAL"}, False),
        ("FAILED", BLOCKED, False),
    ],
)
def test_operators_wish_is_told_from_a_consequence(status: str, error: object, expected: bool) -> None:
    run = parsed(a_run(steps={"a": a_step("X", status, error=error)}))
    assert was_blocked(run.steps["a"]) is expected
