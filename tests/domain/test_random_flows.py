"""Flows by chance, with the real engines over the twins: anything may be late, doubled, lost or crash; nothing may
be stuck, done twice, or changed after its end."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flowcore.domain import manual
from flowcore.domain.artifacts import Artifact
from flowcore.domain.errors import Code, NetworkError, ValidationError
from flowcore.domain.lifecycle import claimable
from flowcore.domain.model import Run, RunStatus, Step, StepStatus
from flowcore.domain.parse import parse_run
from flowcore.domain.patch import NOTHING, Patch, apply
from flowcore.domain.plan import plan
from flowcore.engine.context import StepContext
from flowcore.engine.update import Contended
from flowcore.testing.builders import RUN_ID, a_run, a_snapshot, a_step
from flowcore.testing.world import T0
from tests.domain.promises import broken_promises
from tests.domain.strategies import graphs
from tests.engine.stage import Crash, Handler, Inputs, Stage, event_of, unavailable

TYPES = ("LLM_REPORT", "HEATMAP", "DIGEST")
SETTLED = (StepStatus.SUCCEEDED, StepStatus.FAILED, StepStatus.SKIPPED, StepStatus.CANCELLED)


@dataclass
class World(Stage):
    """The stage, with every change checked against the one before it, and every delivery accounted for."""

    paid: Counter[str] = field(default_factory=Counter)
    pending: list[tuple[int, str]] = field(default_factory=list)
    by_hand: set[int] = field(default_factory=set)
    checked: int = 0
    behave: Callable[[], object] = field(default=lambda: None)

    def execute(self, context: StepContext, inputs: Inputs) -> Artifact:
        self.paid[context.step.step_id] += 1
        self.behave()
        return Artifact.json({"made by": context.step.step_id})

    def handler(self, name: str) -> Handler:
        return self.advance() if name == "advance" else self.worker(name, self.execute)

    def collect(self, listening: Collection[str] = ("advance", *TYPES)) -> None:
        """New changes become deliveries. A worker that would find nothing for it in its own event is left out: that
        such deliveries cost nothing and change nothing is shown at the end, when all of them are replayed."""
        while self.checked < len(self.runs.changes):
            self.check(self.checked)
            new = self.runs.changes[self.checked].new
            assert new is not None
            run = parse_run(new)
            busy = [name for name in listening if name == "advance" or claimable(run, name)]
            self.pending += [(self.checked, name) for name in busy]
            self.checked += 1

    def serve(self, delivery: tuple[int, str]) -> None:
        """One delivery; an invocation that fails is delivered again."""
        index, name = delivery
        try:
            self.handler(name).handle(event_of(self.runs.changes[index].new))
        except (NetworkError, Contended, Crash):
            self.pending.append(delivery)

    def calm_down(self) -> None:
        for wire in (self.runs.wire, self.artifacts.wire):
            wire.faults.clear()
            wire.meanwhile.clear()
        self.behave = lambda: None

    def operator(self, wish: Callable[[Run], Patch]) -> None:
        patch = wish(self.run)
        if patch:
            self.by_hand.add(len(self.runs.changes))
            self.runs.update(RUN_ID, patch, self.snapshot.update_time)

    # --- what must hold for every change ---

    def check(self, index: int) -> None:
        change = self.runs.changes[index]
        assert change.new is not None
        after = parse_run(change.new)
        assert after.defect is None
        assert not broken_promises(after)
        resting = after.status.finished and not after.in_status(StepStatus.RUNNING)
        new = after.status is RunStatus.PENDING  # sweep asks for those by their status
        assert resting or new or after.wake_at is not None, "nothing may be forgotten by the clock"
        for step in after.in_status(StepStatus.SUCCEEDED):
            assert (step.gcs_uri or "").removeprefix("gs://artifacts/") in self.artifacts.objects
        if change.old is None:
            return
        before = parse_run(change.old)
        by_hand = index in self.by_hand
        if before.status.finished and not by_hand:
            assert after.status is before.status
        for name, step in after.steps.items():
            if step != before.steps[name]:
                self.check_step(before, before.steps[name], step, after, by_hand)

    def check_step(self, before: Run, was: Step, step: Step, after: Run, by_hand: bool) -> None:
        if was.status in SETTLED and not by_hand:
            retried = was.status is StepStatus.FAILED and step.status in (StepStatus.PENDING, StepStatus.READY)
            assert retried, f"{was.step_id} was {was.status} and became {step.status}"
            assert not before.status.finished
            assert was.error is not None
            assert was.error.retryable
            assert was.failures < was.max_attempts
        if step.status is StepStatus.READY and was.status is not StepStatus.READY:
            assert after.dependencies_succeeded(step)
        claimed = step.status is StepStatus.RUNNING and was.status is not StepStatus.RUNNING
        if claimed:
            assert was.status is StepStatus.READY
            assert before.status is RunStatus.RUNNING
            assert not before.cancel_requested
            assert before.dependencies_succeeded(was)
        assert step.attempt == was.attempt + claimed, "attempt counts claims"
        assert self.paid[step.step_id] <= step.attempt + 1, "at most one call per claim, one of them in flight"


def a_flow(graph: Mapping[str, list[str]], traits: list[int]) -> dict[str, object]:
    """The graph as a new run; a trait decides about type, optional and the number of attempts."""
    steps = {
        name: a_step(
            TYPES[trait % 3],
            depends_on=needs,
            timeframe="1M",
            optional=trait % 5 == 0,
            retry={"maxAttempts": 1 + trait % 3},
        )
        for (name, needs), trait in zip(graph.items(), traits, strict=False)
    }
    return a_run("PENDING", steps=steps)


BREAKS: dict[str, Callable[[World], object]] = {
    "nothing": lambda world: None,
    "claim is never sent": lambda world: world.runs.wire.break_next("update", Crash()),  # type: ignore[arg-type]
    "crash after the claim": lambda world: world.runs.wire.break_next("update", Crash(), after_effect=True),  # type: ignore[arg-type]
    "claim loses its reply": lambda world: world.runs.wire.break_next("update", unavailable(), after_effect=True),
    "crash before the look": lambda world: world.artifacts.wire.break_next("find", Crash()),  # type: ignore[arg-type]
    "object loses its reply": lambda world: world.artifacts.wire.break_next(
        "create", unavailable(Code.GCS_WRITE_FAILED), after_effect=True
    ),
    "crash before the object": lambda world: world.artifacts.wire.break_next("create", Crash()),  # type: ignore[arg-type]
    "crash after the object": lambda world: world.artifacts.wire.break_next("create", Crash(), after_effect=True),  # type: ignore[arg-type]
}


def _raise(error: BaseException) -> object:
    raise error


def _outlive(world: World) -> object:
    world.after(900)
    return world.sweep().minutely()


BEHAVIOURS: dict[str, Callable[[World], object]] = {
    "does its work": lambda world: None,
    "fails, for now": lambda world: _raise(unavailable(Code.GEMINI_REQUEST_FAILED)),
    "fails, for good": lambda world: _raise(ValidationError(Code.INVALID_STEP_INPUTS, "no good")),
    "crashes": lambda world: _raise(Crash()),
    "result loses its reply": lambda world: world.runs.wire.break_next("update", unavailable(), after_effect=True),
    "result is not taken at first": lambda world: world.runs.wire.break_next("update", unavailable(), times=3),
    "crash after the result": lambda world: world.runs.wire.break_next("update", Crash(), after_effect=True),  # type: ignore[arg-type]
    "outlives its lease": _outlive,
}
PICK = st.integers(0, 10**6)
BREAK = st.sampled_from([*BREAKS])
BEHAVIOUR = st.sampled_from([*BEHAVIOURS])
MEANWHILE = st.lists(st.tuples(st.sampled_from(["update", "find", "create", "get"]), PICK), max_size=2)


class Flows(RuleBasedStateMachine):
    """Deliveries in any order, between each other, twice or never; and an operator."""

    world: World
    listening: Collection[str]
    sizes: ClassVar = st.sampled_from([3, 1, 2, 4, 5, 6, 8])

    @initialize(data=st.data(), listening=st.sampled_from([("advance", *TYPES), TYPES, ()]))
    def start(self, data: st.DataObject, listening: Collection[str]) -> None:
        size = data.draw(self.sizes)
        graph = data.draw(graphs(least=size, most=size))
        traits = data.draw(st.lists(st.integers(1, 30), min_size=len(graph), max_size=len(graph)))
        self.world, self.listening = World(), listening
        self.world.put(a_flow(graph, traits))

    def waiting(self, pick: int) -> tuple[int, str] | None:
        pending = self.world.pending
        return pending.pop(pick % len(pending)) if pending else None

    @rule(picks=st.lists(PICK, min_size=1, max_size=4))
    def deliver_in_any_order(self, picks: list[int]) -> None:
        for pick in picks:
            if delivery := self.waiting(pick):
                self.world.serve(delivery)
                self.world.collect()

    @rule(troubles=st.lists(st.tuples(PICK, BREAK, BEHAVIOUR, MEANWHILE), min_size=1, max_size=5))
    def deliver_with_trouble(self, troubles: list[tuple[int, str, str, list[tuple[str, int]]]]) -> None:
        world = self.world
        for pick, broken, behaviour, meanwhile in troubles:
            delivery = self.waiting(pick)
            if delivery is None:
                return
            for method, other in meanwhile:
                self.deliver_before(method, other)
            BREAKS[broken](world)
            world.behave = partial(BEHAVIOURS[behaviour], world)
            world.serve(delivery)
            world.calm_down()
            world.collect()

    def deliver_before(self, method: str, pick: int) -> None:
        """Another delivery, served when the first is just about to make this call."""
        if delivery := self.waiting(pick):
            wire = self.world.artifacts.wire if method in ("find", "create") else self.world.runs.wire
            wire.before_next(method, partial(self.world.serve, delivery))

    @rule(pick=PICK)
    def deliver_again(self, pick: int) -> None:
        if self.world.checked:
            self.world.pending.append((pick % self.world.checked, ("advance", *TYPES)[pick % 4]))

    @rule(pick=PICK)
    def lose(self, pick: int) -> None:
        self.waiting(pick)

    @rule(seconds=st.sampled_from([1, 20, 61, 301, 901]))
    def time_passes(self, seconds: int) -> None:
        self.world.after(seconds)
        self.world.sweep().minutely()

    @precondition(lambda self: self.world.run.in_status(StepStatus.FAILED))
    @rule(pick=PICK)
    def operator_retries_or_skips(self, pick: int) -> None:
        failed = [step.step_id for step in self.world.run.in_status(StepStatus.FAILED)]
        wish = manual.skip if pick % 3 == 0 else manual.retry
        try:
            self.world.operator(lambda run: wish(run, failed, self.world.clock.now()))
        except manual.Refused:
            assert self.world.run.cancel_requested or self.world.run.status is RunStatus.CANCELLED

    @precondition(lambda self: len(self.world.runs.changes) > 8)
    @rule(pick=st.integers(0, 5))
    def operator_cancels(self, pick: int) -> None:
        if pick == 0:
            self.world.operator(lambda run: manual.cancel(run, self.world.clock.now()))

    @invariant()
    def every_change_is_sound(self) -> None:
        self.world.collect()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.calm_down()
            finish(self.world, self.listening)
            replay_everything(self.world)


def finish(world: World, listening: Collection[str]) -> None:
    """From now on nothing breaks; but events may still be lost, all of them or the orchestrator's."""
    world.pending = [delivery for delivery in world.pending if delivery[1] in listening]
    for _ in range(300):
        while world.pending:
            world.serve(world.pending.pop(0))
            world.collect(listening)
        if world.run.status.finished and world.run.wake_at is None:
            break
        wake_at = world.run.wake_at or world.clock.now()
        world.after(max(1.0, (wake_at - world.clock.now()).total_seconds()))
        world.sweep().minutely()
        world.collect(listening)
    assert world.run.status.finished
    assert not world.run.in_status(StepStatus.PENDING, StepStatus.READY, StepStatus.RUNNING)
    assert all(world.paid[name] <= step.attempt for name, step in world.run.steps.items())


def replay_everything(world: World) -> None:
    """Every event of the finished run, to everybody: nothing is written, and nothing is paid."""
    document, objects, paid = world.document, dict(world.artifacts.objects), Counter(world.paid)
    world.after(100_000)
    some = range(0, len(world.runs.changes), 1 + len(world.runs.changes) // 40)
    for index in [*reversed(some), len(world.runs.changes) - 1]:
        for name in ("advance", *TYPES):
            world.handler(name).handle(event_of(world.runs.changes[index].new))
    world.sweep().minutely()
    world.sweep().hourly()
    assert world.document == document
    assert world.artifacts.objects == objects
    assert world.paid == paid


class LargeFlows(Flows):
    sizes: ClassVar = st.sampled_from([20, 50])


TestFlows = Flows.TestCase
TestFlows.settings = settings(max_examples=60, stateful_step_count=40)
TestLargeFlows = LargeFlows.TestCase
TestLargeFlows.settings = settings(max_examples=4, stateful_step_count=20)


@settings(max_examples=12)
@given(st.data())
def test_every_step_of_a_large_graph_becomes_ready_once_and_in_order(data: st.DataObject) -> None:  # A22
    graph = data.draw(graphs(least=5, most=50))
    chance = data.draw(st.randoms(use_true_random=False))
    document = a_flow(graph, [7] * len(graph))
    seen: list[str] = []
    for _ in range(3 * len(graph) + 2):
        patch = plan(parse_run(a_snapshot(document)), T0)
        for path, value in patch.changes.items():
            if path.endswith(".status") and value == "READY":
                name = path.split(".")[1]
                assert all(parse_run(a_snapshot(document)).steps[need].status == "SUCCEEDED" for need in graph[name])
                seen.append(name)
        document = apply(document, patch)
        ready = [step.step_id for step in parse_run(a_snapshot(document)).in_status(StepStatus.READY)]
        if not ready:
            break
        for name in chance.sample(ready, chance.randint(1, len(ready))):
            done = {f"steps.{name}.status": "SUCCEEDED", f"steps.{name}.outputs": {"gcs_uri": "gs://b/o"}}
            document = apply(document, Patch(done))
    assert sorted(seen) == sorted(graph)
    assert parse_run(a_snapshot(document)).status is RunStatus.SUCCEEDED
    assert plan(parse_run(a_snapshot(document)), T0) == NOTHING
