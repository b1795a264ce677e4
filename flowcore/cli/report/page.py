"""From a run document to the page: what is read where, and what stands in which order."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from flowcore.cli.report import words
from flowcore.cli.report.charts import Gallery, gallery
from flowcore.cli.report.fields import map_at, text_at, whole_at
from flowcore.cli.report.objects import Linked, Objects, Pointer, Read
from flowcore.cli.report.order import along_the_graph, conclusions_first
from flowcore.cli.report.reports import model_facts, saying
from flowcore.cli.report.timeline import Lane, timeline
from flowcore.domain.errors import Code, StepError
from flowcore.domain.model import Run, Snapshot, Step, StepStatus
from flowcore.domain.parse import parse_run
from flowcore.domain.times import from_value

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Row:
    """One step in the table. `earlier` are attempts that did not succeed."""

    number: int
    lane: Lane
    badge: words.Badge
    reused: bool
    trouble: words.Trouble | None
    earlier: Sequence[tuple[str, words.Trouble]]
    pointers: Sequence[Pointer]

    @property
    def step(self) -> Step:
        return self.lane.step


@dataclass(frozen=True, slots=True)
class Header:
    title: str
    flow: str
    badge: words.Badge
    facts: Sequence[tuple[str, str]]
    origins: Sequence[tuple[str, str]]


def render(
    run: Mapping[str, object],
    read: Read,
    *,
    now: datetime,
    run_id: str | None = None,
    link: Linked = lambda _: None,
    provenance: str | None = None,
    stand_in: bool = False,
) -> str:
    """The page. It never fails for what a document or an object holds.

    `read` gives the bytes of a `gs://` URI; a `StepFailed`, `OSError` or `LookupError` of it is a gap on the page.
    `run_id` is the document's id, for old documents that do not name it. `link` says where an object can be opened.
    `provenance` tells where the candles come from, `stand_in` that no real model has written the reports.
    """
    named = run_id or text_at(run, "runId") or ""
    parsed = parse_run(Snapshot(named, run, now))
    objects = Objects(read, link)
    ordered = along_the_graph(parsed.steps)
    until = parsed.finished_at if parsed.status.finished and parsed.finished_at else now
    times = timeline(ordered, from_value(run.get("createdAt")), until)
    galleries = [found for step in ordered if (found := gallery(step, objects))]
    sayings = [saying(step, rests_on, objects) for step, rests_on in conclusions_first(ordered, parsed.steps)]
    page = _template().render(
        style=_style(),
        policy=_policy(_style()),
        header=_header(run, parsed, now, provenance=provenance, stand_in=stand_in),
        troubles=_troubles(parsed),
        under_way="" if parsed.status.finished else words.moment(now),
        # What can be read comes first; a report that is not there yet is mentioned after it.
        sayings=sorted(sayings, key=lambda each: bool(each.missing)),
        galleries=galleries,
        timeline=times,
        rows=[_row(number, lane, objects, galleries) for number, lane in enumerate(times.lanes, 1)],
        models=[facts for step in ordered if (facts := model_facts(step))],
        made=words.moment(now),
        words=words,
    )
    return words.printable(page)


def _header(
    document: Mapping[str, object], run: Run, now: datetime, *, provenance: str | None, stand_in: bool
) -> Header:
    began = from_value(document.get("createdAt"))
    ended = run.finished_at if run.status.finished else now
    facts = [("Run", run.run_id or "–"), ("Started", words.moment(began) if began else "–")]
    if began and ended:
        facts.append(("Took" if run.status.finished else "Running for", words.duration(ended - began)))
    done = len(run.in_status(StepStatus.SUCCEEDED))
    facts.append(("Steps", f"{done} of {len(run.steps)} succeeded"))
    if source := text_at(document, "trigger", "source"):
        facts.append(("Started by", source))
    flow = text_at(document, "flowKey") or "a flow without a name"
    return Header(
        text_at(run.scope, "symbol") or flow,
        flow,
        words.badge(run.status),
        facts,
        _origins(run, provenance, stand_in=stand_in),
    )


def _origins(run: Run, provenance: str | None, *, stand_in: bool) -> list[tuple[str, str]]:
    """Where the numbers and the words come from: a reader must not take an exercise for the market."""
    candles = []
    for step in run.steps.values():
        facts = map_at(step.outputs, "candles")
        if (count := whole_at(facts, "count")) is not None:
            first, last = ((text_at(facts, end) or "?")[:10] for end in ("first", "last"))
            candles.append(f"{words.number(count)} of {step.timeframe or step.step_id}, {first} to {last}")
    origins = [("Numbers", provenance or "where they come from is not recorded")]
    if candles:
        origins.append(("Candles", "; ".join(candles)))
    if stand_in:
        origins.append(("Analyst", "the local stand-in for Gemini; no model was asked"))
    return origins


def _troubles(run: Run) -> list[tuple[str, words.Trouble]]:
    """What went wrong, the reason of the run first. Steps that were only skipped for it are in the table."""
    of_run = run.error or (StepError(Code.FLOW_RUN_INVALID, str(run.defect)) if run.defect else None)
    found = [("", words.trouble(of_run))] if of_run else []
    return found + [
        (step.step_id, words.trouble(step.error))
        for step in sorted(run.in_status(StepStatus.FAILED), key=lambda step: step.optional)
        if step.error
    ]


def _row(number: int, lane: Lane, objects: Objects, galleries: Sequence[Gallery]) -> Row:
    step = lane.step
    figures = [figure for each in galleries if each.step_id == step.step_id for figure in each.figures]
    return Row(
        number,
        lane,
        words.badge(step.status),
        map_at(step.outputs, "execution").get("reused") is True,
        words.trouble(step.error) if step.error else None,
        [(str(entry.get("attempt", "?")), _earlier(entry)) for entry in step.attempts],
        [*objects.of(step), *(figure.pointer for figure in figures if figure.pointer)],
    )


def _earlier(entry: Mapping[str, object]) -> words.Trouble:
    code = text_at(entry, "error", "code") or str(Code.INTERNAL)
    return words.trouble(StepError(code, text_at(entry, "error", "message") or ""))


@cache
def _template() -> Template:
    rooms = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return rooms.get_template("page.html.j2")


@cache
def _style() -> Markup:
    return Markup((_HERE / "page.css").read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _policy(style: str) -> str:
    """Nothing may be loaded or run, and only this very style sheet is obeyed."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
