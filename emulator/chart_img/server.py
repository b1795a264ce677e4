"""Chart-IMG on a port."""

import time
from collections.abc import Callable, Collection

from emulator.chart_img.api import Api
from emulator.chart_img.quotas import Plan, Quotas
from emulator.faults import Faults
from emulator.service import HttpService


class ChartImgServer(HttpService):
    """Start it, and point `CHART_IMG_BASE_URL` to its `url`. Without `keys` every key is let in, and counted."""

    def __init__(
        self,
        *,
        port: int = 0,
        keys: Collection[str] | None = None,
        plan: Plan | None = None,
        faults: Faults | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        faults = faults or Faults()
        self.quotas = Quotas(plan or Plan(), keys, clock)
        super().__init__(Api(faults, self.quotas), port=port, faults=faults)

    def reset(self) -> None:
        self.quotas.clear()
