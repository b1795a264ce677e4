"""What the documents claim, against what is so: text and truth in, complaints out.

A complaint says where, what, and what to do about it. None of these functions knows the repository, so each
can be shown on a small sample to complain when it should.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote

from tests.reading.markdown import anchors, code, links, section, tables
from tests.reading.sources import files_of, log_events_of

_ACCEPTANCE = re.compile(r"@pytest\.mark\.acceptance\(([^)]*)\)")


def compare(place: str, told: Iterable[str], true: Iterable[str]) -> Iterator[str]:
    told, true = set(told), set(true)
    yield from (f"{place}: `{name}` is missing: add its row" for name in sorted(true - told))
    yield from (f"{place}: `{name}` is told, but the code has none: remove it" for name in sorted(told - true))


def rows_headed(word: str, text: str) -> dict[str, list[str]]:
    """The rows of every table whose first column is headed by the word, by what that column names."""
    rows = [row for table in tables(text) if word in table.header[0].lower() for row in table.rows]
    return {row[0].strip("`"): [cell.strip("`*").lower() for cell in row[1:]] for row in rows}


def error_complaints(text: str, truth: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    told = rows_headed("code", text)
    yield from compare("spec/errors.md", told, truth)
    for name in sorted(told.keys() & truth.keys()):
        if told[name][:2] != [*truth[name]]:
            yield f"spec/errors.md: `{name}` is {told[name][:2]}; the registry has {[*truth[name]]}"


def event_complaints(text: str, *packages: Path) -> Iterator[str]:
    written: set[str] = set()
    for package in packages:
        for path in files_of(package):
            for line, event in log_events_of(path):
                if event is None:
                    yield f"{path.relative_to(package.parent)}:{line}: write the event as a plain string"
                else:
                    written.add(event)
    yield from compare("spec/logging.md", rows_headed("event", text), written)


def promise_complaints(text: str, batteries: Iterable[str]) -> Iterator[str]:
    """Every promise names a battery that would break it, by a name that `make chaos` prints, and none is left out."""
    batteries, told = set(batteries), set[str]()
    for table in tables(text):
        for row in table.rows if table.header[0] == "promise" else ():
            named = {name for name in re.findall("`([^`]*)`", row[-1]) if ":" in name or name in batteries}
            told |= named
            if not named:
                yield f"spec/guarantees.md: name the battery that proves: {row[0]}"
    yield from compare("spec/guarantees.md", told, batteries)


def variable_complaints(text: str, variables: Iterable[str]) -> Iterator[str]:
    rows = [row for table in tables(section(text, "Configuration")) for row in table.rows]
    yield from compare("README.md, Configuration", [row[0].strip("`") for row in rows], variables)


def make_complaints(makefile: str, texts: Mapping[str, str]) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z][\w-]*):(?!=)", makefile, re.MULTILINE))
    helpful = set(re.findall(r"^([a-z][\w-]*):.*## ", makefile, re.MULTILINE))
    told = {name: set(mentioned_targets(text)) for name, text in texts.items()}
    for name, mentioned in told.items():
        yield from (f"{name}: the Makefile has no target {target}" for target in sorted(mentioned - targets))
    manual = told.get("README.md", set()) | told.get("CONTRIBUTING.md", set())
    yield from (f"CONTRIBUTING.md: say what `make {target}` is for" for target in sorted(helpful - manual))


def mentioned_targets(text: str) -> Iterator[str]:
    """`make lint test PYTHON=python3.12` mentions lint and test; prose that makes sense mentions nothing."""
    for snippet in code(text):
        if command := re.match(r"(?:\$ )?make((?: +[\w.=/-]+)+)", snippet):
            yield from (word for word in command[1].split() if re.fullmatch(r"[a-z][\w-]*", word))


def documents(tree: Path) -> dict[str, str]:
    """Every document of ours; what stands in a hidden folder was made or brought by a tool."""
    names = sorted(path.relative_to(tree) for path in tree.rglob("*.md"))
    return {str(name): (tree / name).read_text() for name in names if not str(name).startswith(".")}


def link_complaints(tree: Path) -> Iterator[str]:
    for name, text in documents(tree).items():
        for link in links(text):
            if fault := link_fault(tree, name, link):
                yield f"{name}: {link} leads nowhere: {fault}"


def link_fault(tree: Path, name: str, link: str) -> str | None:
    if re.match(r"[a-z][a-z+.-]*:", link):
        return None  # another site; a test that needs the network would fail for reasons of its own
    path, _, anchor = unquote(link).partition("#")
    start = tree if path.startswith("/") else (tree / name).parent
    target = (start / path.lstrip("/")).resolve() if path else tree / name
    if not target.is_relative_to(tree.resolve()):
        return "it leaves the repository"
    if not target.exists():
        return "no such file"
    if anchor and target.suffix == ".md" and anchor not in anchors(target.read_text()):
        return "no such heading"
    return None


def has_release(text: str) -> bool:
    return re.search(r"^## \[?(Unreleased|\d+\.\d+\.\d+)\b", text, re.MULTILINE) is not None


def acceptance_complaints(texts: Iterable[str], rows: Iterable[str]) -> Iterator[str]:
    shown = {row for text in texts for marker in _ACCEPTANCE.findall(text) for row in re.findall(r'"(\w+)"', marker)}
    if unshown := [row for row in rows if row not in shown]:
        yield f'tests/functions: no test shows {", ".join(unshown)}: mark one with acceptance("{unshown[0]}")'


def vector_complaints(folders: Iterable[str], rows: Iterable[str]) -> Iterator[str]:
    told = {re.split(r"[-_]", folder)[0].upper() for folder in folders}
    if untold := [row for row in rows if row not in told]:
        yield f"spec/vectors: no case tells {', '.join(untold)}: add folders like {untold[0]}-what-happens"
