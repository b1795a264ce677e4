"""What the model said, and the facts about how it came to say it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from flowcore.cli.report import words
from flowcore.cli.report.details import Node, as_tree
from flowcore.cli.report.fields import map_at, text_at, whole_at
from flowcore.cli.report.objects import Missing, Objects
from flowcore.cli.report.prose import as_html
from flowcore.contracts.reports import read_output
from flowcore.domain.model import Step

HEADING_LEVEL = 3  # the report's own heading; those in its text are below it
_TOKENS = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")


@dataclass(frozen=True, slots=True)
class Saying:
    """One report, or the reason why there is nothing to read."""

    step_id: str
    heading: str
    summary: Markup | None
    details: Node | None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    step_id: str
    model: str
    finish_reason: str
    tokens: Sequence[str]
    calls: str


def saying(step: Step, rests_on: int, objects: Objects) -> Saying:
    """`rests_on`: how many other reports it was made from."""
    heading = _heading(step, rests_on)
    if step.gcs_uri is None:
        word = words.badge(step.status).word.lower()
        return Saying(step.step_id, heading, None, None, f"There is no report: its step is {word}.")
    try:
        output = read_output(objects.read(step.gcs_uri))
    except (Missing, ValueError) as why:
        return Saying(step.step_id, heading, None, None, f"The report cannot be shown: {why}.")
    markdown = text_at(output, "summary", "markdown")
    details = output.get("details")
    return Saying(
        step.step_id,
        heading,
        as_html(markdown, headings_below=HEADING_LEVEL) if markdown else None,
        as_tree(details) if details else None,
        "" if markdown else "The report has no summary.",
    )


def model_facts(step: Step) -> ModelFacts | None:
    """None when no model has answered yet."""
    told = map_at(step.outputs, "execution", "llm")
    if not told:
        return None
    profile = map_at(step.inputs, "llm", "llmProfile")
    usage = map_at(told, "usageMetadata")
    return ModelFacts(
        step.step_id,
        text_at(told, "modelVersion") or text_at(profile, "modelName") or text_at(profile, "model") or "–",
        text_at(told, "finishReason") or "–",
        [_count(usage, kind) for kind in _TOKENS],
        _count(told, "attempts", "total"),
    )


def _heading(step: Step, rests_on: int) -> str:
    if rests_on:
        return f"Conclusion from {words.counted(rests_on, 'report', 'reports')}"
    return f"{words.timeframe(step.timeframe)} report" if step.timeframe else step.step_id


def _count(fields: Mapping[str, object], *path: str) -> str:
    count = whole_at(fields, *path)
    return "–" if count is None else words.number(count)
