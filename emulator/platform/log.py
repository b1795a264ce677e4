"""One stream for all parts, each line with the name of who says it."""

import threading
from collections import deque
from pathlib import Path
from typing import Final, TextIO

WIDTH: Final = 12  # of the column of names, until somebody with a longer one speaks
REMEMBERED: Final = 5_000


class Log:
    """Lines to a stream, to a file for each part when there is a folder, and the newest in memory."""

    def __init__(self, stream: TextIO | None = None, directory: Path | None = None) -> None:
        self._stream = stream
        self._directory = directory
        self._lines: deque[tuple[int, str, str]] = deque(maxlen=REMEMBERED)
        self._files: dict[str, TextIO] = {}
        self._lock = threading.Lock()
        self._width = WIDTH
        self.told = 0

    def tell(self, part: str, line: str) -> None:
        with self._lock:
            self.told += 1
            self._lines.append((self.told, part, line))
            self._width = max(self._width, len(part))
            self._print(f"{part:>{self._width}} │ {line}\n")
            if self._directory:
                self._file(part, self._directory).write(line + "\n")

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
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None  # whoever read it has gone; that must not stop a delivery

    def _file(self, part: str, directory: Path) -> TextIO:
        if part not in self._files:
            directory.mkdir(parents=True, exist_ok=True)
            self._files[part] = (directory / f"{part}.log").open("a", encoding="utf-8", buffering=1)
        return self._files[part]
