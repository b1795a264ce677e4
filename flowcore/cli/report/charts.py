"""The pictures of a run, inside the page: found by their manifests, shown at their own size and never larger."""

from __future__ import annotations

import base64
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from flowcore.cli.report import words
from flowcore.cli.report.fields import text_at
from flowcore.cli.report.objects import Missing, Objects, Pointer
from flowcore.contracts.charts import ChartItem, Manifest, read_manifest
from flowcore.domain.model import Step

LARGEST = 4 * 2**20  # bytes; a picture beyond that is linked, so that the page can still be sent around
_HEADER = struct.Struct(">8s4x4sII")  # signature, the first chunk's length and name, and what it begins with
_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True, slots=True)
class Picture:
    source: Markup
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart, or the reason why it is not there."""

    kind: str
    template: str
    alt: str
    pointer: Pointer | None
    picture: Picture | None
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Gallery:
    """The charts of one step; `missing` says why there are none to be seen."""

    step_id: str
    heading: str
    figures: Sequence[Figure]
    missing: str = ""


def gallery(step: Step, objects: Objects) -> Gallery | None:
    """None for a step that has no manifest."""
    uri = text_at(step.outputs, "outputsManifestGcsUri")
    if uri is None:
        return None
    heading = words.timeframe(step.timeframe) or step.step_id
    try:
        manifest = read_manifest(objects.read(uri))
    except (Missing, ValueError) as why:
        return Gallery(step.step_id, heading, (), f"The list of charts cannot be shown: {why}.")
    drawn = [_figure(item, manifest, objects) for item in manifest.items]
    failed = [
        Figure("", failure.chart_template_id, "", None, None, _not_drawn(words.trouble(failure.error)))
        for failure in manifest.failures
    ]
    return Gallery(step.step_id, heading, [*drawn, *failed], "" if drawn or failed else "No chart was asked for.")


def _figure(item: ChartItem, manifest: Manifest, objects: Objects) -> Figure:
    alt = f"Chart of {manifest.symbol}, {words.timeframe(manifest.timeframe)}: {item.kind}"
    pointer = objects.pointer("chart", item.png_gcs_uri)
    try:
        picture, missing = _picture(objects.read(item.png_gcs_uri)), ""
    except Missing as why:
        picture, missing = None, f"The picture cannot be shown: {why}."
    return Figure(item.kind, item.chart_template_id, alt, pointer, picture, missing)


def _picture(content: bytes) -> Picture:
    if len(content) > LARGEST:
        raise Missing("it is too large for this page")
    if len(content) < _HEADER.size:
        raise Missing("it is no PNG")
    signature, chunk, width, height = _HEADER.unpack_from(content)
    if signature != _SIGNATURE or chunk != b"IHDR" or not width or not height:
        raise Missing("it is no PNG")
    encoded = base64.b64encode(content).decode("ascii")
    # Base64 has nothing to escape, and to look through a megabyte of it for each picture would be slow.
    return Picture(Markup(f"data:image/png;base64,{encoded}"), width, height)  # noqa: S704


def _not_drawn(trouble: words.Trouble) -> str:
    return f"Not drawn. {trouble.words} {trouble.message}".strip()
