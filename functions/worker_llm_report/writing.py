"""One report: everything that can be wrong is looked at first, then the model is asked, then the file is made."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flowcore.contracts.model import Answer, Model, Question
from flowcore.contracts.reports import Report
from flowcore.domain.artifacts import Artifact
from flowcore.engine.context import StepContext
from flowcore.ports import Documents
from functions.worker_llm_report.asking import Interviewer
from functions.worker_llm_report.assembly import user_text
from functions.worker_llm_report.inputs import Inputs, Llm
from functions.worker_llm_report.material import SizeOf, gather
from functions.worker_llm_report.profile import read_profile
from functions.worker_llm_report.prompts import find_prompt
from functions.worker_llm_report.schemas import OutputSchema, find_schema


@dataclass(frozen=True, slots=True)
class Desk:
    """What a report is written with."""

    documents: Documents
    model: Model
    provider_seconds: float
    size_of: SizeOf
    allowed_models: Collection[str] = ()


def write_report(ctx: StepContext, inputs: Inputs, desk: Desk) -> Artifact:
    profile = read_profile(inputs.llm.llm_profile, desk.allowed_models)
    prompt = find_prompt(ctx, desk.documents, inputs.llm.prompt_id)
    schema = find_schema(ctx, desk.documents, profile)
    material = gather(ctx, inputs, desk.size_of)
    text = user_text(prompt.user_prompt, material)
    ctx.log.info(
        "context_assembled",
        characters=len(text),
        candles_sent=material.candles.sent,
        candles_total=material.candles.total,
        images=len(material.charts),
        reports=len(material.reports),
    )
    question = Question(
        model=profile.model_name,
        system_instruction=prompt.system_instruction,
        parts=(text, *(chart.picture for chart in material.charts)),
        schema=schema.json_schema,
        settings=profile.settings(),
    )
    interview = Interviewer(ctx, desk.model, desk.provider_seconds).ask(question)
    now = ctx.clock.now()
    report = Report(
        schema_version=schema.version,
        run_id=ctx.run.run_id,
        step_id=ctx.step.step_id,
        symbol=material.symbol,
        timeframe=material.timeframe,
        created_at=ctx.step.started_at or now,
        finished_at=now,
        llm={"modelName": profile.model_name, **_asked(inputs.llm, schema), **_answered(interview.answer)},
        inputs=material.sources(),
        output=interview.output,
    )
    return Artifact.json(report.as_json(), execution=interview.execution())


def _asked(llm: Llm, schema: OutputSchema) -> dict[str, object]:
    return {
        "promptId": llm.prompt_id,
        "llmProfile": llm.llm_profile,
        "schemaId": schema.schema_id,
        "schemaSha256": schema.sha256,
    }


def _answered(answer: Answer) -> dict[str, object]:
    told = {
        "finishReason": answer.finish_reason,
        "modelVersion": answer.model_version,
        "requestId": answer.request_id,
        "usageMetadata": dict(answer.usage),
    }
    return {name: value for name, value in told.items() if value is not None}
