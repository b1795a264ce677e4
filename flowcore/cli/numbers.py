"""Where the candles on a laptop come from: whoever reads a page must not take an exercise for the market."""

from __future__ import annotations

from emulator.market_data import coins, provenance, stocks


def symbols() -> list[str]:
    """What the local warehouse has candles of."""
    return [*(coin.symbol for coin in coins.COINS), *sorted(stocks.EXCHANGES)]


def origin(symbol: object) -> str | None:
    """In words for people; None where nobody knows."""
    return provenance(symbol) if isinstance(symbol, str) and symbol in symbols() else None
