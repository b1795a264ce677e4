"""Whatever people get wrong: an exit code, and one line that says what, where and what next. Never a trace."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from emulator.faults import hang, status
from flowcore.testing.builders import CHARTS, OHLCV, RUN_ID, a_run, a_step
from tests.cli.conftest import Desk
from tests.cli.program import ATTENTIVE, FLOW, flow
from tests.cli.typing_it import typed
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.platform.sockets import a_free_base, bound

SOUND = {
    "flowKey": "tea_v1",
    "parameters": {"symbol": {"default": "BTCUSDT"}, "timeframes": {"default": ["1M"]}},
    "steps": {"boil": {"stepType": "BOIL"}, "pour": {"stepType": "POUR", "dependsOn": ["boil"]}},
}
CYCLE = {"steps": {"a": {"stepType": "X", "dependsOn": ["b"]}, "b": {"stepType": "X", "dependsOn": ["a"]}}}
UNKNOWN = {"steps": {"boil": {"stepType": "X"}, "pour": {"stepType": "X", "dependsOn": ["boyl"]}}}
Given = Callable[[Desk], object]


def file(content: object) -> Given:
    text = content if isinstance(content, str) else json.dumps(content, indent=2)
    return lambda desk: (desk.folder / "flow.json").write_text(text)


def run(**states: str) -> Given:
    return lambda desk: desk.put(a_run(at=datetime.now(UTC), **states))  # type: ignore[arg-type]


def flow_in_firestore(desk: Desk) -> None:
    desk.db.document("flow_definitions/tea_v1").set(SOUND)


def forbidden(desk: Desk) -> None:
    desk.platform.faults.add(service="firestore", action=status("PERMISSION_DENIED"))


def both(*arranged: Given) -> Given:
    return lambda desk: [arrange(desk) for arrange in arranged]


def started_as_r1(desk: Desk) -> None:
    file(SOUND)(desk)
    assert typed("run", "flow.json", "--id", "r1").code == 0


@dataclass(frozen=True)
class Misuse:
    """`says`: what has to be in the line, where and what next included."""

    name: str
    words: tuple[str, ...]
    code: int
    says: tuple[str, ...]
    given: Given = field(default=lambda _: None)


MISUSES = [
    Misuse("no such file", ("run", "nowhere.json"), 3, ("nowhere.json: there is no such file", "take a path")),
    Misuse("no such file to check", ("validate", "nowhere.json"), 3, ("nowhere.json: there is no such file",)),
    Misuse(
        "a folder for a file", ("validate", "."), 3, (".: cannot be read (IsADirectoryError)", "is it a text file?")
    ),
    Misuse(
        "bad JSON",
        ("validate", "flow.json"),
        4,
        ("flow.json:2:13: this is not JSON", "correct it there"),
        file('{\n  "steps": {,}}'),
    ),
    Misuse("no object", ("run", "flow.json"), 4, ("flow.json:1:1: is a list", "a flow is a JSON object"), file("[1]")),
    Misuse(
        "a circle",
        ("validate", "flow.json"),
        1,
        ("flow.json: 1 error", "begin at flow.json:5:7 (steps.a.dependsOn)"),
        file(CYCLE),
    ),
    Misuse("a circle is not run", ("run", "flow.json"), 4, ("steps.a.dependsOn: goes in a circle",), file(CYCLE)),
    Misuse(
        "an unknown dependency",
        ("validate", "flow.json"),
        1,
        ("begin at flow.json:9:9 (steps.pour.dependsOn[0])",),
        file(UNKNOWN),
    ),
    Misuse("an unknown run", ("show", "r0"), 3, ("r0: there is no such run in the platform", "flow runs lists them")),
    Misuse("an unknown run to watch", ("watch", "r0"), 3, ("r0: there is no such run", "flow runs")),
    Misuse("an unknown run to cancel", ("cancel", "r0"), 3, ("r0: there is no such run", "flow runs")),
    Misuse("an unknown run to repeat", ("rerun", "r0"), 3, ("r0: there is no such run", "flow runs")),
    Misuse("a run id that is none", ("show", "a/b"), 3, ("a/b: there is no such run", "flow runs")),
    Misuse(
        "an unknown step",
        ("retry", RUN_ID, OHLCV[:-1]),
        3,
        (f"{RUN_ID} has no step", f"did you mean {OHLCV}?"),
        run(ohlcv="FAILED"),
    ),
    Misuse(
        "an unknown flow",
        ("run", "tee_v1"),
        3,
        ("tee_v1: there is no such flow", "did you mean tea_v1?"),
        flow_in_firestore,
    ),
    Misuse("an unknown flow and none like it", ("run", "x"), 3, ("x: there is no such flow", "flow seed")),
    Misuse(
        "an unknown parameter",
        ("run", "flow.json", "--set", "symbl=X"),
        4,
        ("parameters.symbl", "'symbol'?"),
        file(SOUND),
    ),
    Misuse(
        "a parameter of the wrong type",
        ("run", "flow.json", "--set", 'timeframes={"a": 1}'),
        4,
        ("parameters.timeframes: must be a list",),
        file(SOUND),
    ),
    Misuse(
        "a setting without a value", ("run", "flow.json", "--set", "x"), 2, ("--set x: write name=value",), file(SOUND)
    ),
    Misuse(
        "an id that is none",
        ("run", "flow.json", "--id", "a/b"),
        2,
        ("--id a/b: a run's id is made of letters",),
        file(SOUND),
    ),
    Misuse(
        "an id that is taken",
        ("run", "flow.json", "--id", "r1", "--set", "symbol=OTHER"),
        4,
        ("r1 is there already, with other content", "leave --id out"),
        started_as_r1,
    ),
    Misuse(
        "another project",
        ("show", RUN_ID, "--project", "another"),
        3,
        (f"{RUN_ID}: there is no such run", "project another"),
        run(ohlcv="RUNNING"),
    ),
    Misuse("no permission", ("show", RUN_ID), 5, ("PERMISSION_DENIED", "flow doctor"), forbidden),
    Misuse("no permission to list", ("runs",), 5, ("PERMISSION_DENIED", "flow doctor"), forbidden),
    Misuse(
        "no permission to start",
        ("run", "flow.json"),
        5,
        ("PERMISSION_DENIED", "flow doctor"),
        both(file(SOUND), forbidden),
    ),
    Misuse(
        "a retry of what succeeded",
        ("retry", RUN_ID, OHLCV),
        4,
        (f"steps.{OHLCV} is SUCCEEDED",),
        run(ohlcv="SUCCEEDED"),
    ),
    Misuse(
        "a retry where nothing failed", ("retry", RUN_ID), 4, ("no step has failed", "flow show"), run(ohlcv="RUNNING")
    ),
    Misuse(
        "a skip of what runs",
        ("skip", RUN_ID, OHLCV),
        4,
        (f"steps.{OHLCV} is RUNNING", "can be skipped"),
        run(ohlcv="RUNNING"),
    ),
    Misuse(
        "a cancel of what is over",
        ("cancel", RUN_ID),
        4,
        (f"{RUN_ID} is SUCCEEDED", "flow show"),
        run(status="SUCCEEDED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED"),
    ),
    Misuse(
        "a retry of what was cancelled",
        ("retry", RUN_ID, OHLCV),
        4,
        ("the run is cancelled", "rerun the flow"),
        run(status="CANCELLED", ohlcv="FAILED", charts="CANCELLED", report="CANCELLED"),
    ),
    Misuse("a bad age", ("runs", "--since", "yesterday"), 2, ("--since yesterday", "2h")),
    Misuse("a bad status", ("runs", "--status", "BUSY"), 2, ("--status BUSY", "RUNNING")),
    Misuse("a bad limit", ("runs", "--limit", "0"), 2, ("'--limit'", "flow runs --help")),
    Misuse("an age beyond all ages", ("runs", "--since", "999999w"), 2, ("--since 999999w", "2h")),
    Misuse("a date beyond all dates", ("runs", "--since", "9999-12-31T23:59-23:59"), 2, ("--since 9999", "2h")),
    Misuse("an empty id", ("run", "flow.json", "--id", ""), 2, ("--id", "made of letters"), file(SOUND)),
    Misuse(
        "a misspelt field is not run",
        ("run", "flow.json"),
        4,
        ("flow.json:8:7: error: steps.pour.dependson", "did you mean 'dependsOn'?", "flow validate flow.json"),
        file({"steps": {"boil": {"stepType": "X"}, "pour": {"stepType": "X", "dependson": ["boil"]}}}),
    ),
    Misuse("an empty object", ("validate", "flow.json"), 1, ("1 error", "begin at flow.json:1:1"), file("{}")),
    Misuse(
        "a file for a folder",
        ("open", RUN_ID, "--no-browser", "--output", "flow.json"),
        4,
        ("flow.json", "not a directory", "choose another place"),
        both(file(SOUND), run(ohlcv="RUNNING")),
    ),
    Misuse("no prices", ("cost", "--prices", "nowhere.json"), 3, ("nowhere.json: no such file", "prices.json")),
    Misuse(
        "prices that are none",
        ("cost", "--prices", "flow.json"),
        4,
        ("flow.json: cannot be used as a table of prices", "deploy/costs/prices.json is an example"),
        file("{"),
    ),
    Misuse("a flow that nobody counted", ("cost", "tea_v1"), 3, ("nobody has counted tea_v1", "market_report_v1")),
    Misuse("an environment that is none", ("runs", "--env", "a/b"), 2, ("--env a/b", "such as staging")),
    Misuse("no command", (), 2, ("flow demo",)),
    Misuse("no such symbol", ("demo", "--symbol", "NOPE"), 2, ("--symbol NOPE", "take one of BTCUSDT, ETHUSDT")),
    Misuse(
        "a demonstration into a file",
        ("demo", "--output", "flow.json/x"),
        4,
        ("flow.json", "not a directory", "choose another place"),
        file(SOUND),
    ),
    Misuse("no such command", ("rum",), 2, ("no such command 'rum'", "'run'")),
    Misuse("no such option", ("runs", "--stat", "X"), 2, ("no such option: --stat", "--status")),
    Misuse("a missing argument", ("show",), 2, ("missing argument 'RUN'", "flow show --help")),
    Misuse("no step named", ("skip", RUN_ID), 2, ("missing argument 'STEP", "flow skip --help")),
    Misuse(
        "an artifact that is not there",
        ("open", RUN_ID, CHARTS),
        3,
        (f"{CHARTS} is PENDING", "flow show"),
        run(ohlcv="RUNNING"),
    ),
]


@pytest.mark.parametrize("misuse", MISUSES, ids=lambda misuse: misuse.name.replace(" ", "-"))
def test_a_wrong_use_is_one_line(desk: Desk, misuse: Misuse) -> None:
    misuse.given(desk)
    said = typed(*misuse.words)
    assert said.code == misuse.code, said
    for part in misuse.says:
        assert part in said.complaint
    assert re.search(r"[;,:?] ?\w", said.complaint)


@pytest.mark.parametrize(
    "words",
    [("show", "r1"), ("runs",), ("watch", "r1"), ("run", "tea_v1"), ("cancel", "r1"), ("logs", "r1"), ("seed",)],
    ids=lambda words: words[0],
)
def test_a_platform_that_is_down(folder: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "typed")
    said = typed(*words)
    assert said.code == 5
    assert "UNAVAILABLE" in said.complaint
    assert "flow doctor" in said.complaint


@pytest.mark.parametrize("words", [("runs",), ("show", "r1"), ("run", "tea_v1"), ("seed",), ("retry", "r1")])
def test_no_platform_and_no_project(nowhere: Path, words: tuple[str, ...]) -> None:
    said = typed(*words)
    assert said.code == 5
    assert said.complaint == (
        "no platform runs here and no project is named; start one with flow up, or name it with --project"
    )


def test_a_collection_that_cannot_be_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_RUNS_COLLECTION", "a/b")
    said = typed("runs")
    assert said.code == 2
    assert said.complaint == "FLOW_RUNS_COLLECTION is a/b; set it to a collection's name, or unset it"


def test_a_folder_where_a_platform_cannot_keep_its_state(folder: Path) -> None:
    (folder / ".flow").write_text("")
    said = typed("up")
    assert said.code == 4
    assert ".flow: file exists; choose another place" in said.complaint


def test_a_terminal_that_cannot_draw_gets_something_else_to_read(desk: Desk) -> None:
    run(ohlcv="RUNNING")(desk)
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*FLOW, "show", RUN_ID]
    said = subprocess.run(command, env=ascii_only, cwd=desk.folder, capture_output=True, text=True, check=True)
    assert said.stderr == ""
    assert f"next: flow watch {RUN_ID}" in said.stdout


def test_a_project_but_no_account(nowhere: Path) -> None:
    said = typed("runs", "--project", "my-project")
    assert said.code == 5
    assert said.complaint.endswith("(project my-project); run: gcloud auth application-default login")


def test_an_artifact_without_a_bucket(desk: Desk) -> None:
    from flowcore.cli.problems import Problem
    from flowcore.cli.world import World

    with pytest.raises(Problem, match="name it with --bucket"):
        _ = World("my-project", "(default)", None, local=False).artifacts


def test_an_unknown_step_type_is_a_warning(desk: Desk) -> None:
    file(SOUND)(desk)
    said = typed("validate", "flow.json")
    assert (said.code, said.err) == (0, "")
    assert "flow.json:15:7: warning: steps.boil.stepType: 'BOIL' is none of OHLCV_EXPORT" in said.out


def test_a_bucket_that_does_not_exist(desk: Desk) -> None:
    outputs = {"gcs_uri": "gs://artifacts/runs/x"}
    desk.put(a_run(steps={OHLCV: a_step("OHLCV_EXPORT", "SUCCEEDED", outputs=outputs)}))
    said = typed("open", RUN_ID, OHLCV, "--no-browser")
    assert said.code == 3
    assert "gs://artifacts/runs/x does not exist" in said.complaint


def test_a_taken_port(folder: Path) -> None:
    base = a_free_base()
    with bound(base) as other:
        other.listen()
        found = flow(folder, "up", "--port-base", str(base))
    assert found.returncode == 4
    assert found.stderr.count("\n") == 1
    assert f"port {base}" in found.stderr
    assert "--port-base" in found.stderr


def test_a_failed_run_is_a_failed_watch(desk: Desk) -> None:
    run(status="FAILED", ohlcv="FAILED", charts="SKIPPED", report="SKIPPED")(desk)
    said = typed("watch", RUN_ID)
    assert said.code == 1
    assert said.complaint == f"{RUN_ID} is FAILED; flow show {RUN_ID} says why"


def test_a_run_that_is_removed_while_somebody_looks_on(desk: Desk) -> None:
    from flowcore.cli.watching import changes
    from flowcore.cli.world import world

    run(ohlcv="RUNNING")(desk)
    watched = changes(world(), RUN_ID)
    assert next(each for each in watched if each) is not None
    desk.db.document(f"flow_runs/{RUN_ID}").delete()
    with pytest.raises(Exception, match="somebody has removed it"):
        list(watched)


def test_a_platform_that_goes_away_while_somebody_looks_on(desk: Desk) -> None:
    from flowcore.cli.watching import changes
    from flowcore.cli.world import world
    from flowcore.domain.errors import NetworkError

    run(ohlcv="RUNNING")(desk)
    watched = changes(world(), RUN_ID, quiet=0.0)
    assert next(each for each in watched if each) is not None
    gone = desk.platform.faults.add(service="firestore", method="BatchGetDocuments", action=status("UNAVAILABLE"))
    with pytest.raises(NetworkError):
        list(watched)
    assert gone.fired == 1


def test_a_listener_that_is_refused_does_not_hang(desk: Desk) -> None:
    run(ohlcv="RUNNING")(desk)
    refused = desk.platform.faults.add(service="firestore", method="Listen", action=status("PERMISSION_DENIED"))
    said = typed("watch", RUN_ID)
    assert refused.fired
    assert said.code == 5
    assert f"flow watch {RUN_ID}" in said.complaint


def test_ctrl_c_in_a_watch_says_how_to_go_on(desk: Desk) -> None:
    run(ohlcv="SUCCEEDED", charts="RUNNING")(desk)
    command = [sys.executable, "-c", ATTENTIVE, "watch", RUN_ID]
    with subprocess.Popen(
        command, cwd=desk.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout
        for line in watching.stdout:
            if CHARTS in line:
                break
        watching.send_signal(signal.SIGINT)
        _, err = watching.communicate(timeout=20)
    assert watching.returncode == 130
    assert err == f"flow: the run goes on; look again with: flow watch {RUN_ID}\n"
    assert desk.statuses() == ["RUNNING", "RUNNING", "PENDING", "SUCCEEDED"]


def test_ctrl_c_while_nobody_answers_is_one_line(desk: Desk) -> None:
    silence = desk.platform.faults.add(service="firestore", action=hang(60))
    command = [sys.executable, "-c", ATTENTIVE, "show", RUN_ID]
    with subprocess.Popen(command, cwd=desk.folder, stderr=subprocess.PIPE, text=True) as asking:
        assert eventually(lambda: silence.fired > 0, timeout=30)
        asking.send_signal(signal.SIGINT)
        _, err = asking.communicate(timeout=20)
    assert asking.returncode == 130
    assert err == "flow: ended by Ctrl-C; nothing is undone, flow runs shows what was begun\n"


def test_the_program_itself_says_it_in_one_line(desk: Desk) -> None:
    found = flow(desk.folder, "show", "r0")
    assert found.returncode == 3
    assert found.stderr.startswith("flow: r0: there is no such run in the platform on this machine")
    assert found.stderr.count("\n") == 1


def test_each_exit_code_is_in_the_table() -> None:
    from flowcore.cli import problems

    assert problems.__doc__
    table = {int(row) for row in re.findall(r"^\| (\d+) \|", problems.__doc__, re.MULTILINE)}
    assert table == {int(code) for code in problems.Exit}
