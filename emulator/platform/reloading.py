"""Whoever edits a function sees the new one answer: a change of its source starts it anew, and says so."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from watchfiles import watch

from emulator.platform.log import Log
from emulator.platform.process import Process

DEBOUNCE_MS: Final = 200  # an editor writes several files at once, or one in several steps
LOOK_MS: Final = 100  # after the first look nothing is missed


class Reloading:
    """Watches from its making until `stop`. `watched`: a folder or a file, and whom a change in it concerns."""

    def __init__(self, watched: Mapping[Path, Sequence[Process]], log: Log) -> None:
        self._watched = watched
        self._log = log
        self._looking, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reloading", daemon=True)
        self._thread.start()
        self._looking.wait()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        folders = {path if path.is_dir() else path.parent for path in self._watched}  # an editor may replace a file
        for changes in watch(
            *folders,
            stop_event=self._ended,
            debounce=DEBOUNCE_MS,
            rust_timeout=LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
        ):
            self._looking.set()
            self._renew(sorted(Path(name) for _, name in changes))

    def _renew(self, changed: Sequence[Path]) -> None:
        concerned: dict[Process, Path] = {}
        for file in changed:
            for path, processes in self._watched.items():
                if file.is_relative_to(path):
                    concerned.update(dict.fromkeys(processes, file))
        for process, file in concerned.items():
            self._log.tell(process.name, f"{file.name} has changed: starting anew")
            process.renew()
