"""Charts: what a template asks for, who can draw it, and the manifest that tells the next step what was drawn.

The manifest is the contract between two workers that never meet: CHART_EXPORT writes it, LLM_REPORT reads it. Its field
names have been misspelled by one side before, so both sides use this file and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from flowcore.domain.errors import Code, StepError, ValidationError, may_retry
from flowcore.domain.model import NO_VALUES
from flowcore.domain.times import from_value, to_text

SCHEMA_VERSION = 1
SYMBOL_PLACE = "{symbol}"

_SYMBOL_TEMPLATE = re.compile(r"[^\s/\\]*\{symbol\}[^\s/\\]*")


# --- what is drawn, and by whom ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChartTemplate:
    """One picture that operators have described: `request` is in the words of Chart-IMG, whoever draws it."""

    template_id: str
    description: str
    symbol_template: str
    request: Mapping[str, object]

    @classmethod
    def read(cls, template_id: str, fields: Mapping[str, object]) -> ChartTemplate:
        where = f"chart_templates/{template_id}"
        description = fields.get("description")
        symbol_template = fields.get("chartImgSymbolTemplate")
        request = fields.get("request")
        if not isinstance(description, str) or not description.strip():
            raise _unusable(f"{where}.description must be a text")
        if not isinstance(symbol_template, str) or not _SYMBOL_TEMPLATE.fullmatch(symbol_template):
            raise _unusable(f"{where}.chartImgSymbolTemplate must contain {SYMBOL_PLACE}, and neither space nor slash")
        if not isinstance(request, Mapping):
            raise _unusable(f"{where}.request must be a map")
        return cls(template_id, description.strip(), symbol_template, request)


@dataclass(frozen=True, slots=True)
class Chart:
    """One picture to be drawn."""

    template: ChartTemplate
    symbol: str
    timeframe: str
    timezone: str

    @property
    def market_symbol(self) -> str:
        """The symbol as markets spell it, `BINANCE:BTCUSDT`."""
        return self.template.symbol_template.replace(SYMBOL_PLACE, self.symbol)


class Renderer(Protocol):
    def render(self, chart: Chart) -> bytes:
        """A PNG, or a `StepFailed` that says why there is none."""


class ChartService(Protocol):
    """Somebody who draws charts, a few a day for each account."""

    def draw(self, account: str, chart: Chart, timeout: float) -> bytes:
        """A PNG. `QuotaUsedUp` when the account gets no more for now."""


class QuotaUsedUp(Exception):
    """An account gets no more charts, for as long as the service said, or else until its next day."""

    def __init__(self, retry_after: float | None) -> None:
        super().__init__(retry_after)
        self.retry_after = retry_after


# --- the manifest -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ChartItem:
    chart_template_id: str
    kind: str
    generated_at: datetime
    png_gcs_uri: str


@dataclass(frozen=True, slots=True)
class ChartFailure:
    chart_template_id: str
    error: StepError


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was asked for, in that order, and what became of it."""

    run_id: str
    step_id: str
    created_at: datetime
    symbol: str
    timeframe: str
    min_images: int
    requested: tuple[str, ...]
    items: tuple[ChartItem, ...]
    failures: tuple[ChartFailure, ...]

    def as_json(self) -> dict[str, object]:
        return {
            "schemaVersion": SCHEMA_VERSION,
            "runId": self.run_id,
            "stepId": self.step_id,
            "createdAt": to_text(self.created_at),
            "symbol": self.symbol,
            "timeframe": self.timeframe,
            "minImages": self.min_images,
            "requested": [{"chartTemplateId": template_id} for template_id in self.requested],
            "items": [_item_as_json(item) for item in self.items],
            "failures": [_failure_as_json(failure) for failure in self.failures],
        }


def read_manifest(content: bytes) -> Manifest:
    """A `ValueError` says what is wrong with the file. Fields that a newer writer added are passed over."""
    try:
        file = json.loads(content)
        if _whole(file["schemaVersion"]) < 1:
            raise ValueError("schemaVersion starts at 1")
        return Manifest(
            run_id=_text(file["runId"]),
            step_id=_text(file["stepId"]),
            created_at=_moment(file["createdAt"]),
            symbol=_text(file["symbol"]),
            timeframe=_text(file["timeframe"]),
            min_images=_whole(file["minImages"]),
            requested=tuple(_text(request["chartTemplateId"]) for request in file["requested"]),
            items=tuple(_read_item(item) for item in file["items"]),
            failures=tuple(_read_failure(failure) for failure in file["failures"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no manifest of charts ({type(error).__name__})") from error


def _item_as_json(item: ChartItem) -> dict[str, object]:
    return {
        "chartTemplateId": item.chart_template_id,
        "kind": item.kind,
        "generatedAt": to_text(item.generated_at),
        "png_gcs_uri": item.png_gcs_uri,
    }


def _failure_as_json(failure: ChartFailure) -> dict[str, object]:
    error: dict[str, object] = {"code": str(failure.error.code), "message": failure.error.message}
    if failure.error.details:
        error["details"] = dict(failure.error.details)
    return {"request": {"chartTemplateId": failure.chart_template_id}, "error": error}


def _read_item(item: Mapping[str, object]) -> ChartItem:
    return ChartItem(
        chart_template_id=_text(item["chartTemplateId"]),
        kind=_text(item["kind"]),
        generated_at=_moment(item["generatedAt"]),
        png_gcs_uri=_text(item["png_gcs_uri"]),
    )


def _read_failure(failure: Mapping[str, Mapping[str, object]]) -> ChartFailure:
    error = failure["error"]
    code, details = _text(error["code"]), error.get("details", NO_VALUES)
    if not isinstance(details, Mapping):
        raise TypeError("details are a map")
    known = StepError(code, _text(error["message"]), may_retry(code, None), details or None)
    return ChartFailure(_text(failure["request"]["chartTemplateId"]), known)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError("a text is missing")
    return value


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError("a number is missing")
    return value


def _moment(value: object) -> datetime:
    moment = from_value(value)
    if moment is None:
        raise TypeError("a time is missing")
    return moment


def _unusable(message: str) -> ValidationError:
    return ValidationError(
        Code.INVALID_STEP_INPUTS, f"{message}; correct the template", details={"reason": "template_invalid"}
    )
