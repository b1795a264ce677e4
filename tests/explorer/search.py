"""Through every state, those with fewer faults first: the first trace to a broken law is one with the fewest."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter

from flowcore.domain.artifacts import main_object
from flowcore.domain.model import StepStatus
from flowcore.domain.plan import EVENT_PATIENCE, plan
from flowcore.testing.builders import RUN_ID
from tests.explorer import laws
from tests.explorer.programs import ABSENT, CONFLICT, FOUND, Answer
from tests.explorer.scenarios import FAULTS, Budget, Scenario
from tests.explorer.states import CANCEL, Label, State
from tests.explorer.world import World

MOST_STATES = 4_000_000


@dataclass(slots=True)
class Violation:
    law: str
    trace: list[tuple[Label, State]]


@dataclass(slots=True)
class Search:
    scenario: Scenario
    budget: Budget
    world: World = field(init=False)
    parents: dict[State, tuple[State, Label] | None] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    transitions: int = 0
    closed: bool = False
    seconds: float = 0.0
    _bills: dict[tuple[object, ...], list[tuple[int, int, int, int, int]]] = field(default_factory=dict)
    _objects_needed: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.world = World(self.scenario, self.budget, self._broken)

    def run(self, seconds: float) -> Search:
        """Until nothing new comes up, a law is broken, or the time is over."""
        began = time.monotonic()
        start = self.world.start()
        self._is_new(start)
        self.parents[start] = None
        todo: list[deque[State]] = [deque([start]), *(deque[State]() for _ in range(self.budget.together))]
        while any(todo) and not self.violations:
            state = next(queue for queue in todo if queue).popleft()
            for label, after in self.world.successors(state):
                self.transitions += 1
                if self._is_new(after):
                    self.parents[after] = (state, label)
                    self._check(after)
                    todo[after.faults].append(after)
            if state.quiet:
                self._check_at_rest(state)
            if len(self.parents) > MOST_STATES or time.monotonic() - began > seconds:
                break
        self._check_progress()
        self.closed = not any(todo) and not self.violations
        self.seconds = time.monotonic() - began
        return self

    def _is_new(self, state: State) -> bool:
        """Whoever has been here with no more faults of any kind on the bill has seen everything there is to see."""
        bills = self._bills.setdefault(state.but_for_the_bill, [])
        a, b, c, d, e = state.used[: len(FAULTS)]
        for p, q, r, s, t in bills:
            if p <= a and q <= b and r <= c and s <= d and t <= e:
                return False
        bills.append((a, b, c, d, e))
        return True

    @property
    def faults(self) -> dict[str, int]:
        return dict(zip(FAULTS, self.world.faults, strict=True))

    # --- what must hold in a state -----------------------------------------------------------------------------

    def _check(self, state: State) -> None:
        needed = self._objects_needed.get(state.document)
        if needed is None:
            for law in laws.of_document(self.world.documents.raw(state.document)):
                self._broken(law, state)
            done = self.world.documents.run(state.document).in_status(StepStatus.SUCCEEDED)
            needed = self._objects_needed[state.document] = tuple(main_object(RUN_ID, step) for step in done)
        for name in needed:
            if name not in state.objects:
                self._broken(f"a step is SUCCEEDED, but {name} does not exist", state)
        claimants: set[str] = set()
        for invocation in state.invocations:
            node = self.world.code.nodes[invocation.node]
            # Claimed, its lease not over, and its result not yet sent off.
            if node.claimed and node.landed < 2 and node.lease_until and node.lease_until > state.now:
                if node.claimed in claimants:
                    self._broken(f"two live claimants of {node.claimed}", state)
                claimants.add(node.claimed)

    def _check_at_rest(self, state: State) -> None:
        """Nothing is under way: either the run is over, or the clock will bring it on."""
        run = self.world.documents.run(state.document)
        waits = run.wake_at is not None or run.status == "PENDING"
        if not run.status.finished and not waits:
            self._broken("the run is not finished, and nothing will ever happen to it", state)
        # A cancel flag set by hand does not move wakeAt; whatever the run waits for will find it.
        due = plan(run, state.now) and run.status != "PENDING" and not state.used[CANCEL]
        if due and (run.wake_at is None or run.wake_at > state.now + EVENT_PATIENCE):
            self._broken("something is due, but wakeAt is further away than an event may take", state)
        # A status set by hand has no `wakeAt`; if its event is lost too, nobody hears of it.
        if run.status.finished and not waits and laws.settled(self.world.documents.raw(state.document)):
            self._check_replay(state)

    def _check_replay(self, end: State) -> None:
        """Every event of this history once more, to every function: nothing may be written."""
        history = {state.document for _, state in self._trace(end)}
        much_later = end._replace(now=end.now + timedelta(hours=1))
        for program in self.scenario.programs:
            for document in sorted(history):
                did = self._replayed(program, document, end) or self._replayed(program, document, much_later)
                if did:
                    self._broken(f"an event of a finished run, delivered again, made {program} {did}", end)

    def _replayed(self, program: str, document: int, end: State) -> str | None:
        """What a program does with an old event in the final world; None when it changes nothing."""
        code = self.world.code
        number = code.start(program, end.now, document)
        fresh = document == end.document
        while (call := code.nodes[number].call) is not None:
            match call.kind:
                case "get":
                    answer: Answer = ("document", end.document, (), end.now)
                    fresh = True
                case "find":
                    answer = FOUND if call.name in end.objects else ABSENT
                case "update" if not fresh:
                    answer = CONFLICT
                case kind:
                    return kind
            number = code.answered(number, answer)
        return None

    def _check_progress(self) -> None:
        """No way leads back to a document: nobody writes in circles."""
        try:
            TopologicalSorter(self.world.led_to).prepare()
        except CycleError as error:
            documents = [self.world.documents.raw(number)["steps"] for number in error.args[1]]
            self.violations.append(Violation(f"documents follow each other in a circle: {documents}", []))

    def _broken(self, law: str, state: State, label: Label | None = None) -> None:
        trace = self._trace(state)
        self.violations.append(Violation(law, [*trace, (label, state)] if label else trace))

    def _trace(self, state: State) -> list[tuple[Label, State]]:
        steps: list[tuple[Label, State]] = []
        at: State | None = state
        while at is not None:
            parent = self.parents.get(at)
            steps.append((parent[1] if parent else ("the run is created",), at))
            at = parent[0] if parent else None
        return steps[::-1]
