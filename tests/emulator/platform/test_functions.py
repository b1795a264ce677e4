"""What a function is: how it is spelled, how it is called, what it is told of itself."""

from pathlib import Path
from typing import Any

import pytest
import requests

from emulator.eventarc import Kind
from emulator.platform import Function, Platform, PlatformFailed
from tests.emulator.firestore.client import connected
from tests.emulator.platform.toy_function import ASKED, BROKEN, toy


def asked(name: str, wish: str) -> Function:
    return Function(name, ASKED, "answer", environment={"WISH": wish})


def ask(platform: Platform, name: str, **sent: int) -> Any:
    reply = requests.post(platform.url_of(name), json=sent, timeout=5)
    reply.raise_for_status()
    return reply.json()


def test_a_function_is_spelled_on_one_line() -> None:
    found = Function.parse("advance=./functions/advance_flow:advance@flow_runs/{runId}:updated")
    assert found == Function("advance", Path("functions/advance_flow"), "advance", "flow_runs/{runId}", Kind.UPDATED)


def test_a_function_without_a_trigger_is_called_by_http() -> None:
    found = Function.parse("sweep=./functions/sweep:sweep")
    assert found == Function("sweep", Path("functions/sweep"), "sweep")
    assert found.signature == "http"
    assert found.subscription("http://sweep", "p") is None


@pytest.mark.parametrize("text", ["sweep", "sweep=here", "a=./a:a@runs/{id}", "a=./a:a@runs/{id}:changed", "a=./a:a@"])
def test_a_misspelled_function_is_told_how(text: str) -> None:
    with pytest.raises(ValueError, match=r"NAME=SOURCE:TARGET\[@PATTERN:TYPE\]"):
        Function.parse(text)


@pytest.mark.parametrize("single_process", [False, True])
def test_http_functions_answer_beside_those_that_are_told(tmp_path: Path, single_process: bool) -> None:
    functions = [toy(tmp_path / "seen"), asked("early", "tea"), asked("late", "cake")]
    with Platform(functions=functions, single_process=single_process) as platform:
        first, second = ask(platform, "early", v=1), ask(platform, "early", v=2)
        with connected(platform.firestore.host, platform.project) as db:
            db.document("runs/r1").set({"v": 1})
        assert platform.settled()
        wish = "cake" if single_process else "tea"  # one process, one environment: the later one has its way
        assert first == {"time": 1, "wish": wish, "method": "POST", "sent": {"v": 1}}  # it was not asked for its health
        assert second["time"] == 2
        assert ask(platform, "late")["wish"] == "cake"
        assert requests.post(platform.url_of("early") + "deeper/down", json={}, timeout=5).ok
        assert platform.faults.calls.count("eventarc") == 1
    assert (tmp_path / "seen").read_text().count("runs/r1") == 1


def test_several_functions_share_a_process_for_speed(tmp_path: Path) -> None:
    functions = [toy(tmp_path / "seen", name=name) for name in ("one", "two")]
    with Platform(functions=functions, single_process=True) as platform:
        assert platform.functions["one"] is platform.functions["two"]
        with connected(platform.firestore.host, platform.project) as db:
            db.document("runs/r1").set({"v": 1})
        assert platform.settled()
        assert platform.faults.calls.count("eventarc", "one") == platform.faults.calls.count("eventarc", "two") == 1
    assert (tmp_path / "seen").read_text().count("runs/r1") == 2


def test_a_function_that_cannot_be_loaded_says_why() -> None:
    with pytest.raises(PlatformFailed, match="nobody deployed my dependency"):
        Platform(functions=[Function("broken", BROKEN, "run", "runs/{id}")]).start()


def test_a_function_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlatformFailed, match="absent"):
        Platform(functions=[Function("absent", tmp_path, "run", "runs/{id}")]).start()


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(PlatformFailed, match="sweep: two functions"):
        Platform(functions=[asked("sweep", "tea"), asked("sweep", "cake")]).start()
