"""Storms: a random flow, random trouble of every kind at once, and then peace until nothing moves any more.

Every number is drawn from the schedule's own seed. Clocks differ by up to the lease margin; in some schedules by far
more, and then only safety is asked for: a run may end late, or a step be paid twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from flowcore.domain.errors import Code, NetworkError, StepFailed, ValidationError
from tests.chaos.transitions import FINISHED, Document
from tests.chaos.twins.acting import MALFORMED
from tests.chaos.twins.case import Case
from tests.chaos.twins.flows import a_flow, functions_for
from tests.chaos.twins.operator import Operator
from tests.chaos.twins.silence import silence
from tests.chaos.twins.simulation import Delivery, Fate, Simulation
from tests.chaos.twins.verdict import MARGIN, verdict
from tests.chaos.twins.world import Call, Unforeseen, World

RUN_ID = "run"
FAR_OFF = 600.0
LOST, TWICE, LIMIT = "a lost event", "an event twice or three times", "a write over the limit"
BREAKS = (
    "no effect and no reply",
    "no reply",
    "no effect and no end",
    "no end",
    "death before the effect",
    "death after the effect",
    "a pause before the effect",
    "a pause after the effect",
)
ANSWERS = (
    "a silent provider",
    "a refusal",
    "too fast",
    "a blocked answer",
    "an unforeseen exception",
)
HALF = "half an answer"  # only a model gives one that somebody reads to its end
ALL_AGAIN = 0.1  # of the finished runs hear of everything once more


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad a schedule is."""

    drops: float
    duplicates: float
    hurry: float  # seconds that a delivery takes, on average
    breaks: float  # of all calls
    provider: float  # of all paid calls
    most_breaks: int
    skews: dict[str, float]
    beyond_the_margin: bool
    write_limit: bool

    @classmethod
    def drawn(cls, chance: Random, functions: Sequence[str]) -> Weather:
        beyond = chance.random() < 0.1
        spread = FAR_OFF if beyond else MARGIN.total_seconds()
        return cls(
            drops=chance.uniform(0.01, 0.3) if chance.random() < 0.7 else 0.0,
            duplicates=chance.choice((0.0, 0.1, 0.5)),
            hurry=chance.choice((0.05, 0.5, 5.0, 40.0)),
            breaks=chance.choice((0.0, 0.02, 0.08, 0.2)),
            provider=chance.choice((0.0, 0.1, 0.4)),
            most_breaks=chance.randint(1, 12),
            skews={name: chance.uniform(-spread / 2, spread / 2) for name in ("sweep", *functions)},
            beyond_the_margin=beyond,
            write_limit=chance.random() < 0.2,
        )


@dataclass(slots=True)
class Storm:
    """Trouble of every kind, and how much of it really happened."""

    chance: Random
    weather: Weather
    world: World
    fired: Counter[str] = field(default_factory=Counter)
    _broken: int = 0
    _full_at: float = 0.0  # the write limit: when the document will have taken all that it was given

    def skew(self, function: str) -> float:
        return self.weather.skews.get(function, 0.0)

    def arrivals(self, function: str, author: str) -> Sequence[tuple[float, bool]]:
        chance, weather = self.chance, self.weather
        if chance.random() < weather.drops:
            self.fired[LOST] += 1
            return ()
        copies = 1
        if weather.duplicates and chance.random() < weather.duplicates:
            copies = chance.randint(2, 3)
            self.fired[TWICE] += 1
        return [(chance.expovariate(1 / weather.hurry), chance.random() > 0.03) for _ in range(copies)]

    def comes_again(self, delivery: Delivery) -> float | None:
        if self.chance.random() < self.weather.drops:
            self.fired[LOST] += 1
            return None
        return min(600.0, 10.0 * 2.0**delivery.attempt) * self.chance.uniform(0.5, 1.0)

    def fate(self, function: str, call: Call) -> Fate:
        chance, lag = self.chance, self.chance.expovariate(50.0)
        if call.method == "update" and self.weather.write_limit and not self._admitted():
            self.fired[LIMIT] += 1
            return Fate(lag, effect=False, error=silence(call))
        if self._broken < self.weather.most_breaks:
            if call.method == "pay" and chance.random() < self.weather.provider:
                return self._spoiled(call, lag)
            if chance.random() < self.weather.breaks:
                return self._broken_off(call, lag)
        return Fate(lag)

    def _drawn(self, kinds: Sequence[str]) -> str:
        kind = kinds[self.chance.randrange(len(kinds))]
        self._broken += 1
        self.fired[kind] += 1
        return kind

    def _broken_off(self, call: Call, lag: float) -> Fate:
        error = silence(call)
        match self._drawn(BREAKS):
            case "no effect and no reply":
                return Fate(lag, effect=False, error=error)
            case "no reply":
                return Fate(lag, error=error)
            case "no effect and no end":
                return Fate(lag, effect=False, error=error, after=call.timeout)
            case "no end":
                return Fate(lag, error=error, after=call.timeout)
            case "death before the effect":
                return Fate(lag, effect=False, death=True)
            case "death after the effect":
                return Fate(lag, death=True)
            case "a pause before the effect":  # the process goes on as though nothing had been
                return Fate(lag + self.chance.uniform(10, 2000))
            case _:
                return Fate(lag, after=self.chance.uniform(10, 2000))

    def _spoiled(self, call: Call, lag: float) -> Fate:
        match self._drawn((*ANSWERS, HALF) if call.service == "gemini" else ANSWERS):
            case "a silent provider":
                return Fate(lag, error=NetworkError(Code.GEMINI_REQUEST_FAILED, "no reply"), after=call.timeout / 4)
            case "a refusal":
                return Fate(lag, error=ValidationError(Code.INVALID_STEP_INPUTS, "refused"))
            case "too fast":
                wait = {"retryAfterSeconds": self.chance.uniform(1, 900)}
                return Fate(lag, error=StepFailed(Code.RATE_LIMITED, "too fast", details=wait))
            case "a blocked answer":
                return Fate(lag, error=StepFailed(Code.LLM_SAFETY_BLOCK, "no"))
            case "an unforeseen exception":
                return Fate(lag, error=Unforeseen())
            case _:
                return Fate(lag, reply=MALFORMED)

    def _admitted(self) -> bool:
        """One write a second, and five at once."""
        now = self.world.now
        full_at = max(self._full_at, now) + 1.0
        if full_at > now + 5.0:
            return False
        self._full_at = full_at
        return True


@dataclass(slots=True)
class Schedule(Case):
    def run(self) -> Schedule:
        chance = Random(self.seed)
        flow = a_flow(chance, RUN_ID)
        functions = functions_for(flow)
        world = World(chance, book=self.book)
        storm = Storm(chance, Weather.drawn(chance, functions), world)
        simulation = Simulation(world, self.stage, storm, functions, self.kernel)
        simulation.put(RUN_ID, flow)
        operator = Operator(simulation, chance)
        operator.plan()
        simulation.until_quiet()
        while operator.reopens():
            simulation.until_quiet()
        self._replay(simulation, chance)
        self.fired = storm.fired + operator.acted
        promised = not storm.weather.beyond_the_margin
        self.violations += verdict(world, skew=MARGIN if promised else None, over=promised)
        if promised:
            self.violations += self._uncalled_for(simulation)
        return self

    def _uncalled_for(self, simulation: Simulation) -> Iterator[str]:
        """What nothing that has happened explains. Events that come late or often are no reason to fail."""
        if simulation.restless:
            yield "does not come to rest"
        causes = self.fired.keys() - {TWICE}
        if causes - {LOST}:
            return
        for name, step in simulation.document["steps"].items():
            code = step.get("error", {}).get("code")
            if step["status"] == "FAILED" and not (causes and code == "NO_WORKER"):
                yield f"{name}: is FAILED with {code}, and the worst that happened was {LOST if causes else 'a delay'}"
        if not causes and simulation.document["status"] != "SUCCEEDED":
            yield f"is {simulation.document['status']}, although events came only late or often"

    def _replay(self, simulation: Simulation, chance: Random) -> None:
        """The events of a finished run, once more and shuffled: nothing may be written. Mostly two, which is cheap."""
        world = simulation.world
        if simulation.restless or simulation.document["status"] not in FINISHED:
            return
        known, changes = len(world.book), world.runs.changes
        some = len(changes) if chance.random() < ALL_AGAIN else min(2, len(changes))
        for change in chance.sample(changes, some):
            for function in simulation.functions:
                simulation.deliver(Delivery(function, change.new, RUN_ID))
        simulation.until_quiet()
        written = [record for record in world.book[known:] if record.kind == "write"]
        if any("RUNNING" not in _statuses(record.detail["before"]) for record in written):
            self.violations.append("an old event of a finished run made somebody write")


def _statuses(document: Document) -> set[str]:
    return {step["status"] for step in document["steps"].values()}
