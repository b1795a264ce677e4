"""Charts one after the other, and a manifest of what became of them.

A chart that fails is recorded, and the others are still made: whether there are enough is decided at the end. What an
earlier attempt has made is found by its name and neither drawn nor bought again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flowcore.contracts.charts import Chart, ChartFailure, ChartItem, ChartTemplate, Manifest, Renderer
from flowcore.domain.artifacts import PNG, Artifact, chart_evidence, chart_image, recorded
from flowcore.domain.errors import Code, DataNotFoundError, StepError, StepFailed
from flowcore.domain.times import from_value, to_text
from flowcore.engine.context import StepContext
from flowcore.ports import Documents
from functions.worker_charts.inputs import Inputs, symbol_of, timeframe_of

# Seconds. With less than this a chart is not begun: it would only take the time that its record needs.
A_CHART = 5.0

TIME_BUDGET = "time_budget"


@dataclass(frozen=True, slots=True)
class Studio:
    """Where charts are made: the templates' home, the axes' time zone, and whoever draws."""

    documents: Documents
    timezone: str
    renderer: Callable[[StepContext, Inputs], Renderer]


def export_charts(ctx: StepContext, inputs: Inputs, studio: Studio) -> Artifact:
    symbol, timeframe = symbol_of(ctx.run), timeframe_of(ctx.step)
    session = _Session(ctx, studio, studio.renderer(ctx, inputs), symbol, timeframe)
    made = [session.made(template_id) for template_id in inputs.template_ids]
    manifest = Manifest(
        run_id=ctx.run.run_id,
        step_id=ctx.step.step_id,
        created_at=ctx.clock.now(),
        symbol=symbol,
        timeframe=timeframe,
        min_images=inputs.needed,
        requested=inputs.template_ids,
        items=tuple(chart for chart in made if isinstance(chart, ChartItem)),
        failures=tuple(chart for chart in made if isinstance(chart, ChartFailure)),
    )
    if len(manifest.items) < inputs.needed:
        raise _too_few(ctx, manifest)
    return Artifact.json(manifest.as_json(), outputs={"outputsManifestGcsUri": ctx.uri})


@dataclass(frozen=True, slots=True)
class _Session:
    ctx: StepContext
    studio: Studio
    renderer: Renderer
    symbol: str
    timeframe: str

    def made(self, template_id: str) -> ChartItem | ChartFailure:
        try:
            return self._item(template_id)
        except StepFailed as failure:
            error = failure.error
            self.ctx.log.warning("chart_failed", chart=template_id, code=error.code, reason=error.message)
            return ChartFailure(template_id, error)

    def _item(self, template_id: str) -> ChartItem:
        ctx, name = self.ctx, chart_image(template_id)
        if ctx.room() < A_CHART:
            raise out_of_time(template_id)
        template = self._template(template_id)
        found = ctx.kept(name)
        if found:
            ctx.log.info("chart_reused", chart=template_id, uri=found.uri)
            generated = from_value(recorded(found.metadata, "outputs").get("generatedAt"))
            return ChartItem(template_id, template.description, generated or ctx.clock.now(), found.uri)
        png = self.renderer.render(Chart(template, self.symbol, self.timeframe, self.studio.timezone))
        generated = ctx.clock.now()
        uri = ctx.keep(name, Artifact(png, PNG, outputs={"generatedAt": to_text(generated)}))
        ctx.log.info("chart_made", chart=template_id, uri=uri, size=len(png))
        return ChartItem(template_id, template.description, generated, uri)

    def _template(self, template_id: str) -> ChartTemplate:
        path = f"chart_templates/{template_id}"
        found = self.ctx.patiently("firestore", lambda timeout: self.studio.documents.find(path, timeout))
        if found is None:
            raise DataNotFoundError(
                Code.INVALID_STEP_INPUTS,
                f"{path}: template not found; load it, or correct inputs.requests",
                details={"reason": "template_not_found"},
            )
        return ChartTemplate.read(template_id, found.fields)


def out_of_time(template_id: str) -> StepFailed:
    return StepFailed(
        Code.CHART_API_FAILED,
        f"chart {template_id}: no time was left for it in this attempt; the next one goes on from here",
        retryable=True,
        details={"reason": TIME_BUDGET},
    )


def _too_few(ctx: StepContext, manifest: Manifest) -> StepFailed:
    """The step's failure, with its evidence kept apart. Lost evidence must not hide what went wrong."""
    cause = _cause(manifest)
    try:
        evidence = ctx.keep(chart_evidence(ctx.step.attempt), Artifact.json(manifest.as_json()))
    except StepFailed as lost:
        ctx.log.warning("chart_evidence_lost", code=lost.error.code, reason=lost.error.message)
        evidence = None
    count = f"{len(manifest.items)} of {len(manifest.requested)} charts made, {manifest.min_images} needed"
    return StepFailed(
        Code(cause.code),
        f"{cause.message} ({count})",
        retryable=cause.retryable,
        details=cause.details,
        outputs={"outputsManifestGcsUri": evidence} if evidence else None,
    )


def _cause(manifest: Manifest) -> StepError:
    """The failure that decides: of those that another attempt may mend, if that would be enough; else of the others.

    A chart that was not begun for want of time only suffers from what took the time.
    """
    errors = [failure.error for failure in manifest.failures]
    mendable = [error for error in errors if error.retryable]
    may_succeed = len(manifest.items) + len(mendable) >= manifest.min_images
    deciding: Sequence[StepError] = [error for error in errors if error.retryable == may_succeed]
    return next((error for error in deciding if (error.details or {}).get("reason") != TIME_BUDGET), deciding[0])
