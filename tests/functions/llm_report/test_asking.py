"""The one call and its repair, against the clock: nothing is begun that cannot be recorded."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from flowcore.contracts.model import Answer, Question
from flowcore.domain.budget import TimeBudget
from flowcore.domain.errors import Code, NetworkError, StepFailed
from flowcore.domain.retry import POLICIES
from flowcore.engine.context import StepContext
from flowcore.engine.patience import Patience
from flowcore.engine.results import Results
from flowcore.testing.builders import REPORT, a_run, parsed
from flowcore.testing.stores import MemoryArtifacts
from flowcore.testing.world import CountedChance, ManualClock, MemoryLog
from functions.worker_llm_report.asking import LEAST, REPAIR_MARGIN, Interview, Interviewer
from tests.functions.llm_report.scene import PLAIN

GOOD = Answer('{"summary": {"markdown": "ok"}, "details": {}}', "STOP")
BAD = Answer('{"summary": {}', "MAX_TOKENS")
QUESTION = Question("m-1", "be brief", ("write",), PLAIN)


@dataclass
class SlowModel:
    """Takes its time, and says its lines in order."""

    clock: ManualClock
    answers: list[Answer | Exception]
    seconds: float = 0.0
    timeouts: list[float] = field(default_factory=list)

    def ask(self, question: Question, timeout: float) -> Answer:
        self.timeouts.append(timeout)
        self.clock.advance(self.seconds)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class Desk:
    budget: TimeBudget = field(default_factory=TimeBudget)
    clock: ManualClock = field(default_factory=ManualClock)
    log: MemoryLog = field(default_factory=MemoryLog)

    def context(self) -> StepContext:
        run = parsed(a_run(report="RUNNING"))
        deadline, chance = self.budget.starting_at(self.clock.monotonic()), CountedChance()
        patience = Patience(POLICIES["gcs_read"], self.clock, chance, deadline.ends)
        results = Results(MemoryArtifacts(), patience, patience)
        return StepContext(run, run.steps[REPORT], results, "x.json", deadline, self.clock, chance, self.log)

    def interviewed(self, model: SlowModel, before: Callable[[], object] = lambda: None) -> Interview:
        context = self.context()
        before()
        return Interviewer(context, model, self.budget.provider).ask(QUESTION)


def test_the_first_call_may_take_as_long_as_the_provider_is_allowed_to() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [GOOD])
    desk.interviewed(model)
    assert model.timeouts == [600.0]


def test_a_late_call_may_take_what_is_left_before_the_reserve() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [GOOD])
    desk.interviewed(model, lambda: desk.clock.advance(300))
    assert model.timeouts == [780 - 300 - 120]


@pytest.mark.acceptance("E24")
def test_a_repair_may_take_what_is_left_without_the_reserve_and_a_margin() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [BAD, GOOD], seconds=590)
    assert desk.interviewed(model).output == {"summary": {"markdown": "ok"}, "details": {}}
    assert model.timeouts == [600.0, 780 - 590 - 120 - REPAIR_MARGIN]


@pytest.mark.acceptance("E24")
def test_without_time_for_a_repair_the_step_fails_with_what_it_has() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [BAD, GOOD], seconds=780 - 120 - REPAIR_MARGIN - LEAST + 0.1)
    with pytest.raises(StepFailed) as failure:
        desk.interviewed(model)
    assert failure.value.error.code == Code.INVALID_STRUCTURED_OUTPUT
    assert failure.value.error.details == {"reason": "json_parse", "calls": 1, "repair": "time_budget"}
    assert failure.value.outputs["execution"] == {
        "attempts": {"total": 1},
        "llm": {"finishReason": "MAX_TOKENS", "usageMetadata": {}, "attempts": {"total": 1}},
    }
    assert len(model.timeouts) == 1


@pytest.mark.acceptance("E30")
def test_a_call_is_not_begun_without_time_for_an_answer() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [GOOD])
    with pytest.raises(StepFailed) as failure:
        desk.interviewed(model, lambda: desk.clock.advance(780 - 120 - LEAST + 0.1))
    assert (failure.value.error.code, failure.value.error.retryable) == (Code.GEMINI_REQUEST_FAILED, True)
    assert failure.value.error.details == {"reason": "time_budget"}
    assert model.timeouts == []


def test_a_call_is_begun_as_long_as_there_is_time_for_an_answer() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [GOOD])
    desk.interviewed(model, lambda: desk.clock.advance(780 - 120 - LEAST))
    assert model.timeouts == [LEAST]


def test_a_silent_model_is_asked_once() -> None:
    desk = Desk()
    model = SlowModel(desk.clock, [NetworkError(Code.GEMINI_REQUEST_FAILED, "nothing"), GOOD])
    with pytest.raises(NetworkError):
        desk.interviewed(model)
    assert (len(model.timeouts), desk.clock.slept) == (1, [])


def test_every_call_is_told_with_its_cost_and_its_time() -> None:
    desk = Desk()
    paid = Answer(GOOD.text, "STOP", usage={"promptTokenCount": 7, "totalTokenCount": 9, "details": [{"a": 1}]})
    interview = desk.interviewed(SlowModel(desk.clock, [BAD, paid], seconds=2))
    lines = [fields for _, event, fields in desk.log.lines if event == "llm_request_finished"]
    assert [(line["repair"], line["seconds"], line["total_tokens"]) for line in lines] == [
        (False, 2, None),
        (True, 2, 9),
    ]
    assert interview.execution()["llm"] == {
        "finishReason": "STOP",
        "usageMetadata": {"promptTokenCount": 7, "totalTokenCount": 9},
        "attempts": {"total": 2},
        "repaired": {"kind": "json_parse", "finishReason": "MAX_TOKENS", "usageMetadata": {}},
    }
