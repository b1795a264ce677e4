"""From the words of a template to what is shown: each study becomes marks on the price or a pane of its own.

Studies carry the names and inputs that Chart-IMG gives them, so one template serves both renderers. A study that is
not drawn here is an error that names it: a chart that silently lacks what was asked for would mislead its reader.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from flowcore.contracts.candles import Candle
from flowcore.domain.errors import Code, ValidationError, shown
from functions.worker_charts.drawing import indicators
from functions.worker_charts.drawing.indicators import Values

LONGEST = 500


@dataclass(frozen=True, slots=True)
class Curve:
    """One value a candle, joined by a line. `colour` is a place in the theme's row."""

    label: str
    values: Values
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Pane:
    """A strip of the chart with a scale of its own; the first one holds the candles."""

    label: str = ""
    curves: tuple[Curve, ...] = ()
    dots: tuple[Curve, ...] = ()
    bands: tuple[tuple[Curve, Curve], ...] = ()  # the room between two curves is shaded
    columns: Values = field(default_factory=list)  # a histogram around zero
    volume: bool = False
    profile: bool = False
    limits: tuple[float, float] | None = None
    guides: tuple[float, ...] = ()

    def joined(self, other: Pane) -> Pane:
        """The other's marks on this one's scale; curves go on along the row of colours."""
        used = len(self.curves) + len(self.dots)
        return replace(
            self,
            curves=self.curves + tuple(replace(curve, colour=curve.colour + used) for curve in other.curves),
            dots=self.dots + tuple(replace(dots, colour=dots.colour + used) for dots in other.dots),
            bands=self.bands + tuple((replace(low, colour=low.colour + used), high) for low, high in other.bands),
            volume=self.volume or other.volume,
            profile=self.profile or other.profile,
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """A study's `input`. The service knows some inputs by name and some by number: `length` or `in_0`."""

    where: str
    given: Mapping[str, object]

    def length(self, *names: str, default: int) -> int:
        value = self._value(names, default)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LONGEST:
            raise unusable(f"{self.where}.input.{names[0]} must be a whole number from 1 to {LONGEST}")
        return value

    def number(self, *names: str, default: float) -> float:
        value = self._value(names, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= LONGEST:
            raise unusable(f"{self.where}.input.{names[0]} must be a number above zero")
        return float(value)

    def _value(self, names: Sequence[str], default: object) -> object:
        return next((self.given[name] for name in names if name in self.given), default)


Study = Callable[[Sequence[Candle], Settings], Pane]


def panes(request: Mapping[str, object], candles: Sequence[Candle], where: str) -> list[Pane]:
    """The price with all that is drawn on it, and one pane for each study that has a scale of its own."""
    studies = request.get("studies", [])
    if not isinstance(studies, list):
        raise unusable(f"{where}.studies must be a list")
    price, below = Pane(), []
    for number, study in enumerate(studies):
        place = f"{where}.studies.{number}"
        if not isinstance(study, Mapping):
            raise unusable(f"{place} must be a map")
        name, given = study.get("name"), study.get("input", {})
        if not isinstance(name, str) or not isinstance(given, Mapping):
            raise unusable(f"{place} must have a name and, if it likes, a map as input")
        drawn = ON_THE_PRICE.get(name) or BELOW_IT.get(name)
        if drawn is None:
            raise unusable(f"{place}.name: {shown(name)} is not drawn here; CHARTS_RENDERER=chart_img may know it")
        pane = drawn(candles, Settings(place, given))
        if name in ON_THE_PRICE or (pane.volume and study.get("forceOverlay") is True):
            price = price.joined(pane)
        else:
            below.append(pane)
    return [price, *below]


def unusable(message: str) -> ValidationError:
    return ValidationError(
        Code.INVALID_STEP_INPUTS, f"{message}; correct the template", details={"reason": "template_invalid"}
    )


# --- on the price -----------------------------------------------------------------------------------------


def _moving_average(candles: Sequence[Candle], settings: Settings) -> Pane:
    length = settings.length("length", "in_0", default=9)
    return Pane(curves=(Curve(f"MA {length}", indicators.simple_average(_closes(candles), length)),))


def _exponential_average(candles: Sequence[Candle], settings: Settings) -> Pane:
    length = settings.length("length", "in_0", default=9)
    return Pane(curves=(Curve(f"EMA {length}", indicators.exponential_average(_closes(candles), length)),))


def _bollinger(candles: Sequence[Candle], settings: Settings) -> Pane:
    length, width = settings.length("in_0", "length", default=20), settings.number("in_1", "mult", default=2.0)
    lower, middle, upper = indicators.bollinger_bands(_closes(candles), length, width)
    name = f"BB {length} {width:g}"
    edges = Curve(f"{name} low", lower), Curve(f"{name} high", upper)
    # One colour for all three: they are one thing.
    return Pane(curves=(edges[0], Curve(f"{name} mid", middle), edges[1]), bands=(edges,))


def _parabolic(candles: Sequence[Candle], settings: Settings) -> Pane:
    start = settings.number("in_0", "start", default=0.02)
    step = settings.number("in_1", "increment", default=0.02)
    highest = settings.number("in_2", "maximum", default=0.2)
    stops = indicators.parabolic_stop(candles, start, step, highest)
    return Pane(dots=(Curve(f"SAR {start:g} {step:g} {highest:g}", stops),))


def _profile(_candles: Sequence[Candle], _settings: Settings) -> Pane:
    return Pane(profile=True)


# --- below it ---------------------------------------------------------------------------------------------


def _volume(_candles: Sequence[Candle], _settings: Settings) -> Pane:
    return Pane(volume=True)


def _strength(candles: Sequence[Candle], settings: Settings) -> Pane:
    length = settings.length("length", "in_0", default=14)
    values = indicators.relative_strength(_closes(candles), length)
    return Pane(f"RSI {length}", (Curve("", values, 2),), limits=(0, 100), guides=(30, 70))


def _stochastic(candles: Sequence[Candle], settings: Settings) -> Pane:
    names = ("in_0", "lengthRSI"), ("in_1", "lengthStoch"), ("in_2", "smoothK"), ("in_3", "smoothD")
    defaults = (14, 14, 3, 3)
    strength, length, smooth, signal = (
        settings.length(*aliases, default=default) for aliases, default in zip(names, defaults, strict=True)
    )
    fast, slow = indicators.stochastic_strength(_closes(candles), strength, length, smooth, signal)
    label = f"Stoch RSI {strength} {length} {smooth} {signal}"
    return Pane(label, (Curve("%K", fast), Curve("%D", slow, 1)), limits=(0, 100), guides=(20, 80))


def _convergence(candles: Sequence[Candle], settings: Settings) -> Pane:
    fast = settings.length("in_0", "fastLength", default=12)
    slow = settings.length("in_1", "slowLength", default=26)
    signal = settings.length("in_2", "signalLength", default=9)
    line, signal_line, between = indicators.moving_convergence(_closes(candles), fast, slow, signal)
    curves = Curve("MACD", line), Curve("Signal", signal_line, 1)
    return Pane(f"MACD {fast} {slow} {signal}", curves, columns=between)


def _accumulation(candles: Sequence[Candle], _settings: Settings) -> Pane:
    return Pane("Accumulation/Distribution", (Curve("", indicators.accumulation(candles), 3),))


def _balance(candles: Sequence[Candle], _settings: Settings) -> Pane:
    return Pane("On Balance Volume", (Curve("", indicators.balance_of_volume(candles), 3),))


def _closes(candles: Sequence[Candle]) -> list[float]:
    return [candle.close for candle in candles]


ON_THE_PRICE: Mapping[str, Study] = MappingProxyType(
    {
        "Moving Average": _moving_average,
        "Moving Average Exponential": _exponential_average,
        "Bollinger Bands": _bollinger,
        "Parabolic SAR": _parabolic,
        "Volume Profile Visible Range": _profile,
    }
)
BELOW_IT: Mapping[str, Study] = MappingProxyType(
    {
        "Volume": _volume,
        "Relative Strength Index": _strength,
        "Stochastic RSI": _stochastic,
        "MACD": _convergence,
        "Accumulation/Distribution": _accumulation,
        "On Balance Volume": _balance,
    }
)
