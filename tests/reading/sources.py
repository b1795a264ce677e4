"""The sources as trees, for the tests that are about the code and not about what it does."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("flowcore", "functions", "emulator", "llm_schemas", "deploy")

LOG_LEVELS = frozenset({"debug", "info", "warning", "error", "exception"})


def files_of(place: Path) -> list[Path]:
    return sorted(place.rglob("*.py")) if place.is_dir() else [place]


def sources(tree: Path) -> list[Path]:
    return [path for package in PACKAGES for path in files_of(tree / package)]


def module_name(path: Path, tree: Path) -> str:
    return ".".join(path.relative_to(tree).with_suffix("").parts).removesuffix(".__init__")


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(), path.name))


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import, wherever in the file it hides."""
    for node in nodes_of(path):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module


def log_events_of(path: Path) -> Iterator[tuple[int, str | None]]:
    """Line and event of every `ctx.log.info("step_claimed", …)` or `log().info(…)`; None where it is computed."""
    for node in nodes_of(path):
        match node:
            case ast.Call(func=ast.Attribute(attr=level, value=owner), args=[event, *_]) if (
                level in LOG_LEVELS and _is_log(owner)
            ):
                literal = isinstance(event, ast.Constant) and isinstance(event.value, str)
                yield node.lineno, ast.literal_eval(event) if literal else None


def _is_log(owner: ast.expr) -> bool:
    match owner:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().endswith("log")
        case ast.Call(func=made):
            return _is_log(made)
    return False
