"""Run documents that a stranger might write: spoiled, mixed up, huge, deep, or nothing of the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from emulator.firestore import limits
from flowcore.domain.model import MAX_DOCUMENT_BYTES
from flowcore.domain.parse import size_of
from flowcore.testing.builders import RUN_ID, a_run, a_step
from tests.chaos.inputs import healthy
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.twin import COLLECTION, DOCUMENTS, encoded

STATUSES: Final = ("PENDING", "READY", "RUNNING", "SUCCEEDED", "FAILED", "SKIPPED", "CANCELLED")
RUN_STATUSES: Final = ("PENDING", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED")
TYPES: Final = ("OHLCV_EXPORT", "CHART_EXPORT", "LLM_REPORT", "HEATMAP", "llm_report", " ")
ODD_IDS: Final = (
    "a" * 129,
    "x y",
    "-x",
    "é",
    "a.b",
    "..x",
    "x*",
    "%2e",
    "a\nb",
    "名前",
    "__x",
    "x\x7f",
    "~",
    "a" * 1400,
)
# Of steps; nothing speaks against any of them, so each becomes part of an object's name.
ODD_NAMES: Final = (
    *("x y", "é", "名前", "😀" * 128, "e\u0301", "ß" * 100, "a" * 128, "-rf", "$(id)", "a\\b", "a?b", "a#b", "a%2fb"),
    *("%2e%2e%2f", "a:b", "a|b", "a;b", "a,b", "a'b", 'a"b', "<b>", "{symbol}", "${symbol}", "{{7*7}}", "__x", "0"),
    *("null", "gs:", "a&b=c", "@", "+", "=1+1", "manifest", "status", "CON"),
)


@dataclass(frozen=True, slots=True)
class Strange:
    """`events`: whether anybody tells of it; else it is all up to sweep."""

    run_id: str
    document: dict[str, Any]
    events: bool

    @property
    def odd(self) -> bool:
        return self.run_id != RUN_ID or self.document not in healthy.RUNS


def strange(hostile: Hostile) -> Strange:
    """One document; which kind is the seed's choice."""
    make = hostile.chance.weighted(_KINDS)
    document = make(hostile)
    run_id = hostile.one(ODD_IDS) if hostile.likely(0.04) else RUN_ID
    if run_id != RUN_ID and hostile.likely(0.5) and "runId" in document:
        document = {**document, "runId": run_id}
    return Strange(run_id, document, "status" not in document or hostile.likely(0.9))


def _spoiled(hostile: Hostile) -> dict[str, Any]:
    found: dict[str, Any] = _a_map(hostile.spoiled(healthy.a_market_run(hostile.one(RUN_STATUSES[:2]))))
    return found


def _spoiled_in_the_middle(hostile: Hostile) -> dict[str, Any]:
    run = hostile.one((healthy.only_the_report, healthy.only_the_charts))()
    return _a_map(hostile.spoiled(run, hostile.chance.randrange(1, 3)))


def _mixed_states(hostile: Hostile) -> dict[str, Any]:
    """Any status beside any other, any graph, and then something odd in each step's own book-keeping."""
    names = [
        hostile.one(("a", "b", "c d", "é", "0", "A", hostile.text())) for _ in range(hostile.chance.randrange(1, 6))
    ]
    steps = {}
    for name in filter(None, names):
        needs = [hostile.one(names) for _ in range(hostile.chance.randrange(3))]
        step = a_step(hostile.one(TYPES), hostile.one(STATUSES), needs, timeframe=hostile.one(("1M", "1d", "", "a/b")))
        odd = {field: hostile.value(1) for field in hostile.some(_BOOKS)}
        steps[_key(name)] = {**step, **odd}
    fields = {"cancelRequested": hostile.one((True, False, "yes", None))} if hostile.likely(0.2) else {}
    return {**a_run(hostile.one(RUN_STATUSES), steps=steps), **fields}


_BOOKS = (
    *("optional", "inputs", "outputs", "retry", "attempt", "failures", "leaseLosses", "nudges", "lease", "error"),
    *("readyAt", "notBefore", "startedAt", "finishedAt", "attempts", "dependsOn"),
)


def hostile_ids(hostile: Hostile) -> dict[str, Any]:
    """Under its new name a step is still needed by whoever needed it: so the name gets as far as it can."""
    run = hostile.one((healthy.a_market_run, healthy.only_the_report, healthy.only_the_charts))()
    names = {name: _new_name(hostile) if hostile.likely(0.8) else name for name in run["steps"]}
    renamed: dict[str, Any] = {**run, "steps": _renamed(run["steps"], names)}
    return renamed


def _new_name(hostile: Hostile) -> str:
    return hostile.one(ODD_NAMES) if hostile.likely(0.8) else _key(hostile.text())


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """With the new name wherever an old one stands."""
    if isinstance(value, Mapping):
        return {names.get(key, key): _renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return names.get(value, value) if isinstance(value, str) else value


def _noise(hostile: Hostile) -> dict[str, Any]:
    document = {hostile.key(): hostile.value() for _ in range(hostile.chance.randrange(8))}
    for field in ("runId", "status", "steps", "scope", "wakeAt", "error", "cancelRequested"):
        if hostile.likely(0.5):
            document[field] = hostile.value()
    return document


def _huge(hostile: Hostile) -> dict[str, Any]:
    """From our own limit to just under Firestore's."""
    size = hostile.one((150_000, 195_000, 201_000, 260_000, 600_000, 1_000_000, 1_040_000))
    run = healthy.a_market_run()
    place = hostile.one(("note", "scope", "inputs", "keys", "to the byte"))
    match place:
        case "to the byte":
            return {**run, "note": "x" * (MAX_DOCUMENT_BYTES - size_of({**run, "note": ""}) + hostile.one((0, 1, -30)))}
        case "note":
            return {**run, "note": "é" * (size // 2)}
        case "scope":
            return {**run, "scope": {"symbol": "x" * size}}
        case "keys":
            return {**run, "extra": {f"key-{number}": number for number in range(size // 20)}}
    step = next(iter(run["steps"].values()))
    step["inputs"] = {**step["inputs"], "more": ["x" * 1000] * (size // 1001)}
    return run


def brim_full(run: dict[str, Any], left: int) -> dict[str, Any]:
    """The run in a document in which Firestore has room for so many bytes and no more."""
    room = limits.MAX_DOCUMENT_BYTES - limits.document_size(encoded(f"{DOCUMENTS}/{COLLECTION}/{RUN_ID}", run))
    return {**run, "note": "x" * (room - len("note") - 2 - left)}


def _brim_full(hostile: Hostile) -> dict[str, Any]:
    """Whatever is to be recorded in it, there may be no room for it."""
    run = hostile.one((healthy.a_market_run, healthy.only_the_report, healthy.only_the_charts))()
    return brim_full(run, hostile.chance.randrange(1200))


def _many_steps(hostile: Hostile) -> dict[str, Any]:
    count = hostile.one((190, 200, 201, 230, 400))
    kind = hostile.one(("HEATMAP", "HEATMAP", " "))
    steps = {
        f"s{number}": a_step(kind, depends_on=[f"s{number - 1}"] if number and hostile.likely(0.5) else [])
        for number in range(count)
    }
    return a_run("PENDING", steps=steps)


def _deep(hostile: Hostile) -> dict[str, Any]:
    """As deep as Firestore lets it be, in every place that flowcore copies from or to."""
    run = healthy.a_market_run()
    name = hostile.one(sorted(run["steps"]))
    step = run["steps"][name]
    field = hostile.one(("inputs", "outputs", "error", "lease", "attempts", "retry", "extra", "scope"))
    deep = hostile.nested(hostile.chance.randrange(10, 18))
    if field == "scope":
        return {**run, "scope": {"symbol": "BTCUSDT", "deep": deep}}
    step[field] = [deep] if field == "attempts" else deep
    if field in ("outputs", "attempts") and hostile.likely(0.7):  # so that it is moved once more
        failing = {"code": "GCS_READ_FAILED", "message": "not now", "retryable": True}
        run["status"], step["status"], step["error"], step["attempt"] = "RUNNING", "FAILED", failing, 1
    return run


_KINDS: dict[Callable[[Hostile], dict[str, Any]], float] = {
    _spoiled: 30,
    _spoiled_in_the_middle: 15,
    _mixed_states: 28,
    hostile_ids: 10,
    _noise: 12,
    _deep: 7,
    _huge: 1,
    _brim_full: 1,
    _many_steps: 0.3,
}


def _key(text: str) -> str:
    return text if text and not (text.startswith("__") and text.endswith("__")) else f"k{text}"


def _a_map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"steps": value}
