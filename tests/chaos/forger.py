"""Histories for an auditor that never happened: whole ones, and ones that break a law."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.chaos.auditor import Auditor

T0 = datetime(2026, 1, 1, tzinfo=UTC)
RUN, OHLCV, CHARTS, REPORT = "run-1", "ohlcv", "charts", "report"
RESULTS = {
    OHLCV: f"runs/{RUN}/ohlcv/1d.json",
    CHARTS: f"charts/{RUN}/{CHARTS}/manifest.json",
    REPORT: f"runs/{RUN}/reports/1d/{REPORT}.json",
}
IMAGE = f"charts/{RUN}/{CHARTS}/candles.png"
MARK = f"{RUN} {REPORT}"
REQUESTS = [{"chartTemplateId": "candles"}, {"chartTemplateId": "volumes"}]
MANIFEST = json.dumps({"requested": REQUESTS[:1]}).encode()


@dataclass(frozen=True, slots=True)
class Told:
    time: float
    kind: str
    service: str
    method: str
    resource: str
    detail: Mapping[str, Any] = field(default_factory=dict)


class Forger:
    """Writes a history: `step` changes a step and whatever else is said, and keeps the rest of the document fitting."""

    def __init__(self, *, steps: tuple[str, ...] = (OHLCV, CHARTS, REPORT), by_token: bool = True) -> None:
        self.records: list[Told] = []
        self.second = 0
        self.by_token = by_token
        inputs = {CHARTS: {"requests": REQUESTS}, REPORT: {"llm": {"llmProfile": {"stopSequences": [MARK]}}}}
        types = {OHLCV: "OHLCV_EXPORT", CHARTS: "CHART_EXPORT", REPORT: "LLM_REPORT"}
        needs = {OHLCV: [], CHARTS: [OHLCV], REPORT: [CHARTS]}
        self.document: dict[str, Any] = {
            "status": "PENDING",
            "steps": {
                name: {
                    "stepType": types[name],
                    "timeframe": "1d",
                    "status": "PENDING",
                    "dependsOn": [other for other in needs[name] if other in steps],
                    "inputs": inputs.get(name, {}),
                    "outputs": {},
                }
                for name in steps
            },
        }
        self._tell("write", "firestore", "create", f"flow_runs/{RUN}", before=None, after=deepcopy(self.document))

    def write(self, change: Callable[[dict[str, Any]], object], **detail: object) -> Forger:
        before = deepcopy(self.document)
        change(self.document)
        if self.document["status"] == "RUNNING":
            self.document.setdefault("wakeAt", text(T0))
        after = deepcopy(self.document)
        return self._tell("write", "firestore", "update", f"flow_runs/{RUN}", before=before, after=after, **detail)

    def step(self, name: str, status: str, *gone: str, run: str | None = None, **fields: object) -> Forger:
        token = fields.pop("by", None)

        def change(document: dict[str, Any]) -> None:
            step = document["steps"][name]
            step |= {"status": status, **fields}
            for key in gone:
                del step[key]
            if run:
                document["status"] = run
                if run != "RUNNING":
                    document["finishedAt"] = text(T0)
                    document.pop("wakeAt", None)

        return self.write(change, **({"token": token} if token else {}))

    def ready(self, name: str, run: str | None = None) -> Forger:
        return self.step(name, "READY", readyAt=text(T0), run=run)

    def claim(self, name: str, token: str, attempt: int = 1, ends: int = 600) -> Forger:
        lease = {"token": token, "expiresAt": text(T0 + timedelta(seconds=ends))}
        return self.step(name, "RUNNING", lease=lease, attempt=attempt)

    def look(self, name: str, token: str) -> Forger:
        return self.look_for(RESULTS[name], token)

    def pay(self, token: str, **detail: object) -> Forger:
        """On the platform a question says what it is, and its call does not."""
        if not self.by_token:
            self.note("question", "candles", "task", *(["repair"] if detail.pop("repair", False) else []))
        return self._tell("call", "gemini", "generateContent", "a-model", **self._by(token), **detail)

    def note(self, kind: str, *blocks: str, mark: str = MARK, **detail: object) -> Forger:
        about = {"stops": [mark], "blocks": list(blocks), **detail}
        return self._tell(kind, "gemini", "generateContent", "a-model", **about)

    def buy(self, token: str, chart: str = "candles") -> Forger:
        return self._tell("call", "chart_img", "AdvancedChart", f"{CHARTS} {chart}", **self._by(token))

    def look_for(self, name: str, token: str) -> Forger:
        return self._tell("call", "storage", "objects.get", f"bucket/{name}", **self._by(token))

    def store(self, name: str, method: str = "objects.insert") -> Forger:
        return self._tell("object", "storage", method, f"bucket/{name}")

    def succeed(self, name: str, run: str | None = None) -> Forger:
        uri = f"gs://bucket/{RESULTS[name]}"
        return self.step(name, "SUCCEEDED", "lease", outputs={"gcs_uri": uri}, run=run)

    def fail(self, name: str, code: str, run: str | None = None, **fields: object) -> Forger:
        error = {"code": code, "message": "", "retryable": False}
        return self.step(name, "FAILED", "lease", error=error, run=run, **fields)

    def done(self, name: str, token: str, run: str | None = None) -> Forger:
        """A step as it should be, from READY to SUCCEEDED."""
        self.ready(name, "RUNNING").claim(name, token).look(name, token)
        if name == REPORT:
            self.pay(token)
        if name == CHARTS:
            self.look_for(IMAGE, token).buy(token).store(IMAGE)
        return self.store(RESULTS[name]).succeed(name, run)

    def other(self, kind: str, service: str, method: str, resource: str, **detail: object) -> Forger:
        return self._tell(kind, service, method, resource, **detail)

    def _by(self, token: str) -> dict[str, object]:
        return {"token": token} if self.by_token else {}

    def _tell(self, kind: str, service: str, method: str, resource: str, **detail: object) -> Forger:
        self.second += 1
        at = (T0 + timedelta(seconds=self.second)).timestamp()
        self.records.append(Told(at, kind, service, method, resource, detail))
        return self


def text(moment: datetime) -> str:
    return moment.isoformat()


def a_whole_run(*, by_token: bool = True) -> Forger:
    forger = Forger(by_token=by_token)
    return forger.done(OHLCV, "t1").done(CHARTS, "t2").done(REPORT, "t3", run="SUCCEEDED")


def one_step(name: str = REPORT, token: str = "t1") -> Forger:
    """A run of one step, claimed."""
    return Forger(steps=(name,)).ready(name, "RUNNING").claim(name, token)


def failed_for_ever(code: str) -> Forger:
    """And its author believes that it may be tried again."""
    return one_step().step(REPORT, "FAILED", "lease", error={"code": code, "retryable": True}, failures=1)


def set_run(**fields: object) -> Callable[[dict[str, Any]], object]:
    return lambda document: document.update(fields)


def verdict(forger: Forger, *, over: bool = False, **options: Any) -> list[str]:
    return Auditor(**options).hear(forger.records).verdict(over=over, read=lambda _: MANIFEST)
