"""Chart-IMG on a laptop: one POST, one PNG, and accounts that run dry.

What makes the real service hard to live with is not its pictures but its limits: a few charts a day for each key, fewer
studies and pixels than one would like, and a gateway that refuses in a handful of words. So the limits are real here,
and the picture is a plain one: invented candles, different for every order and the same for the same.

`orders` reads a request, `quotas` counts the keys, `picture` draws, and `api` is the wire.
"""

from emulator.chart_img.quotas import Plan
from emulator.chart_img.server import ChartImgServer

__all__ = ["ChartImgServer", "Plan"]
