"""What the analyst would put into a field of that name: the bridge between findings and anybody's schema."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from emulator.gemini.analyst import Findings, report, study
from emulator.gemini.prompt import Prompt

# The first pattern that fits the field's name decides; a name is read as words, so `pctChange` is "pct change".
NUMBERS: Final[tuple[tuple[str, Callable[[Findings], float]], ...]] = (
    (r"support|stop|invalidation|floor", lambda found: found.support),
    (r"resistance|target|ceiling|take profit", lambda found: found.resistance),
    (r"volatil|risk|sigma", lambda found: found.volatility),
    (r"atr|range", lambda found: found.average_range),
    (r"change|return|percent|pct|performance", lambda found: found.change),
    (r"confidence|probability|score|strength|clarity", lambda found: found.clarity),
    (r"count|candles|bars|number", lambda found: float(found.candles)),
    (r"high|max", lambda found: found.resistance),
    (r"low|min", lambda found: found.support),
    (r"open|first|start", lambda found: found.first),
    (r"", lambda found: found.last),
)
LISTS: Final = re.compile(r"level|zone|price")
WAYS: Final = {
    "up": re.compile(r"up|bull|long|buy|rising|positive|higher|increas", re.IGNORECASE),
    "down": re.compile(r"down|bear|short|sell|falling|negative|lower|decreas", re.IGNORECASE),
    "sideways": re.compile(r"side|neutral|flat|hold|range|mixed|none|unclear|stable", re.IGNORECASE),
}


class Words:
    """The findings of one prompt, asked by the names of fields."""

    def __init__(self, prompt: Prompt) -> None:
        self._studied = study(prompt)
        self._report = report(prompt, self._studied)

    @property
    def report(self) -> str:
        return self._report

    def text(self, path: Sequence[str], index: int) -> str:
        name = _spoken(path)
        if not self._studied:
            return self._report
        found = self._studied[0]
        if re.search(r"summary|markdown|report|analysis|content|body|text", name):
            return self._report
        if re.search(r"title|headline|subject", name):
            return found.title
        if re.search(r"symbol|ticker|instrument|asset", name):
            return found.symbol
        if re.search(r"trend|direction|bias|outlook", name):
            return found.sentence_of_trend
        if re.search(r"level|support|resistance", name):
            return found.observations[1]
        if re.search(r"volatil|risk", name):
            return found.observations[2]
        return found.observations[index % len(found.observations)]

    def number(self, path: Sequence[str], index: int) -> float:
        if not self._studied:
            return float(index)
        found, name = self._studied[0], _spoken(path)
        if LISTS.search(name) and len(found.levels) > 1:
            return found.levels[index % len(found.levels)]
        return next(value(found) for pattern, value in NUMBERS if re.search(pattern, name))

    def flag(self, path: Sequence[str]) -> bool:
        """Whether it falls, where the name speaks of falling; elsewhere, whether it rises."""
        return self._trend == ("down" if WAYS["down"].search(_spoken(path)) else "up")

    def choice(self, options: Sequence[Any]) -> Any:
        """The option that names the trend, if there is one; else the middle of them."""
        way = WAYS[self._trend]
        named = (option for option in options if isinstance(option, str) and way.search(option))
        return next(named, options[len(options) // 2])

    @property
    def _trend(self) -> str:
        return self._studied[0].trend if self._studied else "sideways"


def _spoken(path: Sequence[str]) -> str:
    """The last name on the way, as words in lower case."""
    name = path[-1] if path else ""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[_-]", " ", name).lower()
