"""One paid call, and at most one more to mend its answer: never a loop, because every turn of it costs.

A call is begun only if it can end while there is still time to record what it said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from flowcore.contracts.model import Answer, Model, Question
from flowcore.domain.errors import Code, StepFailed
from flowcore.engine.context import StepContext
from functions.worker_llm_report.assembly import repair_text
from functions.worker_llm_report.verdict import Flaw, judge

# Seconds. In less than this no model writes a report.
LEAST = 5.0
# A second call is a favour: it leaves more room behind it than the first.
REPAIR_MARGIN = 5.0


@dataclass(frozen=True, slots=True)
class Interview:
    """The answer that counts, and the one before it that could not be used."""

    answer: Answer
    output: Mapping[str, object]
    discarded: tuple[Answer, Flaw] | None = None

    def execution(self) -> dict[str, object]:
        """What is recorded on the step: what the provider said of its work, and nothing of what the model said."""
        calls = 2 if self.discarded else 1
        told = _told(self.answer, calls)
        if self.discarded:
            answer, flaw = self.discarded
            told["repaired"] = {"kind": flaw.kind, **_told(answer, None)}
        return {"attempts": {"total": calls}, "llm": told}


@dataclass(frozen=True, slots=True)
class Interviewer:
    ctx: StepContext
    model: Model
    provider_seconds: float

    def ask(self, question: Question) -> Interview:
        first = self._call(question, "gemini")
        output = judge(first.text, question.schema)
        if not isinstance(output, Flaw):
            return Interview(first, output)
        self._log_flaw(output, first)
        second = self._repaired(question, first, output)
        again = judge(second.text, question.schema)
        if isinstance(again, Flaw):
            self._log_flaw(again, second)
            raise _invalid(again, second, 2, "no_better")
        return Interview(second, again, (first, output))

    def _repaired(self, question: Question, first: Answer, flaw: Flaw) -> Answer:
        more = repair_text(flaw, first.finish_reason, question.schema)
        try:
            return self._call(replace(question, parts=(*question.parts, more)), "gemini_repair", REPAIR_MARGIN)
        except StepFailed as failure:
            if failure.error.code == Code.LLM_SAFETY_BLOCK:
                raise
            # The answer stays what it was: not usable. Asking for it all over again is nobody's wish.
            reason = (failure.error.details or {}).get("reason", failure.error.code)
            raise _invalid(flaw, first, 1 if reason == "time_budget" else 2, str(reason)) from failure

    def _call(self, question: Question, policy: str, margin: float = 0.0) -> Answer:
        def call(room: float) -> Answer:
            if room - margin < LEAST:
                raise StepFailed(
                    Code.GEMINI_REQUEST_FAILED,
                    f"{question.model} was not asked: {room:.0f} s are left, which is too little for an answer",
                    details={"reason": "time_budget"},
                )
            return self.model.ask(question, min(self.provider_seconds, room - margin))

        begun = self.ctx.clock.monotonic()
        answer = self.ctx.patiently(policy, call)
        self.ctx.log.info(
            "llm_request_finished",
            model=question.model,
            repair=policy == "gemini_repair",
            finish_reason=answer.finish_reason,
            seconds=round(self.ctx.clock.monotonic() - begun, 3),
            prompt_tokens=answer.usage.get("promptTokenCount"),
            total_tokens=answer.usage.get("totalTokenCount"),
        )
        if answer.filtered_by:
            stopped = "the prompt" if answer.block_reason else "the answer"
            raise StepFailed(
                Code.LLM_SAFETY_BLOCK,
                f"{question.model}: a filter of the provider stopped {stopped}",
                details={"reason": answer.filtered_by},
                outputs=_cost(answer, 2 if policy == "gemini_repair" else 1),
            )
        return answer

    def _log_flaw(self, flaw: Flaw, answer: Answer) -> None:
        self.ctx.log.warning(
            "structured_output_invalid", kind=flaw.kind, errors=flaw.errors, finish_reason=answer.finish_reason
        )


def _invalid(flaw: Flaw, answer: Answer, calls: int, repair: str) -> StepFailed:
    return StepFailed(
        Code.INVALID_STRUCTURED_OUTPUT,
        flaw.message(answer.finish_reason),
        details={"reason": flaw.kind, "calls": calls, "repair": repair},
        outputs=_cost(answer, calls),
    )


def _cost(answer: Answer, calls: int) -> dict[str, object]:
    """A failed attempt was paid for, too."""
    return {"execution": {"attempts": {"total": calls}, "llm": _told(answer, calls)}}


def _told(answer: Answer, calls: int | None) -> dict[str, object]:
    """Counts only: the provider's break-down of them is in the report, and documents are small."""
    counts = {name: count for name, count in answer.usage.items() if isinstance(count, int)}
    told = {
        "finishReason": answer.finish_reason,
        "modelVersion": answer.model_version,
        "requestId": answer.request_id,
        "usageMetadata": counts,
        "attempts": {"total": calls} if calls else None,
    }
    return {name: value for name, value in told.items() if value is not None}
