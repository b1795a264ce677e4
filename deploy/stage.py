"""A function as it travels: one folder with everything that it imports, and nothing beside it.

A deployment takes one folder, and only that folder is on the path in the cloud. So each function gets a copy of the
modules that it can reach, lazy imports included: found by reading the sources, not by running them, because what a
function imports depends on what it is asked to do. Taking the whole of flowcore instead would bring the command line
along, and would deploy every function anew for a change that only `flow` can see.

The third-party packages are those of the project's lock, restricted to what the function's own requirements lead to,
with their hashes: what was tested is what is installed.
"""

from __future__ import annotations

import ast
import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("flowcore", "functions", "llm_schemas")
LOCK = "requirements/test.txt"
_PIN = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==")
_IGNORED = "__pycache__/\n*.pyc\n.gcloudignore\n"


class Unlocked(Exception):
    """A requirement is not in the lock. The message says which; `make lock` brings it in."""


def stage(name: str, folder: Path, root: Path = ROOT) -> str:
    """Make the folder anew, unless it is right already: another deployment may be uploading it. Returns its hash."""
    files = staged_files(name, root)
    if content_of(folder) != files:
        shutil.rmtree(folder, ignore_errors=True)
        for path, content in files.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    return digest(files)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for path in sorted(files):
        total.update(f"{path}\0{len(files[path])}\0".encode() + files[path])
    return total.hexdigest()


def staged_files(name: str, root: Path = ROOT) -> dict[str, bytes]:
    """By their paths in the folder; the same sources give the same bytes."""
    modules = reachable(f"functions.{name}.main", root)
    files = {path: (root / path).read_bytes() for path in modules}
    files |= {path: (root / path).read_bytes() for path in _data(name, modules, root)}
    files["main.py"] = f"from functions.{name}.main import {name}\n\n__all__ = [{name!r}]\n".encode()
    files["requirements.txt"] = requirements(name, root).encode()
    files[".gcloudignore"] = _IGNORED.encode()
    return dict(sorted(files.items()))


# --- what it imports --------------------------------------------------------------------------------------


def reachable(module: str, root: Path = ROOT) -> list[str]:
    """The files of our own modules that this one can come to import, and those of the packages that they are in."""
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _file_of(name, root)
        if name in found or path is None:
            continue
        found[name] = path
        waiting += [name.rpartition(".")[0], *_imports((root / path).read_text("utf-8"))]
    return sorted(found.values())


def _file_of(module: str, root: Path) -> str | None:
    """None: it is not ours, or it is a name inside a module."""
    if module.partition(".")[0] not in PACKAGES:
        return None
    path = module.replace(".", "/")
    return next((each for each in (f"{path}.py", f"{path}/__init__.py") if (root / each).exists()), None)


@cache
def _imports(source: str) -> list[str]:
    """Modules, and names in modules: which of the two a name is, the file system knows."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names):
                found += [module, *(f"{module}.{alias.name}" for alias in names)]
    return found


def _data(name: str, modules: Sequence[str], root: Path) -> Iterator[str]:
    """What modules read from beside themselves: the function's own files, and folders of data inside a package."""
    for package in {Path(path).parent for path in modules}:
        for folder in sorted(each for each in (root / package).iterdir() if each.is_dir()):
            if folder.name != "__pycache__" and not any(folder.rglob("*.py")):
                yield from (str(path.relative_to(root)) for path in sorted(folder.rglob("*")) if path.is_file())
        if package.parts[:2] == ("functions", name):
            own = sorted(path for path in (root / package).iterdir() if path.is_file())
            yield from (
                str(path.relative_to(root)) for path in own if path.suffix != ".py" and path.name != "requirements.txt"
            )


# --- what it needs ----------------------------------------------------------------------------------------


def requirements(name: str, root: Path = ROOT) -> str:
    """The share of the lock to which the function's own requirements lead."""
    lock = _locked((root / LOCK).read_text("utf-8"))
    wished = re.findall(
        r"^[A-Za-z0-9._-]+", (root / "functions" / name / "requirements.txt").read_text("utf-8"), re.MULTILINE
    )
    missing = [each for each in wished if each not in {pin for pin, _, _ in lock}]
    if missing:
        raise Unlocked(f"functions/{name}/requirements.txt: {', '.join(missing)} is not in {LOCK}; run make lock")
    needed: set[str] = set()
    waiting = set(wished)
    while waiting:
        needed |= waiting
        waiting = {pin for pin, _, because in lock if because & needed} - needed
    return "".join(pinned for pin, pinned, _ in lock if pin in needed)


def _locked(text: str) -> list[tuple[str, str, set[str]]]:
    """Each pin: its name, its lines with the hashes, and who needs it; the same name may come with several markers."""
    entries = []
    for block in re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE):
        if named := _PIN.match(block):
            lines = [line for line in block.splitlines(keepends=True) if not line.lstrip().startswith("#")]
            notes = "".join(line for line in block.splitlines(keepends=True) if line.lstrip().startswith("#"))
            because = set(re.findall(r"[a-z0-9][a-z0-9._-]*", re.sub(r"# via|#|\(.*?\)|\[.*?\]", " ", notes)))
            entries.append((named["name"], "".join(lines), because))
    return entries
