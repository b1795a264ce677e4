"""Every way in which a report or a chart can go wrong, and a few in which it goes well: a name and what to arrange."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from emulator.faults import SHAPES, Fault, delay, drop, drop_after, refuse, shape, status
from tests.chaos.inputs import healthy
from tests.chaos.leaks.canaries import NOTE, OUTPUT, PROMPT, QUOTING, SYSTEM
from tests.chaos.leaks.house import House

GOOD: Final = {"summary": {"markdown": f"# {OUTPUT}"}, "details": {}}
# Not JSON, the wrong shape, the canary as the name of a property, as its value, in a fence, cut off.
_BAD_INPUTS, _BAD_OUTPUT, _NO_PROMPT = "INVALID_STEP_INPUTS", "INVALID_STRUCTURED_OUTPUT", "PROMPT_NOT_FOUND"
BAD_ANSWERS: Final[tuple[Any, ...]] = (
    OUTPUT,
    f'{{"{OUTPUT}": ',
    {OUTPUT: OUTPUT},
    {"summary": {OUTPUT: OUTPUT}, "details": OUTPUT},
    {"summary": {"markdown": [OUTPUT]}, "details": {}},
    [OUTPUT],
    f"```json\n{OUTPUT}\n```",
    "",
)


@dataclass(frozen=True, slots=True)
class Path:
    """What is expected of it shows that it was taken: how often the model answers at least, what it is sent of a file,
    how the run ends (a code, or its status), and whether a chart is paid for.
    """

    name: str
    arrange: Callable[[House], None]
    run: Callable[[], dict[str, Any]] = healthy.only_the_report
    answers: int = 0
    sends: str = ""
    ends: str = ""
    draws: bool = False


def paths() -> list[Path]:
    return [*_answers(), *_provider(), *_charts(), *_stores(), *_files()]


# --- what the model says ---


def _answers() -> list[Path]:
    def says(*lines: Any) -> Callable[[House], None]:
        def arrange(house: House) -> None:
            for line in lines:
                house.say(line)

        return arrange

    found = [Path("a good answer", says(GOOD), answers=1, ends="SUCCEEDED")]
    for number, bad in enumerate(BAD_ANSWERS):
        found.append(Path(f"bad answer {number}, mended", says(bad, GOOD), answers=2, ends="SUCCEEDED"))
        found.append(Path(f"bad answer {number}, twice", says(bad, bad), answers=2, ends=_BAD_OUTPUT))
    return found


def _provider() -> list[Path]:
    """The provider fails, in its own words: at the first call, and at the repair."""
    found = []
    for name, fault in {**_WEATHER, **{name: shape(name) for name in sorted(SHAPES["gemini"])}}.items():
        at_the_repair = _planned("gemini", "*", fault, says=OUTPUT, skip=1)
        found.append(Path(f"gemini: {name}", _planned("gemini", "*", fault, says=GOOD)))
        found.append(Path(f"gemini, at the repair: {name}", at_the_repair, answers=1))
    return found


_WEATHER: Final[dict[str, Fault]] = {
    **{f"{code}": status(code, QUOTING) for code in (400, 401, 403, 404, 429, 500, 503)},
    "drop": drop(),
    "drop_after": drop_after(),
    "refuse": refuse(),
    "too slow": delay(4),
}


# --- charts, stores ---


def _charts() -> list[Path]:
    found = [Path("charts: fair", lambda house: None, healthy.only_the_charts, ends="SUCCEEDED", draws=True)]
    for name, fault in {**_WEATHER, "non_png": shape("non_png"), "truncated_png": shape("truncated_png")}.items():
        found.append(Path(f"chart_img: {name}", _planned("chart_img", "*", fault), healthy.only_the_charts))
    return found


def _stores() -> list[Path]:
    """Stores that fail while prompts, answers and keys are in memory. Each passes over; the run goes on."""
    found = []
    for service, method in (
        ("storage", "objects.insert"),
        ("storage", "objects.get"),
        ("firestore", "Commit"),
        ("firestore", "BatchGetDocuments"),
    ):
        for name, fault in (("503", status(503, QUOTING)), ("403", status(403, QUOTING)), ("drop", drop_after())):
            found.append(Path(f"{service} {method}: {name}", _planned(service, method, fault, says=GOOD, skip=1)))
    return found


def _planned(service: str, method: str, fault: Fault, *, says: Any = None, skip: int = 0) -> Callable[[House], None]:
    def arrange(house: House) -> None:
        if says is not None:
            house.say(says, times=2)
        house.plan(service, method, fault, skip)

    return arrange


# --- what is read ---


def _files() -> list[Path]:
    rows = healthy.candle_file(3)
    noted = {**rows, "metadata": {**rows["metadata"], "note": NOTE}, "note": NOTE}
    spoiled = {**rows, "data": [{**rows["data"][0], "close": NOTE}]}
    prompt = {"schemaVersion": 2, "systemInstruction": SYSTEM, "userPrompt": PROMPT}
    csv = healthy.candle_rows(3).replace(b"BINANCE", NOTE.encode(), 1)
    bad_csv = csv.replace(b"2024-01-01T00:00:00+00:00", NOTE.encode(), 1)
    untold = {"schemaVersion": 1, "userPrompt": PROMPT}
    return [
        Path("a note in the candles", _brought(healthy.CANDLES_OBJECT, noted), answers=1, ends="SUCCEEDED"),
        Path("a note instead of a price", _brought(healthy.CANDLES_OBJECT, spoiled), ends=_BAD_INPUTS),
        Path("a note instead of candles", _brought(healthy.CANDLES_OBJECT, NOTE), ends=_BAD_INPUTS),
        Path("a note instead of a manifest", _brought(healthy.MANIFEST_OBJECT, NOTE), ends=_BAD_INPUTS),
        Path("a note instead of an image", _brought(healthy.IMAGE_OBJECT, NOTE), ends=_BAD_INPUTS),
        Path("a note instead of a report", _brought(healthy.EARLIER_OBJECT, NOTE), ends=_BAD_INPUTS),
        Path("a note as a report's output", _brought(healthy.EARLIER_OBJECT, {"output": NOTE}), ends=_BAD_INPUTS),
        Path(
            "a note in a report", _brought(healthy.EARLIER_OBJECT, {"output": {"note": NOTE}}),
            answers=1, sends=NOTE, ends="SUCCEEDED",
        ),
        Path(
            "a prompt of another version", lambda house: house.document(healthy.PROMPT_PATH, prompt), ends=_NO_PROMPT
        ),
        Path(
            "a prompt without an instruction", lambda house: house.document(healthy.PROMPT_PATH, untold),
            ends=_NO_PROMPT,
        ),
        Path("a file of candles with a note", _brought("in/c.csv", csv), _from_file, ends="SUCCEEDED"),
        Path("a file of candles that cannot be read", _brought("in/c.csv", bad_csv), _from_file, ends=_BAD_INPUTS),
    ]  # fmt: skip


def _brought(name: str, content: object) -> Callable[[House], None]:
    """A file of the case's own; the model has a good answer to whatever is made of it."""

    def arrange(house: House) -> None:
        house.say(GOOD)
        house.put(name, content if isinstance(content, bytes) else _written(content))

    return arrange


def _written(content: object) -> bytes:
    return content.encode() if isinstance(content, str) else healthy.as_bytes(content)


def _from_file() -> dict[str, Any]:
    return healthy.only_the_candles("in/c.csv")
