"""Small worlds: each a flow of one to three steps, and what an operator may do to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from flowcore.testing.builders import a_run, a_step

FAULTS = ("crash", "duplicate", "drop", "reply", "expiry")


@dataclass(frozen=True, slots=True)
class Budget:
    """How much may go wrong: so many faults of each kind, and so many together."""

    each: int
    together: int

    def __str__(self) -> str:
        return f"{self.each} of each kind, {self.together} together"


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: Mapping[str, Mapping[str, object]]
    levels: tuple[Budget, ...]  # from the least that must close, upwards
    refusals: int = 0  # how often a provider may say no for good
    failures: int = 0  # how often it may fail for a while, besides what the fault budget allows
    cancel: Mapping[str, object] | None = None  # what an operator may write, once, to end the run
    retry: bool = False
    skip: bool = False
    events: bool = True  # False: every event is lost, always
    late_events: bool = False  # deliver also what is a no-op unless it comes late

    @property
    def programs(self) -> tuple[str, ...]:
        types = sorted({str(step["stepType"]) for step in self.steps.values()})
        return ("advance", *types)

    def initial(self) -> dict[str, object]:
        return a_run("PENDING", steps=self.steps)


_ONE_STEP = (Budget(2, 10), Budget(3, 15))
_MORE_STEPS = (Budget(2, 2), Budget(2, 3), Budget(2, 4), Budget(2, 10))
_FAILING = {"a": a_step("A", retry={"maxAttempts": 2}), "b": a_step("B", depends_on=["a"])}

_CHAIN = {"a": a_step("A"), "b": a_step("B", depends_on=["a"])}

SCENARIOS = (
    Scenario("single", {"a": a_step("LLM_REPORT", timeframe="1M")}, _ONE_STEP),
    Scenario("every event lost", _CHAIN, _ONE_STEP, events=False),
    Scenario("chain", _CHAIN, _MORE_STEPS),
    Scenario("chain, late events", _CHAIN, _MORE_STEPS, late_events=True),
    Scenario(
        "fork",
        {"a": a_step("A"), "b": a_step("B", depends_on=["a"]), "c": a_step("C", depends_on=["a"])},
        _MORE_STEPS,
    ),
    Scenario(
        "join",
        {"a": a_step("A"), "b": a_step("B"), "c": a_step("C", depends_on=["a", "b"])},
        _MORE_STEPS,
    ),
    Scenario("two of one type", {"a": a_step("A"), "b": a_step("A")}, _MORE_STEPS),
    Scenario("an optional step", {"a": a_step("A", optional=True), "b": a_step("B")}, _MORE_STEPS, refusals=1),
    Scenario(
        "an optional step that another needs",
        {"a": a_step("A", optional=True), "b": a_step("B", depends_on=["a"])},
        _MORE_STEPS,
        refusals=1,
    ),
    Scenario("failures used up", _FAILING, _MORE_STEPS, failures=2),
    Scenario("a cancel", _CHAIN, _MORE_STEPS, cancel={"cancelRequested": True}),
    Scenario("a cancel by status", _CHAIN, _MORE_STEPS, cancel={"status": "CANCELLED"}),
    Scenario("a manual retry", _CHAIN, _MORE_STEPS, refusals=1, retry=True),
    Scenario("a manual skip", _CHAIN, _MORE_STEPS, refusals=1, skip=True),
)
