"""Whether a path was taken at all: a secret that nobody ever held cannot leak, and its absence means nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowcore.testing.builders import RUN_ID
from tests.chaos.leaks.canaries import CHART_KEYS, OUTPUT, PROMPT, SYSTEM
from tests.chaos.leaks.failures import Path
from tests.chaos.leaks.house import House
from tests.chaos.transitions import FINISHED


def missed(house: House, path: Path, after: dict[str, Any]) -> Iterator[str]:
    """What the path was to come by, and did not. (The model's key is not asked for: the platform answers no other.)"""
    if not house.settled or after.get("status") not in FINISHED:
        yield f"it is {after.get('status')}, and somebody may still have something to say"
    if not any(f'"run_id": "{RUN_ID}"' in line for line in house.said()):
        yield "nobody has said a word about it"
    if house.fault and not house.fault.fired:
        yield "its fault never struck"
    if len(house.asked) < path.answers:
        yield f"the model was asked {len(house.asked)} times, and not {path.answers}"
    for prompt in house.asked:
        if SYSTEM not in prompt.system or PROMPT not in prompt.text or path.sends not in prompt.text:
            yield "what is secret did not reach the model"
    if path.ends and (end := _end(after)) != path.ends:
        yield f"it ended as {end}, and not as {path.ends}"
    if house.asked and after.get("status") == "SUCCEEDED" and not any(OUTPUT in text for text in house.reports()):
        yield "the model's words are in no report"
    if path.draws and not any(house.platform.chart_img.quotas.used(key) for key in CHART_KEYS.values()):
        yield "no key reached the painter of charts"


def _end(after: dict[str, Any]) -> object:
    codes = [step["error"]["code"] for step in after.get("steps", {}).values() if "error" in step]
    return codes[0] if codes else after.get("status")
