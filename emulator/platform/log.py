"""One stream for all parts, each line with the name of who says it.

Whoever speaks here is delivering an event or serving a call, so a line that cannot be told costs a line and nothing
else: not the delivery, and not the time until somebody reads again. A full pipe, a stopped terminal and a disk without
room are other people's affairs.
"""

import select
import threading
from collections import deque
from pathlib import Path
from typing import Final, TextIO

WIDTH: Final = 12  # of the column of names, until somebody with a longer one speaks
REMEMBERED: Final = 5_000
PATIENCE: Final = 0.5  # seconds, once: a reader may be slow, but not for ever
AT_ONCE: Final = 120  # characters: at most 480 bytes, and what takes anything takes 512 without waiting (PIPE_BUF)


class Log:
    """Lines to a stream, to a file for each part when there is a folder, and the newest in memory."""

    def __init__(self, stream: TextIO | None = None, directory: Path | None = None) -> None:
        self._stream = stream
        self._directory = directory
        self._lines: deque[tuple[int, str, str]] = deque(maxlen=REMEMBERED)
        self._files: dict[str, TextIO] = {}
        self._lock = threading.Lock()
        self._width = WIDTH
        self._unread = 0  # lines that the stream had no room for
        self._rest = ""  # of a line of which it took the beginning
        self.told = 0

    def tell(self, part: str, line: str) -> None:
        with self._lock:
            self.told += 1
            self._lines.append((self.told, part, line))
            self._width = max(self._width, len(part))
            self._print(f"{part:>{self._width}} │ {line}\n")
            self._keep(part, line)

    def lines(self, part: str | None = None, *, after: int = 0) -> list[str]:
        """What was said, by all or by one, after so many lines."""
        with self._lock:
            return [
                f"{who:>{self._width}} │ {line}" if part is None else line
                for number, who, line in self._lines
                if number > after and part in (None, who)
            ]

    def close(self) -> None:
        with self._lock:
            for file in self._files.values():
                file.close()
            self._files.clear()

    def _print(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            if not self._has_room(self._stream):
                self._unread += 1
                return
            if self._unread:
                text = f"{'log':>{self._width}} │ {self._unread} lines are missing here: nobody read\n{text}"
                self._unread = 0
            self._rest += text
            while self._rest and self._has_room(self._stream):
                self._stream.write(self._rest[:AT_ONCE])
                self._stream.flush()
                self._rest = self._rest[AT_ONCE:]
        except (OSError, ValueError):
            self._stream = None  # whoever read it has gone; that must not stop a delivery

    def _has_room(self, stream: TextIO) -> bool:
        """Only what is a file to the system can be full; a stream in memory takes everything."""
        try:
            place = stream.fileno()
        except OSError:
            return True
        patience = 0.0 if self._unread else PATIENCE
        return bool(select.select([], [place], [], patience)[1])

    def _keep(self, part: str, line: str) -> None:
        if self._directory is None:
            return
        try:
            self._file(part, self._directory).write(line + "\n")
        except OSError:
            self._directory = None  # no room, or no such place; what is in memory and on the stream has to do

    def _file(self, part: str, directory: Path) -> TextIO:
        if part not in self._files:
            directory.mkdir(parents=True, exist_ok=True)
            self._files[part] = (directory / f"{part}.log").open("a", encoding="utf-8", buffering=1)
        return self._files[part]
