"""What a step says: which prompt and model, and whose results to write about."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from flowcore.inputs import StepInputs


class Llm(StepInputs):
    prompt_id: str
    # Read by `profile`, whose mistakes have a code of their own.
    llm_profile: Any = None


class PreviousReport(StepInputs):
    """A report by step or by URI; the URI counts if both are there."""

    step_id: str | None = Field(None, min_length=1)
    gcs_uri: str | None = Field(None, min_length=1, alias="gcs_uri")

    @model_validator(mode="after")
    def _names_something(self) -> PreviousReport:
        if self.step_id is None and self.gcs_uri is None:
            raise ValueError("needs a stepId or a gcs_uri")
        return self


class Inputs(StepInputs):
    llm: Llm
    ohlcv_step_id: str
    charts_manifest_step_id: str
    previous_report_step_ids: list[str] = Field(default_factory=list)
    previous_reports: list[PreviousReport] = Field(default_factory=list)
