"""What is ordered, checked as the service checks it: a symbol with its exchange, known intervals, known studies."""

import re
from dataclasses import dataclass
from typing import Any, Final

SYMBOL: Final = re.compile(r"[A-Z0-9_]{1,20}:[A-Z0-9._!-]{1,40}")
INTERVALS: Final = ("1m", "3m", "5m", "15m", "30m", "45m", "1h", "2h", "3h", "4h", "6h", "12h", "1D", "1W", "1M", "3M")
STYLES: Final = ("bar", "candle", "line", "area", "heikinAshi", "hollowCandle", "baseline", "hiLo", "column")
STUDIES: Final = frozenset(
    {
        "Accumulation/Distribution",
        "Average Directional Index",
        "Average True Range",
        "Bollinger Bands",
        "Chaikin Money Flow",
        "Commodity Channel Index",
        "Directional Movement",
        "Ichimoku Cloud",
        "MACD",
        "Momentum",
        "Money Flow Index",
        "Moving Average",
        "Moving Average Exponential",
        "On Balance Volume",
        "Parabolic SAR",
        "Rate Of Change",
        "Relative Strength Index",
        "Stochastic",
        "Stochastic RSI",
        "Super Trend",
        "VWAP",
        "Volume",
        "Volume Profile Visible Range",
        "Williams %R",
    }
)


class Refused(Exception):
    """The order is not carried out."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True, slots=True)
class Order:
    symbol: str
    interval: str
    width: int
    height: int
    theme: str
    style: str
    timezone: str
    studies: tuple[str, ...]
    drawings: int

    @property
    def parameters(self) -> int:
        return len(self.studies) + self.drawings


def read(body: Any) -> Order:
    """What was left out has the service's defaults."""
    if not isinstance(body, dict):
        raise Refused(400, "Invalid JSON")
    return Order(
        symbol=_matching(body, "symbol", "BINANCE:BTCUSDT"),
        interval=_one_of(body, "interval", INTERVALS, "1D"),
        width=_pixels(body, "width", 800, 320),
        height=_pixels(body, "height", 600, 220),
        theme=_one_of(body, "theme", ("light", "dark"), "light"),
        style=_one_of(body, "style", STYLES, "candle"),
        timezone=_text(body, "timezone", "Etc/UTC"),
        studies=tuple(_study(number, study) for number, study in enumerate(_list(body, "studies"))),
        drawings=len(_list(body, "drawings")),
    )


def _study(number: int, study: Any) -> str:
    name = study.get("name") if isinstance(study, dict) else None
    if not isinstance(name, str) or name not in STUDIES:
        raise _invalid(f"studies.{number}.name", "must be a supported name")
    if not isinstance(study.get("input", {}), dict):
        raise _invalid(f"studies.{number}.input", "must be an object")
    return name


def _matching(body: dict[str, Any], name: str, default: str) -> str:
    value = _text(body, name, default)
    if not SYMBOL.fullmatch(value):
        raise _invalid(name, "must be EXCHANGE:SYMBOL")
    return value


def _one_of(body: dict[str, Any], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = _text(body, name, default)
    if value not in allowed:
        raise _invalid(name, f"must be one of {', '.join(allowed)}")
    return value


def _text(body: dict[str, Any], name: str, default: str) -> str:
    value = body.get(name, default)
    if not isinstance(value, str) or not value:
        raise _invalid(name, "must be a string")
    return value


def _pixels(body: dict[str, Any], name: str, default: int, least: int) -> int:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise _invalid(name, f"must be an integer of at least {least}")
    return value


def _list(body: dict[str, Any], name: str) -> list[Any]:
    value = body.get(name, [])
    if not isinstance(value, list):
        raise _invalid(name, "must be an array")
    return value


def _invalid(path: str, why: str) -> Refused:
    return Refused(422, f"{path} {why}")
