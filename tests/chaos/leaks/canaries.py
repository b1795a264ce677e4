"""Words that exist nowhere else, planted as secrets: wherever one turns up, that place has leaked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MODEL_KEY: Final = "canary-model-key-7f3a91"
CHART_KEYS: Final = {"first": "canary-chart-key-51c0aa", "second": "canary-chart-key-9be2d4"}
SYSTEM: Final = "canary-system-instruction-c81d"
PROMPT: Final = "canary-user-prompt-0d2e"
OUTPUT: Final = "canary-model-output-e64f"
NOTE: Final = "canary-note-in-a-file-a3b7"
PROVIDER: Final = "canary-words-of-a-provider-4c19"

KEYS: Final = (MODEL_KEY, *CHART_KEYS.values())
EVERYWHERE: Final = (*KEYS, SYSTEM, PROMPT, OUTPUT, NOTE, PROVIDER)  # to be found in no log, document or name
# What an answer in the name of a provider would quote, if it were to give everything away.
QUOTING: Final = f"{PROVIDER}: bad request {SYSTEM} {PROMPT} key={MODEL_KEY} key={CHART_KEYS['first']} {OUTPUT}"


@dataclass(frozen=True, slots=True)
class Place:
    """Somewhere that was looked at: its name, its text, and what may stand there because it belongs there."""

    name: str
    text: str
    may_hold: tuple[str, ...] = ()

    def leaks(self) -> Iterator[str]:
        for canary in EVERYWHERE:
            if canary not in self.may_hold and canary in self.text:
                yield f"{canary} is in {self.name}"


def as_text(value: object) -> str:
    return json.dumps(value, default=str, ensure_ascii=False)
