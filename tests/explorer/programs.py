"""The real functions, stopped at each of their calls.

A program is deterministic: what it does next follows from its event, its clock and the answers it got so far. So an
invocation "in the middle" is that list of answers, and looking at its next call means running it again from the
start. Equal lists are one node, run once; after that, walking through it costs a look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from flowcore.domain.artifacts import Artifact
from flowcore.domain.budget import TimeBudget
from flowcore.domain.errors import Code, NetworkError, ValidationError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch
from flowcore.engine.advance import Advance
from flowcore.engine.context import StepContext
from flowcore.engine.event import FlowEvent
from flowcore.engine.sweep import Sweep
from flowcore.engine.worker import StepType, Worker
from flowcore.ports import Conflict, ObjectExists, StoredObject
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import T0, CountedChance, MemoryLog
from tests.explorer.documents import MINE, Documents

# Each function has its own timeout, so leases that begin together do not end together.
TIMEOUTS = {"B": 480, "C": 420}
DEFAULT_TIMEOUT = 540

# What the outside may answer. A document answer carries the number of the document, the steps held by the asker, and
# the time: that is when the asker's clock goes on.
Answer = tuple[object, ...]
OK, CONFLICT, SILENCE = ("ok",), ("conflict",), ("silence",)
FOUND, ABSENT, EXISTS = ("found",), ("absent",), ("exists",)
PAID, REFUSED = ("paid",), ("refused",)


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a program is about to make. `kind` is get, update, query, find, create or pay."""

    kind: str
    patch: Patch | None = None
    name: str = ""
    metadata: Mapping[str, str] | None = None
    conditional: bool = True


class _Stopped(BaseException):
    """Not an Exception: the code under test must not be able to catch it."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call


@dataclass(slots=True)
class Node:
    """An invocation at one point of its life. `call` is None when it has ended; `raised` says how."""

    program: str
    now: datetime
    event: int | None
    answers: tuple[Answer, ...]
    call: Call | None = None
    raised: str | None = None
    claimed: str | None = None
    lease_until: datetime | None = None
    looked: bool = False
    paid: int = 0
    landed: int = 0  # writes to the run that were answered, if only by silence
    next: dict[Answer, int] = field(default_factory=dict)


@dataclass(slots=True)
class Programs:
    documents: Documents
    objects: dict[str, StoredObject] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    _numbers: dict[tuple[str, datetime, int | None, tuple[Answer, ...]], int] = field(default_factory=dict)

    def start(self, program: str, now: datetime, event: int | None) -> int:
        return self._number(program, now, event, ())

    def answered(self, number: int, answer: Answer) -> int:
        """The node that a node becomes by this answer."""
        node = self.nodes[number]
        found = node.next.get(answer)
        if found is None:
            found = self._number(node.program, node.now, node.event, (*node.answers, answer))
            if answer == CONFLICT:
                found = self._without_lost_races(found)
            node.next[answer] = found
        return found

    def _without_lost_races(self, number: int) -> int:
        """After a lost race a program reads and decides anew; which races it lost before is nothing to it.

        So the node of the latest lost race stands for all of them. That it asks the same next is tried out here; how
        often a program tries before it gives up is the one thing that this leaves to the tests of the engine.
        """
        node = self.nodes[number]
        if node.call is None or len(node.answers) < 3 or node.answers[-3] != CONFLICT:
            return number
        shorter = self._number(node.program, node.now, node.event, (*node.answers[:-3], CONFLICT))
        if self.nodes[shorter].call != node.call:
            raise AssertionError(f"{node} and {self.nodes[shorter]} were taken for alike")
        return shorter

    def _number(self, program: str, now: datetime, event: int | None, answers: tuple[Answer, ...]) -> int:
        key = (program, now, event, answers)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self.nodes)
            node = Node(program, now, event, answers)
            self.nodes.append(node)
            self._run(node)
        return found

    def _run(self, node: Node) -> None:
        clock, chance, log = _StandingClock(node.now), _OneToken(), MemoryLog()
        world = _ScriptedWorld(self, node, clock)
        try:
            if node.program == "sweep":
                Sweep(world, clock, chance, log, 500).minutely()
            else:
                event = FlowEvent("event", RUN_ID, world.snapshot(node.event, ()) if node.event is not None else None)
                if node.program == "advance":
                    Advance(world, clock, chance, log, 60).handle(event)
                else:
                    step_type: StepType[object] = StepType(node.program, dict, world.execute)
                    budget = TimeBudget(TIMEOUTS.get(node.program, DEFAULT_TIMEOUT), provider=300, finalize=120)
                    Worker(step_type, world, world, clock, chance, log, budget).handle(event)
        except _Stopped as stopped:
            node.call = stopped.call
        except Exception as exc:  # noqa: BLE001 - the platform sees a failed invocation, whatever was raised
            node.raised = repr(exc)
        if "step_claimed" in log.events():
            node.claimed, node.lease_until = str(log.last("step_claimed")["step_id"]), world.lease_until
        if "sweep_failed" in log.events():
            node.raised = f"sweep failed: {log.last('sweep_failed')}"
        node.looked, node.paid, node.landed = world.looked, world.paid, world.landed


@dataclass(slots=True)
class _ScriptedWorld:
    """Every port at once: answers from the script while it lasts, then stops the program."""

    programs: Programs
    node: Node
    clock: _StandingClock
    position: int = 0
    reads: int = 0
    looked: bool = False
    paid: int = 0
    landed: int = 0
    lease_until: datetime | None = None

    def get(self, run_id: str, timeout: float = 0.0) -> Snapshot | None:
        return self._document(self._ask(Call("get")))

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = 0.0) -> datetime:
        answer = self._ask(Call("update", patch=patch, conditional=update_time == self._version()))
        if answer == CONFLICT:
            raise Conflict(run_id)
        self.landed += 1
        for path, value in patch.changes.items():
            if path.endswith(".lease") and isinstance(value, dict):
                self.lease_until = datetime.fromisoformat(value["expiresAt"])
        if answer == SILENCE:
            raise NetworkError(Code.FIRESTORE_UNAVAILABLE, "no reply")
        self.reads += 1
        return self._version()

    def due(self, now: datetime) -> Iterator[Snapshot]:
        found = self._document(self._ask(Call("query")))
        return iter([found] if found else [])

    def unfinished(self) -> Iterator[Snapshot]:
        raise AssertionError("the explorer sweeps by the minute")

    def uri(self, name: str) -> str:
        return f"gs://artifacts/{name}"

    def find(self, name: str, timeout: float = 0.0) -> StoredObject | None:
        answer = self._ask(Call("find", name=name))
        self.looked = self.looked or answer == ABSENT
        return self.programs.objects[name] if answer == FOUND else None

    def create(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        content_type: str,
        metadata: Mapping[str, str],
        timeout: float = 0.0,
    ) -> StoredObject:
        stored = StoredObject(name, self.uri(name), metadata)
        self.programs.objects.setdefault(name, stored)
        answer = self._ask(Call("create", name=name, metadata=metadata))
        if answer == EXISTS:
            raise ObjectExists(name)
        if answer == SILENCE:
            raise NetworkError(Code.GCS_WRITE_FAILED, "no reply")
        return stored

    def annotate(self, name: str, metadata: Mapping[str, str], timeout: float = 0.0) -> StoredObject:
        raise AssertionError("no step of the explorer makes an object in pieces")

    def read(self, uri: str, timeout: float = 0.0) -> bytes:
        raise AssertionError("no step of the explorer reads objects")

    def execute(self, context: StepContext, inputs: object) -> Artifact:
        answer = self._ask(Call("pay", name=context.step.step_id))
        self.paid += 1
        if answer == SILENCE:
            raise NetworkError(Code.GEMINI_REQUEST_FAILED, "no reply")
        if answer == REFUSED:
            raise ValidationError(Code.INVALID_STEP_INPUTS, "no good")
        return Artifact.json({"report": context.step.step_id})

    def snapshot(self, number: int, mine: tuple[str, ...]) -> Snapshot:
        return Snapshot(RUN_ID, self.programs.documents.seen_by(number, mine), self._version())

    def _document(self, answer: Answer) -> Snapshot | None:
        self.reads += 1
        if answer[0] != "document":
            return None
        _, number, mine, self.clock.moment = answer  # type: ignore[assignment]
        return self.snapshot(number, mine)  # type: ignore[arg-type]

    def _version(self) -> datetime:
        """The update time of the latest snapshot: each one that the program sees has its own."""
        return T0 + timedelta(microseconds=self.reads)

    def _ask(self, call: Call) -> Answer:
        if self.position >= len(self.node.answers):
            raise _Stopped(call)
        self.position += 1
        return self.node.answers[self.position - 1]


@dataclass(slots=True)
class _OneToken(CountedChance):
    def token(self) -> str:
        return MINE


@dataclass(slots=True)
class _StandingClock:
    """An invocation's own clock: it stands still until the run is read again, as after a long pause of the process."""

    moment: datetime

    def now(self) -> datetime:
        return self.moment

    def monotonic(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        """Waiting changes nothing: what others do meanwhile is the search's choice."""
