"""Candles to play with: five real stocks, two invented coins, and a label on each that says which it is.

Whoever demonstrates charts and reports needs data that looks like a market, reaches until today, and is the same
tomorrow. Real bars that may be shipped end in 2013; so the present is invented, by a walk in which every hour's step
is a function of the symbol and the hour. The past never changes when "now" does, and two machines agree on it.

`bars` is the arithmetic of candles, `stocks` and `coins` are the two origins, `catalogue` lists what there is.
"""

from emulator.market_data.bars import Bars
from emulator.market_data.catalogue import Series, catalogue, provenance

__all__ = ["Bars", "Series", "catalogue", "provenance"]
