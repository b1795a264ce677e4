"""The house keeps its shape: who may import whom, and what the core may touch.

A contract nobody has seen fail proves nothing, and a linter that skips a folder passes without looking. So
this file checks three things: that the contracts of pyproject.toml hold, that the linter sees every module,
and, in a copy of the tree, that each kind of trespass is caught.
"""

import shutil
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grimp
import pytest

from tests.reading.borders import folders_the_linter_skips, impurities, lint_imports, third_party_imports
from tests.reading.sources import PACKAGES, ROOT, files_of, imports_of, module_name, sources

LINES_A_FILE = 250


# --- the contracts ---------------------------------------------------------------------------------------


def test_import_contracts_hold() -> None:
    report = lint_imports(ROOT)
    assert report.returncode == 0, report.stdout + report.stderr


def test_every_folder_of_code_is_a_package() -> None:
    assert not (found := folders_the_linter_skips(ROOT)), f"add an __init__.py to: {', '.join(found)}"


def test_linter_sees_every_module() -> None:
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    unseen = {module_name(path, ROOT) for path in sources(ROOT)} - graph.modules
    assert not unseen, f"no contract covers: {', '.join(sorted(unseen))}"


# --- the core --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("room", ["domain", "ports.py", "engine"])
def test_core_needs_the_standard_library_only(room: str) -> None:
    assert not (found := third_party_imports(ROOT / "flowcore" / room)), "\n".join(found)


def test_domain_has_no_clock_no_chance_no_environment_and_no_log() -> None:
    assert not (found := impurities(ROOT / "flowcore/domain")), "\n".join(found)


def test_opening_the_package_imports_nothing() -> None:
    assert not list(imports_of(ROOT / "flowcore/__init__.py"))


def test_no_file_of_the_domain_hides_a_second_subject() -> None:
    lengths = {path.name: len(path.read_text().splitlines()) for path in files_of(ROOT / "flowcore/domain")}
    long = {name: lines for name, lines in lengths.items() if lines > LINES_A_FILE}
    assert not long, f"past {LINES_A_FILE} lines, ask what else moved in: {long}"


# --- sabotage: each trespass is caught -------------------------------------------------------------------

# The copy that gets sabotaged has a room of each kind, named as a trespass names it.
ROOMS = {
    "flowcore/adapters/storage.py": "import flowcore.adapters.sdk",
    "flowcore/adapters/sdk.py": "import flowcore.domain",
    "flowcore/cli/demo.py": "import emulator, flowcore.runtime",
    "functions/alpha/__init__.py": "",
    "functions/alpha/main.py": "import flowcore.runtime",
    "functions/beta/__init__.py": "",
}

TRESPASSES = {
    "domain imports ports": ("tower", "flowcore/domain/x.py", "import flowcore.ports"),
    "ports import engine": ("tower", "flowcore/ports.py", "import flowcore.engine"),
    "engine imports an adapter": ("tower", "flowcore/engine/x.py", "import flowcore.adapters.storage"),
    "engine imports its test doubles": ("tower", "flowcore/engine/x.py", "import flowcore.testing"),
    "engine imports config, hidden": ("tower", "flowcore/engine/x.py", "def f(): import flowcore.config"),
    "contracts import an adapter": ("tower", "flowcore/contracts/x.py", "import flowcore.adapters.storage"),
    "testing imports engine": ("tower", "flowcore/testing/x.py", "import flowcore.engine"),
    "runtime imports the command line": ("tower", "flowcore/runtime.py", "import flowcore.cli"),
    "a module has no floor": ("tower", "flowcore/utils.py", ""),
    "config imports ports": ("config", "flowcore/config.py", "import flowcore.ports"),
    "a function imports config": ("wiring", "functions/alpha/main.py", "import flowcore.config"),
    "adapters import each other": ("circles", "flowcore/adapters/sdk.py", "import flowcore.adapters.storage"),
    "a function imports another": ("functions", "functions/alpha/main.py", "import functions.beta"),
    "flowcore imports a function": ("deployables", "flowcore/runtime.py", "import functions.alpha"),
    "emulator imports flowcore": ("outside", "emulator/x.py", "import flowcore.domain"),
    "emulator imports a function": ("outside", "emulator/x.py", "import functions.alpha"),
    "runtime starts the emulator": ("laptop", "flowcore/runtime.py", "import emulator"),
    "a function starts the emulator": ("laptop", "functions/alpha/main.py", "import emulator"),
    "flowcore imports the deployment": ("unaware", "flowcore/runtime.py", "import deploy.target"),
    "a function imports the deployment": ("unaware", "functions/alpha/main.py", "import deploy.target"),
    "emulator imports the deployment": ("unaware", "emulator/x.py", "import deploy.target"),
    "the deployment imports a function": ("deployment", "deploy/x.py", "import functions.sweep.main"),
    "the deployment imports the command line": ("deployment", "deploy/x.py", "import flowcore.cli"),
    "the deployment imports the emulator": ("deployment", "deploy/x.py", "import emulator"),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return copy_of_the_tree(tmp_path)


def copy_of_the_tree(place: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    for name, text in ROOMS.items():
        if not (place / name).exists():
            plant(place, name, text)
    return place


def plant(tree: Path, name: str, text: str) -> None:
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def test_these_rooms_fit_the_contracts(copy: Path) -> None:
    report = lint_imports(copy)
    assert report.returncode == 0, report.stdout + report.stderr


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All at once: each is a process of its own, and one after the other they would take seconds."""
    trees = {trespass: copy_of_the_tree(tmp_path_factory.mktemp("tree")) for trespass in TRESPASSES}

    def report(trespass: str) -> str:
        contract, name, text = TRESPASSES[trespass]
        plant(trees[trespass], name, text)
        return lint_imports(trees[trespass], "--contract", contract).stdout

    with ThreadPoolExecutor() as pool:
        return dict(zip(TRESPASSES, pool.map(report, TRESPASSES), strict=True))


@pytest.mark.parametrize("trespass", TRESPASSES)
def test_trespass_breaks_the_contract(reports: dict[str, str], trespass: str) -> None:
    assert "0 kept, 1 broken" in reports[trespass], reports[trespass]


def test_every_contract_has_been_seen_to_fail() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = {contract["id"] for contract in config["tool"]["importlinter"]["contracts"]}
    assert contracts == {contract for contract, _, _ in TRESPASSES.values()}


@pytest.mark.parametrize(
    "name", ["functions/gamma/main.py", "functions/gamma/requirements.txt", "flowcore/engine/deep/x.py"]
)
def test_folder_without_init_is_noticed(copy: Path, name: str) -> None:
    plant(copy, name, "")
    assert folders_the_linter_skips(copy) == [str(Path(name).parent)]


@pytest.mark.parametrize("line", ["import requests", "from google.cloud import firestore", "def f(): import pydantic"])
def test_third_party_import_is_noticed(copy: Path, line: str) -> None:
    plant(copy, "flowcore/domain/x.py", line)
    (found,) = third_party_imports(copy / "flowcore/domain")
    assert "x.py:1" in found


@pytest.mark.parametrize(
    "line",
    [
        "import time",
        "from os import environ",
        "import logging.config",
        "from uuid import uuid4",
        "moment = datetime.now(UTC)",
        "moment = dt.datetime.utcnow()",
        "day = date.today()",
        "print(run)",
    ],
)
def test_impurity_is_noticed(copy: Path, line: str) -> None:
    plant(copy, "flowcore/domain/x.py", line)
    (found,) = impurities(copy / "flowcore/domain")
    assert "x.py:1" in found
