"""What the report is written from: candles, charts and earlier reports, read and checked before anything is paid.

All of it was written by others, so it is bounded in size: a function has little memory, and a model's time is paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from flowcore.contracts.candles import CandleFile, newest_candles
from flowcore.contracts.charts import read_manifest
from flowcore.contracts.model import Picture
from flowcore.contracts.reports import read_output
from flowcore.domain.artifacts import canonical_json
from flowcore.domain.errors import Code, ValidationError
from flowcore.engine.context import StepContext
from functions.worker_llm_report.excerpt import MOST_CANDLES, Excerpt, newest
from functions.worker_llm_report.inputs import Inputs

MOST_REPORT_BYTES = 65_536
MOST_IMAGE_BYTES = 262_144
_PNG = b"\x89PNG\r\n\x1a\n"

# The bytes of an object, by what is known of it without reading it; within so many seconds.
SizeOf = Callable[[str, float], int]


@dataclass(frozen=True, slots=True)
class ChartImage:
    label: str
    picture: Picture


@dataclass(frozen=True, slots=True)
class EarlierReport:
    """`origin`: the step that wrote it, or `external`."""

    origin: str
    uri: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Material:
    symbol: str
    timeframe: str
    candles_uri: str
    candles: Excerpt
    manifest_uri: str
    charts: tuple[ChartImage, ...]
    reports: tuple[EarlierReport, ...]

    def sources(self) -> dict[str, object]:
        """As the report tells it."""
        told: dict[str, object] = {
            "ohlcv_gcs_uri": self.candles_uri,
            "candles": {"sent": self.candles.sent, "total": self.candles.total},
            "charts_outputsManifestGcsUri": self.manifest_uri,
            "images": len(self.charts),
        }
        return told | ({"report_gcs_uris": [report.uri for report in self.reports]} if self.reports else {})


def gather(ctx: StepContext, inputs: Inputs, size_of: SizeOf) -> Material:
    return _Reader(ctx, size_of).gathered(inputs)


@dataclass(frozen=True, slots=True)
class _Reader:
    ctx: StepContext
    size_of: SizeOf

    def gathered(self, inputs: Inputs) -> Material:
        # What the document says is looked at first: a wrong name costs no read.
        candles_uri = self.ctx.uri_of(inputs.ohlcv_step_id, "ohlcvStepId")
        manifest_uri = self._manifest_uri(inputs.charts_manifest_step_id)
        reports = self._report_uris(inputs)
        file = self._candles(candles_uri)
        scope = self.ctx.scope.get("symbol")
        return Material(
            symbol=scope if isinstance(scope, str) and scope else file.symbol,
            timeframe=str(self.ctx.step.timeframe),
            candles_uri=candles_uri,
            candles=replace(newest(file.candles), total=file.total),
            manifest_uri=manifest_uri,
            charts=self._charts(manifest_uri),
            reports=tuple(self._report(origin, uri, place) for origin, uri, place in reports),
        )

    # --- where it lies ---

    def _manifest_uri(self, step_id: str) -> str:
        """Older chart steps have the pointer to their manifest alone."""
        other = self.ctx.run.steps.get(step_id)
        alone = other is not None and other.gcs_uri is None and "outputsManifestGcsUri" in other.outputs
        return self.ctx.uri_of(step_id, "chartsManifestStepId", "outputsManifestGcsUri" if alone else "gcs_uri")

    def _report_uris(self, inputs: Inputs) -> list[tuple[str, str, str]]:
        """Origin, URI and the input that names it."""
        found = []
        for index, step_id in enumerate(inputs.previous_report_step_ids):
            place = f"previousReportStepIds.{index}"
            found.append((step_id, self._report_of(step_id, place), place))
        for index, report in enumerate(inputs.previous_reports):
            place = f"previousReports.{index}"
            if report.gcs_uri is not None:
                found.append(("external", report.gcs_uri, f"{place}.gcs_uri"))
            elif report.step_id is not None:
                found.append((report.step_id, self._report_of(report.step_id, f"{place}.stepId"), f"{place}.stepId"))
        return found

    def _report_of(self, step_id: str, place: str) -> str:
        uri = self.ctx.uri_of(step_id, place)
        if self.ctx.run.steps[step_id].step_type != "LLM_REPORT":
            raise _unusable(place, f"{step_id!r} is a {self.ctx.run.steps[step_id].step_type}, not an LLM_REPORT")
        return uri

    # --- what it says ---

    def _candles(self, uri: str) -> CandleFile:
        try:
            file = newest_candles(self.ctx.read(uri), MOST_CANDLES)
        except ValueError as error:
            raise _unusable("ohlcvStepId", f"{uri}: {error}") from error
        if not file.candles:
            raise _unusable("ohlcvStepId", f"{uri} has no candles", reason="no_rows")
        return file

    def _charts(self, uri: str) -> tuple[ChartImage, ...]:
        try:
            manifest = read_manifest(self.ctx.read(uri))
        except ValueError as error:
            raise _unusable("chartsManifestStepId", f"{uri}: {error}") from error
        if not manifest.items:
            raise _unusable("chartsManifestStepId", f"{uri} lists no images", reason="no_images")
        return tuple(
            ChartImage(f"{item.kind} ({item.chart_template_id})", self._picture(item.png_gcs_uri))
            for item in manifest.items
        )

    def _picture(self, uri: str) -> Picture:
        content = self._bounded(uri, "chartsManifestStepId", MOST_IMAGE_BYTES)
        if not content.startswith(_PNG):
            raise _unusable("chartsManifestStepId", f"{uri} is no PNG")
        return Picture(content)

    def _report(self, origin: str, uri: str, place: str) -> EarlierReport:
        try:
            output = read_output(self._bounded(uri, place, MOST_REPORT_BYTES))
        except ValueError as error:
            raise _unusable(place, f"{uri}: {error}") from error
        return EarlierReport(origin, uri, canonical_json(output).decode())

    def _bounded(self, uri: str, place: str, most: int) -> bytes:
        size = self.ctx.patiently("gcs_read", lambda timeout: self.size_of(uri, timeout))
        _check_size(uri, place, size, most)
        content = self.ctx.read(uri)
        _check_size(uri, place, len(content), most)  # stored compressed, it was smaller
        return content


def _check_size(uri: str, place: str, size: int, most: int) -> None:
    if size > most:
        raise _unusable(place, f"{uri} has {size} bytes, at most {most} are sent", reason="too_large")


def _unusable(place: str, message: str, reason: str = "context_unusable") -> ValidationError:
    return ValidationError(Code.INVALID_STEP_INPUTS, f"inputs.{place}: {message}", details={"reason": reason})
