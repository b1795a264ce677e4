"""What the steps of the twins do when they execute: read what they depend on, pay, keep images, hand over a result.

The same shape as the real workers, in a few lines: a report is asked for once and repaired once, charts are made one by
one and found again by their names, too few of them fail the step and leave evidence.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from flowcore.domain.artifacts import PNG, Artifact, chart_evidence, chart_image
from flowcore.domain.errors import Code, StepError, StepFailed
from flowcore.engine.context import StepContext
from flowcore.engine.worker import StepType
from tests.chaos.twins.world import Outside

GOOD, MALFORMED = "an answer", "half an answer"


def step_type(name: str, outside: Outside) -> StepType[Mapping[str, object]]:
    act = {"CHART_EXPORT": _charts, "LLM_REPORT": _report}.get(name, _anything)
    return StepType(name, dict, partial(act, outside))


def _anything(outside: Outside, ctx: StepContext, inputs: Mapping[str, object]) -> Artifact:
    _read_what_it_needs(ctx)
    outside.pay(ctx.room(), "bigquery", "query", ctx.step.step_id)
    return Artifact.json({"step": ctx.step.step_id})


def _report(outside: Outside, ctx: StepContext, inputs: Mapping[str, object]) -> Artifact:
    _read_what_it_needs(ctx)
    answer = outside.pay(ctx.room(), "gemini", "generateContent", ctx.step.step_id)
    if answer == MALFORMED:
        answer = outside.pay(ctx.room(), "gemini", "generateContent", ctx.step.step_id, repair=True)
    if answer == MALFORMED:
        raise StepFailed(Code.INVALID_STRUCTURED_OUTPUT, "the model's answer could not be repaired")
    return Artifact.json({"report": ctx.step.step_id, "attempt": ctx.step.attempt})


def _charts(outside: Outside, ctx: StepContext, inputs: Mapping[str, object]) -> Artifact:
    _read_what_it_needs(ctx)
    requests: list[dict[str, str]] = inputs["requests"]  # type: ignore[assignment]
    wanted = [request["chartTemplateId"] for request in requests]
    made, failures = [], []
    for chart in wanted:
        try:
            made.append(_image(outside, ctx, chart))
        except StepFailed as failure:
            failures.append(failure.error)
    manifest = {"items": [{"png_gcs_uri": uri} for uri in made], "requested": requests}
    if len(made) < int(str(inputs["minImages"])):
        raise _too_few(ctx, manifest, failures[0])
    return Artifact.json(manifest, outputs={"outputsManifestGcsUri": ctx.uri})


def _image(outside: Outside, ctx: StepContext, chart: str) -> str:
    kept = ctx.kept(chart_image(chart))
    if kept:
        return kept.uri
    outside.pay(ctx.room(), "chart_img", "AdvancedChart", f"{ctx.step.step_id} {chart}")
    return ctx.keep(chart_image(chart), Artifact(chart.encode(), PNG))


def _too_few(ctx: StepContext, manifest: Mapping[str, object], cause: StepError) -> StepFailed:
    try:
        outputs = {"outputsManifestGcsUri": ctx.keep(chart_evidence(ctx.step.attempt), Artifact.json(manifest))}
    except StepFailed:
        outputs = {}
    return StepFailed(Code(cause.code), "too few charts", retryable=cause.retryable, outputs=outputs)


def _read_what_it_needs(ctx: StepContext) -> None:
    for step_id in ctx.step.depends_on:
        ctx.read(ctx.uri_of(step_id, "dependsOn"))
