"""What the host starts, what it says, and how it ends."""

import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import requests

from emulator.eventarc.ledger import State
from emulator.faults import drop
from emulator.platform import Function, Log, Platform, PlatformFailed
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import connected
from tests.emulator.platform.sockets import a_free_base, bound, listening
from tests.emulator.platform.toy_function import toy


def test_it_is_ready_at_once_and_leaves_nothing_behind() -> None:
    base, began = a_free_base(), time.monotonic()
    with Platform(port_base=base) as platform:
        assert time.monotonic() - began < 3
        assert platform.exports == {
            "FIRESTORE_EMULATOR_HOST": f"127.0.0.1:{base}",
            "STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{base + 2}",
            "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{base + 3}",
            "GEMINI_API_KEY": "local-key",
            "BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{base + 5}",
            "CHART_IMG_BASE_URL": f"http://127.0.0.1:{base + 6}",
            "GCLOUD_PROJECT": "demo-local",
            "GOOGLE_CLOUD_PROJECT": "demo-local",
            "EVENTARC_EMULATOR": f"http://127.0.0.1:{base + 4}",
        }
        assert [offset for offset in range(8) if listening(base + offset)] == [0, 2, 3, 4, 5, 6]
    assert not any(listening(base + offset) for offset in range(7))


def test_a_service_is_imported_when_it_starts() -> None:
    script = (
        "import sys, emulator.platform; print({'emulator.bigquery', 'emulator.chart_img', 'duckdb'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout == "set()\n"


@pytest.mark.parametrize(
    ("offset", "part"),
    [
        (0, "firestore"),
        (2, "storage"),
        (3, "gemini"),
        (4, "eventarc"),
        (5, "bigquery"),
        (6, "chart_img"),
        (10, "toy"),
    ],
)
def test_a_busy_port_is_a_clear_error(
    offset: int, part: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    base, functions = a_free_base(), [toy(tmp_path / "seen")] if part == "toy" else []
    with bound(base + offset) as other:
        other.listen()
        with pytest.raises(PlatformFailed, match=f"{part}.*{base + offset}"):
            Platform(port_base=base, data_dir=tmp_path, functions=functions).start()
    assert capfd.readouterr().err == ""
    assert not any(listening(base + place) for place in range(7))
    with Platform(data_dir=tmp_path) as second:  # what was to be kept there can be opened again
        assert second.firestore.sequence == 0


def test_two_platforms_do_not_share_a_folder(tmp_path: Path) -> None:
    with Platform(data_dir=tmp_path), pytest.raises(PlatformFailed, match="storage"):
        Platform(data_dir=tmp_path).start()


def test_a_function_that_dies_is_restarted_and_said_so(tmp_path: Path) -> None:
    with Platform(functions=[toy(tmp_path / "seen")]) as platform:
        process = platform.functions["toy"]
        os.kill(process.pid, signal.SIGKILL)
        assert eventually(lambda: process.restarts == 1 and process.healthy(), 20)
        assert any("died (SIGKILL)" in line for line in platform.log.lines("toy"))
        port = process.port
    assert not listening(port)


def test_after_a_reset_nothing_is_left_and_nothing_comes(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    with Platform(functions=[toy(seen, failing=1.0)], time_scale=1000) as platform:
        with connected(platform.firestore.host, platform.project) as db:
            for number in range(20):
                db.document(f"runs/r{number}").set({"v": number})
            platform.storage.store.create_bucket("kept", {})
            platform.faults.add(service="storage", action=drop())
            platform.reset()
            assert not db.document("runs/r1").get().exists
        assert platform.settled(1)
        assert platform.eventarc.state == State((), 0, 0, ())
        assert platform.storage.store.buckets() == []
        assert platform.faults.planned == []
        assert platform.faults.calls.count("eventarc") == 0
    assert not seen.exists()


SLOW = """
import pathlib, time, functions_framework

@functions_framework.cloud_event
def run(event):
    pathlib.Path("begun").touch()
    while not pathlib.Path("released").exists():
        time.sleep(0.01)
"""


def test_a_reset_that_cannot_end_a_function_says_so(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SLOW)
    with Platform(functions=[Function("slow", tmp_path, "run", "runs/{id}")]) as platform:
        with connected(platform.firestore.host, platform.project) as db:
            db.document("runs/r1").set({"v": 1})
        assert eventually((tmp_path / "begun").exists)
        with pytest.raises(PlatformFailed, match="slow: still at work"):
            platform.reset(within=0.1)
        (tmp_path / "released").touch()
        platform.reset()


def test_a_reset_also_forgets_what_an_earlier_life_has_kept(tmp_path: Path) -> None:
    with Platform(data_dir=tmp_path) as platform, connected(platform.firestore.host, "elsewhere", "second") as db:
        db.document("runs/r1").set({"v": 1})
    with Platform(data_dir=tmp_path) as platform, connected(platform.firestore.host, "elsewhere", "second") as db:
        platform.reset()
        assert not db.document("runs/r1").get().exists


def test_with_a_folder_the_history_is_kept_across_lives(tmp_path: Path) -> None:
    for value in (1, 2):
        with Platform(data_dir=tmp_path) as platform, connected(platform.firestore.host, platform.project) as db:
            db.document("runs/r1").set({"v": value})
    records = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert [record["sequence"] for record in records] == list(range(1, len(records) + 1))
    assert [record["detail"]["after"] for record in records if record["kind"] == "write"] == [{"v": 1}, {"v": 2}]


def test_what_was_stored_when_the_platform_was_killed_is_told_by_the_next_one(tmp_path: Path) -> None:
    """It dies between the store and the history: here, by taking the last lines away that it had written."""
    with Platform(data_dir=tmp_path) as platform, connected(platform.firestore.host, platform.project) as db:
        platform.storage.store.create_bucket("artifacts", {})
        for number in (1, 2):
            db.document("runs/r1").set({"v": number})
            platform.storage.store.insert("artifacts", f"o{number}", b"", {})
    history = tmp_path / "history.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    history.write_text("".join(line for line in lines if '"runs/r1"' not in line or '"v": 2' not in line)[:-1])
    whole = [json.loads(line) for line in lines]
    for _ in range(2):  # once is enough
        with Platform(data_dir=tmp_path):
            pass
        told = [json.loads(line) for line in history.read_text().splitlines()]
        for kind in ("write", "object"):
            assert _stored(told, kind) == _stored(whole, kind)


def _stored(records: list[dict[str, Any]], kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(record["resource"], record["detail"]) for record in records if record["kind"] == kind]


def test_one_plan_of_faults_serves_all_parts() -> None:
    with Platform() as platform:
        wish = {"service": "gemini", "action": {"status": 503}}
        parts = ("EVENTARC_EMULATOR", "STORAGE_EMULATOR_HOST", "GOOGLE_GEMINI_BASE_URL")
        urls = [*(platform.exports[part] for part in parts), f"http://{platform.exports['FIRESTORE_EMULATOR_HOST']}"]
        for url in urls:
            requests.post(f"{url}/__faults", json=wish, timeout=5).raise_for_status()
        assert len(platform.faults.planned) == len(urls)


def test_whoever_has_the_exports_can_clear_a_database() -> None:
    with Platform() as platform, connected(platform.firestore.host, platform.project) as db:
        db.document("runs/r1").set({"v": 1})
        documents = f"emulator/v1/projects/{platform.project}/databases/(default)/documents"
        url = f"http://{platform.exports['FIRESTORE_EMULATOR_HOST']}/{documents}"
        requests.delete(url, timeout=5).raise_for_status()
        assert not db.document("runs/r1").get().exists


def test_the_program_ends_cleanly_on_ctrl_c() -> None:
    command = [sys.executable, "-m", "emulator.platform"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline()]
        while "ready in" not in lines[-1]:
            lines.append(process.stdout.readline())
        assert lines[0].startswith("export FIRESTORE_EMULATOR_HOST=127.0.0.1:")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_each_part_speaks_under_its_name(tmp_path: Path) -> None:
    log = Log(directory=tmp_path)
    log.tell("toy", "hello")
    log.tell("eventarc", "created runs/r1")
    log.close()
    assert log.lines() == ["         toy │ hello", "    eventarc │ created runs/r1"]
    assert log.lines("toy") == ["hello"]
    assert log.lines(after=1) == ["    eventarc │ created runs/r1"]
    assert (tmp_path / "toy.log").read_text() == "hello\n"


def test_a_reader_that_goes_away_does_not_matter() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.tell("toy", "hello")
    stream.close()
    log.tell("toy", "is anybody there?")
    assert log.lines("toy") == ["hello", "is anybody there?"]


def test_a_pipe_that_nobody_reads_stops_nobody_and_the_gap_is_told() -> None:
    reading, writing = os.pipe()
    line = "x" * 300
    with os.fdopen(reading, "r") as reader, os.fdopen(writing, "w") as stream:
        log = Log(stream)
        for number in range(1_000):  # several times what a pipe holds
            log.tell("toy", f"{number} {line}")
        assert len(log.lines("toy")) == 1_000
        heard = ""
        while select.select([reader], [], [], 0)[0]:
            heard += os.read(reader.fileno(), 2**16).decode()
        assert heard.startswith(f"         toy │ 0 {line}\n         toy │ 1 {line}\n")
        log.tell("toy", "is anybody there?")
        heard += os.read(reader.fileno(), 2**16).decode()
    *told, gap, last = heard.splitlines()
    assert told == [f"         toy │ {number} {line}" for number in range(len(told))], "no line is cut in two"
    assert gap == f"         log │ {1_000 - len(told)} lines are missing here: nobody read"
    assert last == "         toy │ is anybody there?"


def test_a_folder_that_takes_no_log_stops_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = Log(directory=tmp_path / "file" / "logs")
    log.tell("toy", "hello")
    log.tell("toy", "again")
    log.close()
    assert log.lines("toy") == ["hello", "again"]
