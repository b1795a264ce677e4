"""The wire: one path, a key in a header, JSON in and a PNG out; every refusal is `{"message": …}`."""

import math
from typing import Any, Final

from emulator.chart_img.orders import Order, Refused, read
from emulator.chart_img.picture import draw
from emulator.chart_img.quotas import Quotas
from emulator.faults import Faults, StatusReturned
from emulator.faults.http import answer as face
from emulator.faults.http import mounted
from emulator.web import Reply, Request

PATH: Final = "/v2/tradingview/advanced-chart"
PAGE: Final = b"<html><body>One moment, please.</body></html>"


class Api:
    def __init__(self, faults: Faults, quotas: Quotas) -> None:
        self._faults = faults
        self._quotas = quotas

    def __call__(self, request: Request) -> Reply:
        if mounted(request.path):
            told = face(self._faults, request.method, request.path, request.query, request.body)
            return Reply.json(told.value, told.status)
        try:
            return self._answered(request)
        except Refused as refused:
            return Reply.json({"message": refused.message}, refused.status)
        except StatusReturned as end:
            wait = end.status.retry_after
            headers = {} if wait is None else {"Retry-After": str(math.ceil(wait))}
            return Reply.json({"message": end.status.message}, end.status.code, headers)

    def _answered(self, request: Request) -> Reply:
        if (request.method, request.path) != ("POST", PATH):
            raise Refused(404, "Not Found")
        body = _json(request)
        symbol = str(body.get("symbol", "")) if isinstance(body, dict) else ""
        with self._faults.call("chart_img", "AdvancedChart", symbol) as fault:
            self._quotas.admit(request.headers.get("x-api-key"))
            order = read(body)
            self._fits_the_plan(order)
            if fault.shape == "non_png":
                return Reply(200, PAGE, {"Content-Type": "text/html"})
            picture = draw(order)
            if fault.shape == "truncated_png":
                return Reply(200, picture, {"Content-Type": "image/png"}, cut=len(picture) // 2)
            self._faults.history.record(
                "chart", "chart_img", "AdvancedChart", symbol, bytes=len(picture), **_told(order)
            )
            return Reply(200, picture, {"Content-Type": "image/png"})

    def _fits_the_plan(self, order: Order) -> None:
        plan = self._quotas.plan
        if order.width > plan.width or order.height > plan.height:
            raise Refused(403, f"Exceed Max Usage Resolution Limit ({plan.width}x{plan.height})")
        if order.parameters > plan.parameters:
            raise Refused(403, f"Exceed Max Usage Parameter Limit ({plan.parameters})")


def _json(request: Request) -> Any:
    try:
        return request.json()
    except ValueError:
        return None


def _told(order: Order) -> dict[str, Any]:
    return {name: getattr(order, name) for name in ("interval", "timezone", "theme", "studies")}
