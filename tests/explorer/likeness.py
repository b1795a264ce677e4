"""What may be taken for the same, so that the search ends: each reduction with its reason.

None of them is taken on trust where it can be tried out: stand-ins are run beside what they stand for, on the real
code, and the search stops with an error if the two do not ask the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from flowcore.domain.model import StepStatus
from flowcore.testing.world import T0
from tests.explorer.documents import Documents
from tests.explorer.programs import CONFLICT, FOUND, OK, SILENCE, Answer, Call, Node, Programs
from tests.explorer.scenarios import Budget, Scenario
from tests.explorer.states import EXPIRY, REOPEN, Delivery, Invocation, State


@dataclass(slots=True)
class Likeness:
    scenario: Scenario
    budget: Budget
    documents: Documents
    code: Programs
    _events: dict[tuple[str, frozenset[str]], int] = field(default_factory=dict)
    _claims: dict[tuple[str, datetime | None, str | None, tuple[Answer, ...]], int] = field(default_factory=dict)
    _readers: dict[tuple[str, frozenset[str], bool], int] = field(default_factory=dict)

    def about(self, delivery: Delivery) -> tuple[str, frozenset[str]]:
        """What an event is to its function: for a worker, the step it would claim, or the object it would look for to
        adopt it; for the others, the run.
        """
        call = self._first_call(delivery.program, delivery.document)
        paths = call.patch.changes if call and call.patch else ()
        looked_for = [call.name] if call and call.kind == "find" else []
        return delivery.program, frozenset([*(path for path in paths if path.endswith("lease")), *looked_for])

    def hopeless(self, program: str, document: int, used: tuple[int, ...]) -> bool:
        """Whether nothing that this program may do without a claim can ever change the document again."""
        run = self.documents.run(document)
        if run.status.finished and (self.scenario.retry or self.scenario.skip) and not used[REOPEN]:
            return False
        if program in ("advance", "sweep"):
            return run.status.finished and not run.in_status(StepStatus.RUNNING)
        mine = [step.status for step in run.steps.values() if step.step_type == program]
        settled = run.status.finished and StepStatus.RUNNING not in mine
        return settled or all(status is StepStatus.SUCCEEDED for status in mine)

    def unnoticed(self, state: State, node: Node, answer: Answer) -> bool:
        """Whether the next call may be made at once, because its order is nothing to anybody else."""
        call = node.call
        if call is None or call.kind == "pay" or answer == CONFLICT:
            return True
        if answer[0] == "document" and len(node.answers) > 1:
            # After reading again: whatever came between would only make it read once more. (The first decision is
            # another matter: it is made on the event's own snapshot, or on what a sweep's query brought.)
            return True
        if call.name in state.objects:
            return True  # objects stay: it will be told that the object exists, now or later
        if call.kind != "find":
            return False
        # A holder looks for its object. Nobody else can make it while nobody else has claimed the step, and nobody
        # will while no lease can end.
        others = (self.code.nodes[other.node].claimed for other in state.invocations)
        return not state.may(EXPIRY, self.budget) and node.claimed not in others

    def overtaken_delivery(self, delivery: Delivery, current: int, now: datetime) -> Delivery:
        """Somebody has written since: the write of this event will be refused, whatever its document says."""
        return Delivery(delivery.program, self._event_stand_in(delivery, current, now), False)

    def overtaken_invocation(
        self, other: Invocation, current: int, now: datetime, others_hold: frozenset[str]
    ) -> Invocation | None:
        """Somebody has written: a write that is still to come will be refused, so it may be refused now.

        Whoever holds nothing then reads at once and decides anew, or finds that there is nothing left to do (None).
        Reading later would make it one more of those that plan or adopt, which is what duplicates are for.
        """
        number, node = other.node, self.code.nodes[other.node]
        holds = tuple(name for name in other.holds if name in others_hold)
        if node.call and node.call.kind == "update" and other.fresh:
            number = self.code.answered(number, CONFLICT)
            if not node.claimed and not holds:
                number = self._as_if_fresh(self.code.answered(number, ("document", current, (), now)), current, now)
                return Invocation(number, True) if self.code.nodes[number].call else None
        number = self._claim_stand_in(number) if node.claimed else self.reader_stand_in(number, current, now)
        return Invocation(number, False, holds, False)

    def _as_if_fresh(self, number: int, current: int, now: datetime) -> int:
        """A plan that was made on what was read again is the plan that an event of that document would make."""
        node = self.code.nodes[number]
        if node.program not in ("advance", "sweep"):
            return number
        if node.program == "advance":
            fresh = self.code.start("advance", now, current)
        else:
            fresh = self.code.answered(self.code.start("sweep", now, None), ("document", current, (), now))
        if self.code.nodes[fresh].call != node.call:
            raise AssertionError(f"{node} and {self.code.nodes[fresh]} are not alike")
        return fresh

    def reader_stand_in(self, number: int, current: int, now: datetime) -> int:
        """Whoever holds nothing and is about to read again has nothing behind it that counts.

        What counts is what it wants: to plan, to claim this step, to adopt it.
        """
        node = self.code.nodes[number]
        if node.claimed or node.call is None or node.call.kind != "get":
            return number
        wants = frozenset[str]() if node.event is None else self.about(Delivery(node.program, node.event, False))[1]
        stand_in = self._readers.setdefault((node.program, wants, FOUND in node.answers), number)
        if stand_in != number:
            answer = ("document", current, (), now)
            both = [self.code.nodes[self.code.answered(reader, answer)].call for reader in (stand_in, number)]
            if both[0] != both[1]:
                raise AssertionError(f"{node} and {self.code.nodes[stand_in]} are not alike: {both}")
        return stand_in

    def _event_stand_in(self, delivery: Delivery, current: int, now: datetime) -> int:
        """Overtaken events about the same thing are one."""
        call = self._first_call(delivery.program, delivery.document)
        if call is None or call.kind != "update":
            return delivery.document
        stand_in = self._events.setdefault(self.about(delivery), delivery.document)
        if stand_in != delivery.document:
            events = (stand_in, delivery.document)
            both = [self._after_reading(delivery.program, event, current, now) for event in events]
            if both[0] != both[1]:
                raise AssertionError(f"{delivery.program}: {stand_in} and {delivery.document} are not alike: {both}")
        return stand_in

    def _claim_stand_in(self, number: int) -> int:
        """Of a claim that has been overtaken, what it was made on is history: what came after it is what counts."""
        node = self.code.nodes[number]
        landed = next(index for index, answer in enumerate(node.answers) if answer in (OK, SILENCE))
        after = node.answers[landed + (1 if node.answers[landed] == OK else 2) :]
        stand_in = self._claims.setdefault((node.program, node.lease_until, node.claimed, after), number)
        asked = [(call.kind, call.name) for call in (node.call, self.code.nodes[stand_in].call) if call]
        if len(asked) != 2 or asked[0] != asked[1]:
            raise AssertionError(f"{node} and {self.code.nodes[stand_in]} are not alike: {asked}")
        return stand_in

    def _first_call(self, program: str, event: int) -> Call | None:
        return self.code.nodes[self.code.start(program, T0, event)].call

    def _after_reading(self, program: str, event: int, current: int, now: datetime) -> Call | None:
        lost = self.code.answered(self.code.start(program, T0, event), CONFLICT)
        return self.code.nodes[self.code.answered(lost, ("document", current, (), now))].call
