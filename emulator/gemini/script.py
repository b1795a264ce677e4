"""What a test wants said, instead of what the analyst would say."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from emulator.gemini.prompt import Prompt

Line = str | Callable[[Prompt], str]


@dataclass(slots=True)
class _Cue:
    line: Line
    when: str
    left: int | None


class Script:
    """Lines in the order in which they were given; each is said when its cue falls, as often as it may be."""

    def __init__(self) -> None:
        self._cues: list[_Cue] = []
        self._lock = threading.Lock()

    def say(self, line: Any, *, when: str = "", times: int | None = 1) -> None:
        """Answer with a text, a function of the prompt, or a value as JSON, to a prompt that contains `when`."""
        spoken = line if isinstance(line, str) or callable(line) else json.dumps(line, ensure_ascii=False)
        with self._lock:
            self._cues.append(_Cue(spoken, when, times))

    def line_for(self, prompt: Prompt) -> str | None:
        """What the script has for this prompt, if anything."""
        with self._lock:
            cue = next((cue for cue in self._cues if cue.left != 0 and cue.when in prompt.text), None)
            if cue is None:
                return None
            if cue.left is not None:
                cue.left -= 1
        return cue.line if isinstance(cue.line, str) else cue.line(prompt)

    def clear(self) -> None:
        with self._lock:
            self._cues.clear()
