"""Whether a platform runs here, and how to reach it: `.flow/platform.json`, in the folder where `flow up` was typed.

The file is locked for as long as its platform lives. The lock ends with the process, however that ends, so what a
killed one has left behind is never taken for a living one. Other commands look in their own folder and in those above
it, as git does. The folder hides itself from git.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Final

PLACE: Final = Path(".flow/platform.json")
LOGS: Final = Path(".flow/logs")
START_IT: Final = "start one with: flow up"


class NotRunning(Exception):
    """No platform here; the message says what there is instead."""


class AlreadyRunning(Exception):
    """There is one here, and one is enough."""


@dataclass(frozen=True, slots=True)
class Running:
    """A platform that can be used: what to export, where each function is, and the folder of its log files."""

    pid: int
    exports: Mapping[str, str]
    functions: Mapping[str, str]
    logs: str


@contextmanager
def claimed(folder: Path) -> Iterator[Callable[[Running], None]]:
    """Be the one platform of this folder; call what you get when it is ready."""
    place = folder / PLACE
    place.parent.mkdir(exist_ok=True)
    (place.parent / ".gitignore").write_text("*\n")
    with place.open("a+", encoding="utf-8") as file:
        if not _locked(file, fcntl.LOCK_EX):
            raise AlreadyRunning(f"a platform runs in {folder} already; its exports: flow env")
        file.truncate(0)

        def ready(running: Running) -> None:
            json.dump(asdict(running), file)
            file.flush()

        try:
            yield ready
        finally:
            file.truncate(0)


def running(folder: Path) -> Running:
    """The platform of this folder, or of the nearest above it."""
    found = (above / PLACE for above in (folder, *folder.parents))
    place = next((place for place in found if place.exists()), None)
    if place is None:
        raise NotRunning(f"no platform runs in {folder}, or above it; {START_IT}")
    with place.open(encoding="utf-8") as file:
        gone = _locked(file, fcntl.LOCK_SH)
        said = file.read()
    where = place.parent.parent
    match gone, said:
        case True, "":
            raise NotRunning(f"no platform runs in {where} any more; {START_IT}")
        case True, _:
            raise NotRunning(
                f"the platform in {where} was killed (it was process {json.loads(said)['pid']}); {START_IT}"
            )
        case False, "":
            raise NotRunning(f"the platform in {where} is still starting; ask again when it is ready")
    return Running(**json.loads(said))


def here(exports: Mapping[str, str], functions: Mapping[str, str], logs: Path) -> Running:
    """This very process."""
    return Running(os.getpid(), exports, functions, str(logs.resolve()))


def _locked(file: IO[str], kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
