"""Whoever edits a function sees the new one answer."""

from pathlib import Path

import requests

from emulator.platform import Function, Platform
from tests.emulator.eventarc.receiver import eventually

SOURCE = """
import functions_framework
from {library} import word

@functions_framework.http
def answer(request):
    return word("{version}")
"""


def write(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "main.py").write_text(SOURCE.format(library=f"words_of_{folder.name}", version=version))
    (folder / f"words_of_{folder.name}.py").write_text("def word(text): return text\n")


def answer(platform: Platform, name: str) -> str:
    try:
        return requests.get(platform.url_of(name), timeout=5).text
    except requests.ConnectionError:
        return "(nobody there)"


def test_a_changed_function_starts_anew_and_the_others_stay(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(tmp_path / name, "old")
    functions = [Function(name, tmp_path / name, "answer") for name in ("one", "two")]
    with Platform(functions=functions, reload=True) as platform:
        assert answer(platform, "one") == "old"
        other = platform.functions["two"].pid
        write(tmp_path / "one", "new")
        assert eventually(lambda: answer(platform, "one") == "new", 15)
        assert platform.functions["two"].pid == other
        assert any("has changed: starting anew" in line for line in platform.log.lines("one"))
        assert not any("died" in line for line in platform.log.lines("one"))
        assert platform.log.lines("two") == []


def test_a_changed_library_starts_all_of_them_anew(tmp_path: Path) -> None:
    write(tmp_path / "one", "old")
    library = tmp_path / "library"
    library.mkdir()
    functions = [Function("one", tmp_path / "one" / "main.py", "answer")]
    with Platform(functions=functions, reload=True, libraries=[library]) as platform:
        before = platform.functions["one"].pid
        (library / "rules.py").write_text("RULES = 1\n")
        assert eventually(lambda: platform.functions["one"].pid != before, 15)
        assert eventually(lambda: answer(platform, "one") == "old", 15)
