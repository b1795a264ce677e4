"""The gate in front of the log: it masks, it trims, and it never costs a step."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowcore.adapters.cloud_log import MASKED, JsonLog, redacted
from flowcore.domain.errors import Code
from flowcore.domain.model import Lease
from flowcore.testing.world import T0
from tests.domain.strategies import GARBAGE
from tests.engine.stage import Stage, report_ready

SECRET_KEYS = """apiKey token secret authorization credentials systemInstruction userPrompt promptText candidateText
rawOutput outputText api_key x-api-key API-KEY geminiApiKey clientSecret accessToken lease_token password
Authorization raw_output user_prompt SYSTEM_INSTRUCTION"""
CLOUD_LOGGING_LIMIT = 256 * 1024


def logged(**fields: object) -> list[str]:
    """What comes of one call; the log was bound to a run before, as every log of ours is."""
    lines: list[str] = []
    JsonLog(lines.append, lambda: T0).bind(run_id="r").info("it_happened", **fields)
    return lines


def line(**fields: object) -> dict[str, Any]:
    """The one line, read as strictly as Cloud Logging reads it."""

    def no_json(word: str) -> object:
        raise AssertionError(f"{word} is not JSON")

    (text,) = logged(**fields)
    assert len(text.encode()) <= CLOUD_LOGGING_LIMIT
    assert "\n" not in text
    found = json.loads(text, parse_constant=no_json)
    assert isinstance(found, dict)
    return found


def test_line_has_what_cloud_logging_reads() -> None:
    assert line(attempt=2) == {
        "severity": "INFO",
        "event": "it_happened",
        "message": "it_happened",
        "time": "2025-12-24T12:00:00+00:00",
        "run_id": "r",
        "attempt": 2,
    }


@pytest.mark.parametrize("key", SECRET_KEYS.split())
def test_secret_is_masked_at_any_depth(key: str) -> None:
    nested: object = {key: "hunter2"}
    for wrap in (lambda v: v, lambda v: {"a": v}, lambda v: [v], lambda v: {"a": [{"b": (v,)}]}):
        (text,) = logged(value=wrap(nested))
        assert "hunter2" not in text
        assert MASKED in text
    (text,) = logged(**{key: {"deep": "hunter2"}})
    assert "hunter2" not in text


@pytest.mark.parametrize("key", ["promptTokenCount", "totalTokenCount", "maxOutputTokens", "step_id", "promptId"])
def test_figures_that_people_need_are_shown(key: str) -> None:
    assert line(**{key: 42})[key] == 42


def test_secret_below_the_depth_that_is_shown_is_not_shown() -> None:
    value: object = {"secret": "hunter2"}
    for _ in range(20):
        value = {"a": value}
    assert "hunter2" not in logged(value=value)[0]


def test_what_an_exception_says_is_not_logged_but_where_it_was_is() -> None:
    try:
        raise ValueError("the prompt said: hunter2")
    except ValueError as error:
        found = line(exc_info=error)
    assert "hunter2" not in str(found)
    assert found["exc_info"]["exception"] == "ValueError"
    assert "test_log.py" in str(found["exc_info"]["trace"])


def test_object_is_named_and_not_opened() -> None:
    """A dataclass prints its fields, and one of them may be a token."""
    (text,) = logged(
        lease=Lease("hunter2", T0), raw=bytearray(b"hunter2"), view=memoryview(b"hunter2"), data=b"hunter2"
    )
    assert "hunter2" not in text


@pytest.mark.parametrize("letter", ["x", "я", "😀"])
def test_long_text_is_trimmed(letter: str) -> None:
    found = line(text=letter * 1_000_000)
    assert found["text"].startswith(letter * 10)
    assert len(found["text"]) < 10_000


@pytest.mark.parametrize("letter", ["x", "я", "😀"])
def test_line_stays_within_what_cloud_logging_takes(letter: str) -> None:
    assert line(texts=[letter * 4000] * 300)


def test_long_list_is_trimmed() -> None:
    assert len(line(items=list(range(100_000)))["items"]) <= 1000


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError("even asking hurts")

    __repr__ = __str__
    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("even asking hurts")


class HostileMap(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError("even asking hurts")

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("even asking hurts")

    def __len__(self) -> int:
        return 1


def itself(times: int) -> list[object]:
    """A list that contains itself, so often."""
    value: list[object] = []
    value += [value] * times
    return value


def map_of_itself() -> dict[str, object]:
    value: dict[str, object] = {}
    value.update({"a": value, "b": [value, value]})
    return value


HOSTILE: dict[str, object] = {
    "str raises": Hostile(),
    "map raises": HostileMap(),
    "key raises": {Hostile(): 1},
    "itself once": itself(1),
    "itself four times": itself(4),
    "itself two hundred times": itself(200),
    "map of itself": map_of_itself(),
    "nan": float("nan"),
    "infinity": [float("inf"), -float("inf")],
    "surrogate": "\ud800",
    "surrogate key": {"\ud800": "\udfff"},
    "big number": 10**5000,
    "bytes": b"\xff" * 1000,
    "number keys": {1: 2, None: 3, (1, 2): 4},
    "set": {1, "a", None},
    "exception": ExceptionGroup("x", [ValueError("y")]),
    "type": Hostile,
    "code": Code.INTERNAL,
    "time": datetime(2025, 12, 24, tzinfo=UTC),
    "generator": (n for n in range(3)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_value_never_raises_and_leaves_json_or_nothing(name: str) -> None:
    for text in logged(value=HOSTILE[name]):
        assert len(text) <= CLOUD_LOGGING_LIMIT
        assert json.loads(text, parse_constant=pytest.fail)["run_id"] == "r"


@pytest.mark.parametrize("name", ["nan", "infinity", "surrogate", "itself four times", "code", "time", "set", "bytes"])
def test_odd_value_costs_at_most_itself(name: str) -> None:
    assert line(value=HOSTILE[name])["run_id"] == "r"


@settings(max_examples=200)
@given(st.dictionaries(st.text(st.characters(codec=None), max_size=5), GARBAGE, max_size=4))
def test_any_fields_make_a_strict_line(fields: dict[str, object]) -> None:
    assert line(fields=fields)["event"] == "it_happened"


def test_log_that_cannot_be_written_is_not_missed() -> None:
    def broken(text: str) -> None:
        raise BrokenPipeError

    log = JsonLog(broken, lambda: T0)
    log.error("it_happened")
    assert log.bind(a=1).fields == {"a": 1}


def test_level_says_what_is_worth_a_line() -> None:
    lines: list[str] = []
    log = JsonLog(lines.append, lambda: T0, level="WARNING")
    log.info("quiet")
    log.warning("loud")
    log.error("louder")
    assert [json.loads(text)["severity"] for text in lines] == ["WARNING", "ERROR"]


def test_bound_fields_are_on_every_line_and_the_envelope_cannot_be_forged() -> None:
    lines: list[str] = []
    log = JsonLog(lines.append, lambda: T0).bind(run_id="r", token="hunter2").bind(step_id="s")
    log.info("it_happened", severity="EMERGENCY", time="never")
    found = json.loads(lines[0])
    assert (found["run_id"], found["step_id"], found["severity"]) == ("r", "s", "INFO")
    assert "hunter2" not in lines[0]
    assert found["time"].startswith("2025")


def test_redaction_leaves_its_input_alone() -> None:
    value = {"token": "t", "list": [1, {"secret": 2}]}
    redacted(value)
    assert value == {"token": "t", "list": [1, {"secret": 2}]}


def test_whole_life_of_a_step_logs_no_secret() -> None:
    stage = Stage()
    lines: list[str] = []
    stage.worker().handle(stage.put(report_ready()))
    log = JsonLog(lines.append, lambda: T0)
    for _, event, fields in stage.log.lines:
        log.info(event, **fields)
    assert len(lines) == len(stage.log.lines) > 0
    assert "token-1" not in "".join(lines)


def test_log_that_drops_its_lines_does_not_change_the_outcome() -> None:
    def broken(text: str) -> None:
        raise BrokenPipeError

    quiet, noisy = Stage(), Stage()
    quiet.worker().handle(quiet.put(report_ready()))
    hostile = JsonLog(broken, lambda: T0).bind(odd=Hostile())
    replace(noisy.worker(), log=hostile).handle(noisy.put(report_ready()))
    assert noisy.document == quiet.document
