"""A staged folder is all that a function needs: it answers where nothing else of the project can be imported."""

import ast
import json
import os
import re
import socket
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import requests
from google.events.cloud.firestore import DocumentEventData

from deploy.stage import ROOT, Unlocked, content_of, digest, reachable, requirements, stage, staged_files
from emulator.firestore.server import FirestoreServer
from functions.catalogue import Deployable, deployables
from tests.functions.system import wait_until
from tests.reading.sources import PACKAGES, files_of, imports_of, module_name, nodes_of, sources

FUNCTIONS = deployables()
BY_NAME = {each.name: each for each in FUNCTIONS}
# Nobody listens there: an event that is for nobody makes no call.
NOBODY = "127.0.0.1:1"
ENVIRONMENT = {
    "ARTIFACTS_BUCKET": "artifacts",
    "GEMINI_API_KEY": "none",
    "GOOGLE_CLOUD_PROJECT": "p",
    "STORAGE_EMULATOR_HOST": "http://127.0.0.1:1",
}
# -S: an editable install puts the project's root on the path by a .pth file, and only `site` reads those.
ALONE = "import sys; sys.path[:0] = {path!r}; "
SERVE = "from functions_framework._cli import _cli; _cli()"
LOOK = """
import importlib.util, json, flowcore
names = ["flowcore.cli", "flowcore.testing", "emulator", "deploy", "functions.catalogue", "llm_schemas"]
print(json.dumps([flowcore.__file__, [name for name in names if importlib.util.find_spec(name)]]))
"""


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("stage")
    for function in FUNCTIONS:
        stage(function.name, place / function.name)
    return {function.name: place / function.name for function in FUNCTIONS}


def a_finished_run() -> tuple[bytes, dict[str, str]]:
    """An event that every function understands, and that gives none of them anything to do."""
    step = {"map_value": {"fields": {key: {"string_value": value} for key, value in STEP.items()}}}
    fields = {
        "runId": {"string_value": "r1"},
        "status": {"string_value": "SUCCEEDED"},
        "finishedAt": {"string_value": "2026-01-01T00:00:00Z"},
        "steps": {"map_value": {"fields": {"one": step}}},
    }
    name = "projects/p/databases/(default)/documents/flow_runs/r1"
    value = {"name": name, "fields": fields, "update_time": datetime(2026, 1, 1, tzinfo=UTC)}
    headers = {
        "ce-id": "1", "ce-source": "//firestore.googleapis.com/projects/p/databases/(default)", "ce-specversion": "1.0",
        "ce-type": "google.cloud.firestore.document.v1.written", "ce-subject": "documents/flow_runs/r1",
        "ce-document": "flow_runs/r1", "ce-time": "2026-01-01T00:00:00Z", "content-type": "application/protobuf",
    }  # fmt: skip
    return DocumentEventData.serialize(DocumentEventData(value=value)), headers


STEP = {"stepType": "NONE", "status": "SUCCEEDED"}


@contextmanager
def served(function: Deployable, folder: Path, interpreter: list[str], firestore: str = NOBODY) -> Iterator[str]:
    """functions-framework, in the folder, and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    kind = "cloudevent" if function.run_triggered else "http"
    words = [f"--target={function.name}", f"--signature-type={kind}", "--host=127.0.0.1", f"--port={port}"]
    with (folder.parent / f"{function.name}.log").open("w") as log:
        process = subprocess.Popen(
            [*interpreter, *words],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "FIRESTORE_EMULATOR_HOST": firestore, **ENVIRONMENT},
            stdout=log,
            stderr=log,
        )
        try:
            wait_until(lambda: process.poll() is not None or answers(port))
            assert process.poll() is None, Path(log.name).read_text()
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(10)


def answers(port: str) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", int(port))) == 0


def alone(folder: Path, script: str) -> list[str]:
    path = [str(folder), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return [sys.executable, "-I", "-S", "-c", ALONE.format(path=path) + script]


def ask(function: Deployable, url: str) -> str:
    """What it answers, or logs, to something that it understands and that takes no more than a look."""
    if not function.run_triggered:
        return requests.post(url, json={"flowKey": "nobody_v1"}, timeout=20).text
    body, headers = a_finished_run()
    return str(requests.post(url, data=body, headers=headers, timeout=20).status_code)


# --- alone ------------------------------------------------------------------------------------------------


def test_a_staged_function_serves_an_event_and_sees_nothing_else_of_the_project(staged: dict[str, Path]) -> None:
    for name in ("advance_flow", "worker_llm_report"):
        with served(BY_NAME[name], staged[name], alone(staged[name], SERVE)) as url:
            assert ask(BY_NAME[name], url) == "200"
        said = (staged[name].parent / f"{name}.log").read_text()
        assert '"event_noop"' in said, said
        assert "event_ignored" not in said


@pytest.mark.parametrize("name", ["sweep", "worker_charts"])
def test_nothing_outside_the_folder_can_be_imported(staged: dict[str, Path], name: str) -> None:
    out = subprocess.run(alone(staged[name], LOOK), cwd=staged[name], capture_output=True, text=True, check=True).stdout
    place, found = json.loads(out)
    assert Path(place).is_relative_to(staged[name])
    assert found == []


@pytest.mark.parametrize("name", BY_NAME)
def test_every_module_that_a_function_can_come_to_import_is_there(staged: dict[str, Path], name: str) -> None:
    """Lazy imports included, and those of names that turn out to be modules."""
    there = {module_name(path, staged[name]) for path in files_of(staged[name])}
    ours = {module for path in files_of(staged[name]) for _, module in imports_of(path) if is_ours(module)}
    assert len(ours) > 10
    assert ours <= there
    whole = {module_name(path, ROOT) for path in sources(ROOT)}
    assert not {module for path in files_of(staged[name]) for module in names_imported(path)} & whole - there


def names_imported(path: Path) -> Iterator[str]:
    for node in nodes_of(path):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_ours(module: str) -> bool:
    return module.partition(".")[0] in PACKAGES


@pytest.fixture(scope="module")
def firestore() -> Iterator[FirestoreServer]:
    server = FirestoreServer().start()
    yield server
    server.stop()


UNDERSTOOD = {"sweep": '"seen":0', "start_flow": "FLOW_NOT_FOUND"}  # they ask the database; the others say 200


@pytest.mark.long
@pytest.mark.parametrize("name", BY_NAME)
def test_in_a_clean_environment_with_its_own_requirements_it_answers(
    staged: dict[str, Path], tmp_path: Path, firestore: FirestoreServer, name: str
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv/bin/python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*install, "-r", str(staged[name] / "requirements.txt")], check=True, timeout=540)
    with served(BY_NAME[name], staged[name], [python, "-c", SERVE], firestore.host) as url:
        assert UNDERSTOOD.get(name, "200") in ask(BY_NAME[name], url)


# --- what is in it ----------------------------------------------------------------------------------------


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    for place in ("once", "again"):
        stage("worker_charts", tmp_path / place)
    once, again = (content_of(tmp_path / place) for place in ("once", "again"))
    assert once == again
    assert digest(once) == stage("worker_charts", tmp_path / "again")
    assert digest(once) != digest({**once, "main.py": b"another"})


def test_a_folder_that_is_right_already_is_left_alone_because_somebody_may_be_uploading_it(tmp_path: Path) -> None:
    stage("sweep", tmp_path)
    os.utime(tmp_path / "main.py", (1, 1))
    stage("sweep", tmp_path)
    assert (tmp_path / "main.py").stat().st_mtime == 1
    (tmp_path / "main.py").write_text("another")
    stage("sweep", tmp_path)
    assert content_of(tmp_path) == staged_files("sweep")


def test_what_was_staged_before_is_gone(tmp_path: Path) -> None:
    (tmp_path / "sweep").mkdir()
    (tmp_path / "sweep/old.py").write_text("")
    stage("sweep", tmp_path / "sweep")
    assert not (tmp_path / "sweep/old.py").exists()


def test_the_command_line_travels_with_nobody() -> None:
    for name in BY_NAME:
        assert not [path for path in staged_files(name) if path.startswith(("flowcore/cli", "flowcore/testing"))]
        others = [path for path in staged_files(name) if re.match(rf"functions/(?!{name}/|__init__)", path)]
        assert not others


def test_a_lazy_import_is_followed_and_a_name_inside_a_module_is_none(tmp_path: Path) -> None:
    for path, text in {
        "functions/one/main.py": "def f():\n    from flowcore import late, constant\n",
        "flowcore/__init__.py": "constant = 1",
        "flowcore/late.py": "import flowcore.deep.er",
        "flowcore/deep/er.py": "import json",
        "flowcore/unused.py": "",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = reachable("functions.one.main", tmp_path)
    assert found == ["flowcore/__init__.py", "flowcore/deep/er.py", "flowcore/late.py", "functions/one/main.py"]


def test_requirements_are_pinned_with_hashes_and_closed() -> None:
    """Whatever a pinned package says it needs is pinned, too."""
    for function in FUNCTIONS:
        text = requirements(function.name)
        pins = re.findall(r"^([a-z0-9._-]+)==\S+", text, re.MULTILINE)
        assert all("--hash=sha256:" in block for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE) if block)
        wished = re.findall(r"^[a-z0-9-]+", (function.folder / "requirements.txt").read_text(), re.MULTILINE)
        assert set(wished) <= set(pins)
        assert not {"pytest", "mypy", "ruff", "duckdb", "typer"} & set(pins)


def test_a_requirement_that_is_not_locked_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/test.txt").write_text((ROOT / "requirements/test.txt").read_text())
    (tmp_path / "functions/one").mkdir(parents=True)
    (tmp_path / "functions/one/requirements.txt").write_text("functions-framework>=3\nnobody-has-this>=1\n")
    with pytest.raises(Unlocked, match="nobody-has-this"):
        requirements("one", tmp_path)
