"""Everything that can happen next: any delivery, any call of any invocation, any fault that the budget allows.

What keeps the number of states finite: time moves only to the next moment that the document itself names, and only
when somebody lets it; a delivery that would do nothing is not kept; and a lease is told by who holds it, not by a
name, so that invocations of one kind are interchangeable. `likeness` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

from flowcore.domain import manual
from flowcore.domain.model import Run, StepStatus
from flowcore.domain.patch import NOTHING, Patch, apply
from flowcore.testing.world import T0
from tests.explorer import laws
from tests.explorer.documents import MINE, Documents
from tests.explorer.likeness import Likeness
from tests.explorer.programs import (
    ABSENT,
    CONFLICT,
    EXISTS,
    FOUND,
    OK,
    PAID,
    REFUSED,
    SILENCE,
    Answer,
    Programs,
)
from tests.explorer.scenarios import FAULTS, Budget, Scenario
from tests.explorer.states import (
    CANCEL,
    CRASH,
    DROP,
    DUPLICATE,
    EXPIRY,
    FAILURE,
    REFUSAL,
    REOPEN,
    REPLY,
    Delivery,
    Invocation,
    Label,
    State,
)

Step = tuple[Label, State]
Report = Callable[[str, State, Label], None]


@dataclass(slots=True)
class World:
    scenario: Scenario
    budget: Budget
    report: Report  # a law, the state in which it was broken, and by what
    documents: Documents = field(default_factory=Documents)
    code: Programs = field(init=False)
    likeness: Likeness = field(init=False)
    faults: list[int] = field(default_factory=lambda: [0] * len(FAULTS))
    _writes: dict[tuple[int, int, tuple[str, ...]], tuple[int, tuple[str, ...], frozenset[str]]] = field(
        default_factory=dict
    )
    led_to: dict[int, set[int]] = field(default_factory=dict)  # which document was written over which
    _judged: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.code = Programs(self.documents)
        self.likeness = Likeness(self.scenario, self.budget, self.documents, self.code)

    def start(self) -> State:
        document = self.documents.number(self.scenario.initial())
        return State(document, T0, (), self._events(document, T0), ())

    def successors(self, state: State) -> Iterator[Step]:
        for delivery in state.deliveries:
            yield from self._deliver(state, delivery)
        previous = None
        for invocation in state.invocations:
            if invocation != previous:  # equal ones are interchangeable
                previous = invocation
                others = state.without(invocation)
                yield from self._call(others, invocation, ())
                crashed = self._spent(others, CRASH)
                if crashed:
                    yield ("crash", self.program(invocation)), self._redelivered(crashed, invocation)
        yield from self._sweep(state)
        yield from self._operator(state)

    def program(self, invocation: Invocation) -> str:
        return self.code.nodes[invocation.node].program

    # --- who may move ------------------------------------------------------------------------------------------

    def _deliver(self, state: State, delivery: Delivery) -> Iterator[Step]:
        """An event arrives: its function runs up to and through its first call."""
        taken = state._replace(deliveries=tuple(other for other in state.deliveries if other != delivery))
        start = self.code.start(delivery.program, state.now, delivery.document)
        invocation = Invocation(start, delivery.fresh, (), delivery.fresh)
        yield from self._call(taken, invocation, ("deliver",))
        duplicated = self._spent(state, DUPLICATE)
        if duplicated:
            yield from self._call(duplicated, invocation, ("deliver a duplicate",))
        dropped = self._spent(taken, DROP)
        if dropped:
            yield ("drop the event for", delivery.program), dropped

    def _sweep(self, state: State) -> Iterator[Step]:
        """By the minute: at once if something is due, else when it is; waiting while others live is a fault."""
        if any(self.program(invocation) == "sweep" for invocation in state.invocations):
            return
        document = self.documents.raw(state.document)
        wake: datetime | None = document.get("wakeAt")
        due = document["status"] == "PENDING" or (wake is not None and wake <= state.now)
        label: Label = ()
        later: State | None = state
        if not due:
            if wake is None:
                return
            label, waited = ("time passes",), state._replace(now=wake)
            later = waited if state.quiet else self._spent(waited, EXPIRY)
        if later is None:
            return
        for told, after in self._call(later, Invocation(self.code.start("sweep", later.now, None)), label):
            if state.quiet and after.quiet and after.document == state.document:
                self.report("sweep was woken and had nothing to do", state, told)
            yield told, after

    def _operator(self, state: State) -> Iterator[Step]:
        run = self.documents.run(state.document)
        if self.scenario.cancel and not state.used[CANCEL] and not run.status.finished:
            yield ("the operator cancels",), self._by_hand(state.counting(CANCEL), Patch(self.scenario.cancel))
        if run.status == "FAILED" and not state.used[REOPEN]:
            for verb, wanted in (("retries", self.scenario.retry), ("skips", self.scenario.skip)):
                patch = _reopened(run, verb, state.now) if wanted else NOTHING
                if patch:
                    yield (f"the operator {verb}",), self._by_hand(state.counting(REOPEN), patch)

    def _by_hand(self, state: State, patch: Patch) -> State:
        before = self.documents.raw(state.document)
        number = self.documents.number(apply(before, patch))
        after = self.documents.raw(number)
        for law in laws.of_write("operator", (), before, after):
            self.report(law, state, ("the operator",))
        return self._written(state, number, frozenset(n for n, step in after["steps"].items() if "lease" in step))

    # --- one call of one invocation ----------------------------------------------------------------------------

    def _call(self, state: State, invocation: Invocation, label: Label) -> Iterator[Step]:
        """The world after the invocation's next call: one state for each answer that it may get."""
        node = self.code.nodes[invocation.node]
        call = node.call
        if call is None:
            yield (*label, node.program, "nothing to do"), self._ended(state, invocation)
            return
        told = (*label, node.program, call.kind)
        if invocation.node not in self._judged:
            self._judged.add(invocation.node)
            for law in laws.of_call(node):
                self.report(law, state, told)
        match call.kind:
            case "get" | "query":
                answer: Answer = ("document", state.document, invocation.holds, state.now)
                yield from self._answered(state, invocation._replace(fresh=True), answer, told)
            case "find":
                found = FOUND if call.name in state.objects else ABSENT
                yield from self._answered(state, invocation, found, told)
            case "create" if call.name in state.objects:
                yield from self._answered(state, invocation, EXISTS, told)
            case "create":
                created = state._replace(objects=tuple(sorted((*state.objects, call.name))))
                yield from self._answered_or_unheard(created, invocation, OK, told)
            case "update" if not invocation.fresh:
                yield from self._answered(state, invocation, CONFLICT, (*told, "conflict"))
            case "update":
                yield from self._update(state, invocation, call.patch or NOTHING, told)
            case _:
                yield from self._answered_or_unheard(state, invocation, PAID, told)
                if state.used[REFUSAL] < self.scenario.refusals:
                    refused = (*told, "the provider refuses")
                    yield from self._answered(state.counting(REFUSAL), invocation, REFUSED, refused)
                if state.used[FAILURE] < self.scenario.failures:
                    failed = (*told, "the provider fails")
                    yield from self._answered(state.counting(FAILURE), invocation, SILENCE, failed)

    def _update(self, state: State, invocation: Invocation, patch: Patch, told: Label) -> Iterator[Step]:
        key = (invocation.node, state.document, invocation.holds)
        if key not in self._writes:
            self._writes[key] = self._write(state, invocation, patch, told)
        number, mine, others = self._writes[key]
        written = self._written(state, number, others)
        author = invocation._replace(holds=mine, fresh=True, event_fresh=False)
        for after in self._answered(written, author, OK, told):
            yield after
            crashed = self._spent(after[1], CRASH)
            if crashed and len(crashed.invocations) == len(written.invocations):
                # It had nothing left to do but to say so: its event comes again.
                yield (*told, "crash right after"), self._redelivered(crashed, author)
        unheard = self._spent(written, REPLY)
        if unheard:
            yield from self._answered(unheard, author._replace(fresh=False), SILENCE, (*told, "reply lost"))

    def _write(
        self, state: State, invocation: Invocation, patch: Patch, told: Label
    ) -> tuple[int, tuple[str, ...], frozenset[str]]:
        """The document after a write, the leases in it that are the author's, and those of others."""
        seen = self.documents.seen_by(state.document, invocation.holds)
        after: dict[str, dict[str, dict[str, dict[str, str]]]] = apply(seen, patch)  # type: ignore[assignment]
        number = self.documents.number(after)
        before = self.documents.raw(state.document)
        for law in laws.of_write(self.program(invocation), invocation.holds, before, self.documents.raw(number)):
            self.report(law, state, told)
        leases = {name: step["lease"]["token"] for name, step in after["steps"].items() if "lease" in step}
        mine = tuple(sorted(name for name, token in leases.items() if token == MINE))
        return number, mine, frozenset(name for name, token in leases.items() if token != MINE)

    def _answered_or_unheard(self, state: State, invocation: Invocation, answer: Answer, told: Label) -> Iterator[Step]:
        yield from self._answered(state, invocation, answer, told)
        unheard = self._spent(state, REPLY)
        if unheard:
            yield from self._answered(unheard, invocation, SILENCE, (*told, "reply lost"))

    def _answered(self, state: State, invocation: Invocation, answer: Answer, told: Label) -> Iterator[Step]:
        after = invocation._replace(node=self.code.answered(invocation.node, answer))
        node = self.code.nodes[after.node]
        if node.call is None:
            yield told, self._ended(state, after)
        elif self.likeness.unnoticed(state, node, answer):
            yield from self._call(state, after, told)
        else:
            number = self.likeness.reader_stand_in(after.node, state.document, state.now)
            yield told, state.with_invocation(after._replace(node=number))

    # --- what follows from it ----------------------------------------------------------------------------------

    def _ended(self, state: State, invocation: Invocation) -> State:
        """A failed invocation has its event delivered again; the platform promises that."""
        return self._redelivered(state, invocation) if self.code.nodes[invocation.node].raised else state

    def _redelivered(self, state: State, invocation: Invocation) -> State:
        node = self.code.nodes[invocation.node]
        if node.event is None or not self._does_something(node.program, node.event, state.now):
            return state
        event = Delivery(node.program, node.event, invocation.event_fresh)
        if not event.fresh:
            event = self.likeness.overtaken_delivery(event, state.document, state.now)
        return state.with_delivery(event)

    def _written(self, state: State, number: int, others_hold: frozenset[str]) -> State:
        """A new document: what everybody else knows is old now, and new events are on their way."""
        alike, new = self.likeness, self._events(number, state.now)
        self.led_to.setdefault(number, set()).add(state.document)
        # Of several events that wait for one function about the same thing one is kept: the budget has duplicates.
        waiting = {alike.about(event): event for event in (*state.deliveries, *new)}
        deliveries = [
            event if event in new else alike.overtaken_delivery(event, number, state.now)
            for event in waiting.values()
            if not alike.hopeless(event.program, number, state.used)
        ]
        overtaken = (
            alike.overtaken_invocation(other, number, state.now, others_hold)
            for other in state.invocations
            if self.code.nodes[other.node].claimed or not alike.hopeless(self.program(other), number, state.used)
        )
        return state._replace(
            document=number,
            deliveries=tuple(sorted(deliveries)),
            invocations=tuple(sorted(other for other in overtaken if other)),
        )

    def _events(self, number: int, now: datetime) -> tuple[Delivery, ...]:
        if not self.scenario.events:
            return ()
        awake = (program for program in self.scenario.programs if self._does_something(program, number, now))
        return tuple(Delivery(program, number, True) for program in awake)

    def _does_something(self, program: str, document: int, now: datetime) -> bool:
        if self.code.nodes[self.code.start(program, now, document)].call is not None:
            return True
        running = self.documents.run(document).in_status(StepStatus.RUNNING)
        return self.scenario.late_events and any(step.step_type == program for step in running)

    def _spent(self, state: State, kind: int) -> State | None:
        """The state with one more fault of a kind on the bill; None when the budget does not allow it."""
        if not state.may(kind, self.budget):
            return None
        self.faults[kind] += 1
        return state.counting(kind)


def _reopened(run: Run, verb: str, now: datetime) -> Patch:
    failed = [step.step_id for step in run.in_status(StepStatus.FAILED)]
    try:
        return manual.retry(run, failed, now) if verb == "retries" else manual.skip(run, failed, now)
    except manual.Refused:
        return NOTHING
