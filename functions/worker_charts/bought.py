"""Charts from Chart-IMG, where each account gets a few a day.

Accounts are tried in their order. Each call is counted before it is made: a counter may then be too high, after a crash
for one, but never too low, and no two workers can spend the same unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from flowcore.contracts.charts import Chart, ChartService, QuotaUsedUp
from flowcore.domain.errors import Code, StepFailed
from flowcore.domain.times import to_text
from flowcore.engine.context import StepContext
from functions.worker_charts.export import out_of_time
from functions.worker_charts.usage import Usage, next_day


@dataclass(frozen=True, slots=True)
class BoughtCharts:
    ctx: StepContext
    service: ChartService
    usage: Usage
    daily_limits: Mapping[str, int]  # by account, in the order in which they are tried
    provider_seconds: float

    def render(self, chart: Chart) -> bytes:
        return self.ctx.patiently("chart_img", lambda _: self._buy(chart))

    def _buy(self, chart: Chart) -> bytes:
        closed: list[datetime] = []
        for account, limit in self.daily_limits.items():
            opens = self.usage.take(account, limit, self.ctx.clock.now(), self._room(chart))
            if opens:
                closed.append(opens)
                continue
            try:
                return self.service.draw(account, chart, min(self._room(chart), self.provider_seconds))
            except QuotaUsedUp as quota:
                closed.append(self._close(account, quota, chart))
        raise _all_used_up(min(closed), self.ctx.clock.now())

    def _close(self, account: str, quota: QuotaUsedUp, chart: Chart) -> datetime:
        now = self.ctx.clock.now()
        opens = now + timedelta(seconds=quota.retry_after) if quota.retry_after else next_day(now)
        self.ctx.log.warning("chart_account_exhausted", account=account, until=to_text(opens))
        try:
            self.usage.close(account, opens, self._room(chart))
        except StepFailed as failure:
            # The mark only spares the next worker a call in vain; this chart may still come from another account.
            self.ctx.log.warning("chart_usage_unmarked", account=account, code=failure.error.code)
        return opens

    def _room(self, chart: Chart) -> float:
        room = self.ctx.room()
        if not room:
            raise out_of_time(chart.template.template_id)
        return room


def _all_used_up(opens: datetime, now: datetime) -> StepFailed:
    return StepFailed(
        Code.RATE_LIMITED,
        f"every Chart-IMG account has used up its charts; the next one may be had at {to_text(opens)}",
        details={
            "reason": "CHART_API_LIMIT_EXCEEDED",
            "retryAfterSeconds": max(1.0, round((opens - now).total_seconds(), 1)),
        },
    )
