"""Who crosses which border: the linter's answer, and what a linter of imports cannot know."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.reading.sources import files_of, imports_of, nodes_of, sources

# The doors of the standard library through which the world would get into the domain.
WORLD = frozenset(
    {"asyncio", "importlib", "logging", "multiprocessing", "os", "pathlib", "platform", "random"}
    | {"secrets", "socket", "subprocess", "sys", "tempfile", "threading", "time", "uuid"}
)
CLOCKS = frozenset({"now", "utcnow", "today"})
EFFECTS = frozenset({"input", "open", "print"})


def lint_imports(tree: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: in this one the real packages are loaded, and would hide those of a copy."""
    start = "from importlinter.cli import lint_imports_command as lint; lint()"
    command = [sys.executable, "-c", start, "--no-logo", "--no-cache", *options]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def folders_the_linter_skips(tree: Path) -> list[str]:
    """Those with code somewhere below, and those that claim to be a function."""
    packages = {folder for path in sources(tree) for folder in path.relative_to(tree).parents} - {Path()}
    functions = {Path("functions", path.name) for path in (tree / "functions").iterdir() if path.is_dir()}
    expected = packages | functions - {Path("functions/__pycache__")}
    return sorted(str(folder) for folder in expected if not (tree / folder / "__init__.py").exists())


def third_party_imports(place: Path) -> list[str]:
    return [
        f"{path.name}:{line} imports {module}: only an adapter may need more than the standard library"
        for path in files_of(place)
        for line, module in imports_of(path)
        if (top := module.partition(".")[0]) != "flowcore" and top not in sys.stdlib_module_names
    ]


def impurities(place: Path) -> list[str]:
    return [
        f"{path.name}:{line} {what}: pass what it would tell as an argument"
        for path in files_of(place)
        for line, what in [*worldly_imports(path), *worldly_calls(path)]
    ]


def worldly_imports(path: Path) -> Iterator[tuple[int, str]]:
    for line, module in imports_of(path):
        if module.partition(".")[0] in WORLD:
            yield line, f"imports {module}"


def worldly_calls(path: Path) -> Iterator[tuple[int, str]]:
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in CLOCKS:
                yield node.lineno, f"calls .{name}()"
            case ast.Call(func=ast.Name(id=name)) if name in EFFECTS:
                yield node.lineno, f"calls {name}()"
