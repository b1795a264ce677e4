"""What a step reads of others, spoiled: candles, manifests, images, reports, prompts, schemas, templates, answers.

The run itself is in order, so every case gets as far as the step that reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from flowcore.contracts.model import Answer, Question
from flowcore.domain.artifacts import main_object, ownership
from flowcore.testing.builders import REPORT, RUN_ID, parsed
from tests.chaos.inputs import healthy, sources
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.stage import GOOD_ANSWER, SKETCH, Stage
from tests.chaos.inputs.stocked import JSON, a_map, prepared

Run = dict[str, Any]


@dataclass(frozen=True)
class Prepared:
    """A stage with something odd on it, and the run that will meet it."""

    stage: Stage
    run: Run

    @property
    def odd(self) -> bool:
        return bool(self.run not in healthy.RUNS and not _from_a_file(self.run)) or any(self._spoiled())

    def _spoiled(self) -> Iterator[str]:
        if self.stage.answer is not Stage.answer:
            yield "the model's answer"
        sound, good = Stage(), {*sources.SOUND}
        prepared(sound)
        good |= {content for _, content in sound.artifacts.objects.values()}
        for name, (_, content) in self.stage.artifacts.objects.items():
            if content not in good:
                yield f"{name}: {content!r:.400}"
        for path, fields in self.stage.shelf.fields.items():
            if fields != sound.shelf.fields[path]:
                yield f"{path}: {fields!r:.400}"

    def __str__(self) -> str:
        return f"{self.run!r:.1000} with {'; '.join(self._spoiled())}"


def strange_material(hostile: Hostile) -> Prepared:
    stage = Stage()
    make = hostile.chance.weighted(_KINDS)
    return Prepared(stage, make(hostile, stage))


def _from_a_file(run: Run) -> bool:
    return any(run == healthy.only_the_candles(name) for name in sources.FILES)


# --- what the report reads ---


def _candles(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage, candles=hostile.json_bytes(hostile.spoiled(healthy.candle_file(5), value=hostile.json_value)))
    return healthy.only_the_report()


def _manifest(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage, manifest=hostile.json_bytes(hostile.spoiled(healthy.manifest_file(), value=hostile.json_value)))
    return healthy.only_the_report()


def _image(hostile: Hostile, stage: Stage) -> Run:
    odd = hostile.one((b"", b"GIF89a", SKETCH[:4], SKETCH + b"x" * 262_144, SKETCH + hostile.chance.randbytes(100)))
    prepared(stage, image=odd)
    return healthy.only_the_report()


def _earlier(hostile: Hostile, stage: Stage) -> Run:
    deep = hostile.one((10, 900, 940, 950, 955, 960, 965, 970, 975, 980, 985, 990))
    made = hostile.json_bytes(hostile.spoiled(healthy.earlier_report(), value=hostile.json_value))
    prepared(
        stage, earlier=made if hostile.likely(0.8) else b'{"output":' + b'{"a":' * deep + b"1" + b"}" * deep + b"}"
    )
    return healthy.only_the_report()


def _prompt(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage)
    stage.shelf.fields[healthy.PROMPT_PATH] = a_map(hostile.spoiled(healthy.PROMPT_FIELDS))
    return healthy.only_the_report()


def _schema(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage)
    times = hostile.chance.randrange(1, 4)
    odd = hostile.spoiled(
        healthy.SCHEMA_FIELDS,
        times,
        value=lambda: hostile.one(_SCHEMA_PARTS) if hostile.likely(0.6) else hostile.value(),
    )
    stage.shelf.fields[healthy.SCHEMA_PATH] = a_map(odd)
    if hostile.likely(0.5):
        stage.answer = _saying(hostile.json_bytes(hostile.json_value()).decode("utf-8", "replace"))
    return healthy.only_the_report()


# What JSON Schema knows, and what has been written into such places.
_SCHEMA_PARTS: Final[tuple[Any, ...]] = (
    *({"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "https://example.com/x"}, {"$ref": "#/properties/summary"}),
    *(
        {"type": "string", "pattern": "["},
        {"type": "string", "pattern": "(a+)+$"},
        {"type": "number", "multipleOf": 0.1},
    ),
    *({"type": "number", "multipleOf": 1e-320}, {"multipleOf": 0}, {"minLength": -1}, {"minimum": float("nan")}),
    *({"enum": []}, {"enum": [1, "a", None]}, {"const": {"a": 1}}, {"required": "summary"}, {"required": [1]}),
    *(
        {"type": ["object", "null"]},
        {"type": "nonsense"},
        {"anyOf": []},
        {"anyOf": [{"type": "object"}]},
        {"oneOf": [{}, {}]},
    ),
    *({"items": {"type": "array", "items": {}}}, {"items": [{}]}, {"prefixItems": [{"type": "string"}]}, {"not": {}}),
    *(
        {"additionalProperties": False},
        {"patternProperties": {"(": {}}},
        {"format": "date-time"},
        {"$id": "x"},
        True,
        False,
    ),
    *(
        {"properties": {"a": {"properties": {"b": {"properties": {"c": {"properties": {"d": {}}}}}}}}},
        {"uniqueItems": True},
    ),
    *(
        {"$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$schema": "http://json-schema.org/draft-04/schema#"},
        {"$anchor": "x"},
    ),
    *(
        {"$ref": "#/$defs/%"},
        {"$ref": "#/required/0"},
        {"$ref": "#/required/99999999999999999999"},
        {"maxItems": 1e308},
    ),
)


def _profile(hostile: Hostile, stage: Stage) -> Run:
    prepared(stage)
    run = healthy.only_the_report()
    step = run["steps"][REPORT]
    step["inputs"] = a_map(hostile.spoiled(step["inputs"]))
    return run


def _answer(hostile: Hostile, stage: Stage) -> Run:
    """The model says something else, more than once."""
    prepared(stage)
    good = json.loads(GOOD_ANSWER)
    deep = hostile.one((5, 900, 940, 950, 960, 970, 975, 980, 985, 990, 5000))
    texts = [
        hostile.json_bytes(hostile.spoiled(good, value=hostile.json_value)).decode("utf-8", "replace")
        if hostile.likely(0.7)
        else hostile.one(
            (None, "", hostile.text(), f'{{"summary":{{"markdown":"x"}},"details":{"[" * deep}{"]" * deep}}}')
        )
        for _ in range(2)
    ]
    finish = hostile.one(("STOP", "MAX_TOKENS", "SAFETY", "OTHER", "RECITATION", None))
    blocked = hostile.text() or None if hostile.likely(0.05) else None
    usage = {hostile.key(): hostile.json_value() for _ in range(hostile.chance.randrange(4))}
    said = Answer(None, finish, blocked, usage, hostile.text() or None, hostile.text() or None)
    stage.answer = _in_turn(*(replace(said, text=text) for text in texts))
    return healthy.only_the_report()


# --- what is there already ---


def _left_behind(hostile: Hostile, stage: Stage) -> Run:
    """The step's object exists, with a label that somebody else has written on."""
    prepared(stage)
    run = healthy.only_the_report()
    step = parsed(run).steps[REPORT]
    labels = ownership(RUN_ID, step) if hostile.likely(0.8) else {"run": hostile.text(), "step": REPORT}
    for name in ("outputs", "execution", "sha256", "more"):
        if hostile.likely(0.7):
            labels[name] = hostile.json_bytes(hostile.json_value(5)).decode("utf-8", "replace")
    stage.artifacts.create(main_object(RUN_ID, step), b"{}", JSON, labels)
    return run


_KINDS: dict[Callable[[Hostile, Stage], Run], float] = {
    _candles: 12,
    _manifest: 10,
    _image: 2,
    _earlier: 9,
    _prompt: 4,
    _schema: 14,
    _profile: 12,
    _answer: 14,
    sources.drawn_candles: 1.5,
    sources.template: 5,
    sources.chart_inputs: 7,
    sources.candle_inputs: 8,
    sources.rows: 6,
    sources.columns: 4,
    _left_behind: 5,
}


def _saying(text: str) -> Callable[[Question], Answer]:
    return lambda question: Answer(text, "STOP")


def _in_turn(*answers: Answer) -> Callable[[Question], Answer]:
    left = list(answers)
    return lambda question: left.pop(0) if len(left) > 1 else left[0]
