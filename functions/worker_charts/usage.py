"""How many charts each account has had today: `chart_img_accounts_usage/{accountId}`, counted by optimistic writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from flowcore.domain.errors import Code, NetworkError
from flowcore.domain.model import NO_VALUES
from flowcore.domain.times import from_value, to_text
from flowcore.ports import Conflict, Documents

COLLECTION = "chart_img_accounts_usage"
RACES = 6

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Usage:
    documents: Documents

    def take(self, account: str, limit: int, now: datetime, timeout: float) -> datetime | None:
        """Take one unit; or when the account will have one again, if it has none now."""
        refused: list[datetime] = []

        def one_more(fields: Fields) -> Fields | None:
            opens = opens_at(fields, limit, now)
            if opens:
                refused.append(opens)
            return None if opens else counted(fields, now)

        self._write(account, one_more, timeout)
        return refused[0] if refused else None

    def close(self, account: str, until: datetime, timeout: float) -> None:
        """Nobody need try this account until then: the service itself said so."""
        self._write(account, lambda _: {"exhaustedUntil": to_text(until)}, timeout)

    def _write(self, account: str, change: Callable[[Fields], Fields | None], timeout: float) -> None:
        path = f"{COLLECTION}/{account}"
        for _ in range(RACES):
            found = self.documents.find(path, timeout)
            fields = change(found.fields if found else NO_VALUES)
            if fields is None:
                return
            try:
                if found:
                    self.documents.update(path, fields, found.update_time, timeout)
                else:
                    self.documents.create(path, fields, timeout)
            except Conflict:
                continue
            return
        raise NetworkError(Code.FIRESTORE_UNAVAILABLE, f"{path}: {RACES} writes in a row lost their race")


def opens_at(fields: Fields, limit: int, now: datetime) -> datetime | None:
    """When the account has a unit again; None when it has one now. The document's own limit overrides ours."""
    closed_until = from_value(fields.get("exhaustedUntil"))
    if closed_until and closed_until > now:
        return closed_until
    own = fields.get("dailyLimit")
    limit = own if isinstance(own, int) and not isinstance(own, bool) else limit
    return next_day(now) if _used(fields, now) >= limit else None


def counted(fields: Fields, now: datetime) -> Fields:
    return {"windowStart": to_text(_window(fields, now)), "usageToday": _used(fields, now) + 1}


def next_day(now: datetime) -> datetime:
    return _day(now) + timedelta(days=1)


def _used(fields: Fields, now: datetime) -> int:
    used = fields.get("usageToday")
    if isinstance(used, bool) or not isinstance(used, int):
        return 0
    started = from_value(fields.get("windowStart"))
    return used if started and started >= _day(now) else 0


def _window(fields: Fields, now: datetime) -> datetime:
    """Today; or tomorrow already, by the clock of somebody who is a little ahead of us."""
    started = from_value(fields.get("windowStart"))
    return max(started, _day(now)) if started else _day(now)


def _day(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
