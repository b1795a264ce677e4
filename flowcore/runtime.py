"""The composition root: which adapter serves which port, once a process.

Everything is made when it is first asked for, and imported then: a function that draws no charts never loads a library
that does. A cold start is latency, and somebody waits for it.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from flowcore.adapters.clock import SystemChance, SystemClock
from flowcore.adapters.cloud_log import standard_output
from flowcore.config import CandlesConfig, ChartsConfig, Config, ModelConfig
from flowcore.engine.event import FlowEvent, parse_event, received
from flowcore.ports import Chance, Clock, Documents, Log, Runs

if TYPE_CHECKING:  # arrows that exist for the reader, and cost the process nothing
    from google.cloud import firestore

    from flowcore.adapters.gcs import GcsArtifacts
    from flowcore.contracts.candles import CandleSource
    from flowcore.contracts.charts import ChartService
    from flowcore.contracts.model import Model
    from flowcore.engine.start import Started, StartRequest
    from flowcore.engine.sweep import SweepReport
    from flowcore.engine.worker import StepType

Inputs = TypeVar("Inputs")
Made = TypeVar("Made")

# The client libraries are some hundred thousand objects that live as long as the process. To look for garbage among
# them after every 700 new ones, which is the default, takes a tenth of a cold start.
gc.set_threshold(50_000)


class CloudEvent(Protocol):
    """What we look at in an event; functions-framework brings the class."""

    data: Any

    def get_attributes(self) -> Mapping[str, Any]: ...


class InvocationFailed(Exception):
    """The platform calls again. Why it failed stands in the line `invocation_failed`."""


# --- what a function does ---------------------------------------------------------------------------------


def run_step(event: CloudEvent, step_type: StepType[Inputs]) -> None:
    """A worker's whole job: serve one delivery."""
    from flowcore.engine.worker import Worker

    with _failing_discreetly():
        if mine := _for_us(event):
            Worker(step_type, runs(), artifacts(), clock(), chance(), log(), config().budget).handle(mine)


def advance_run(event: CloudEvent) -> None:
    """The orchestrator's whole job: plan the run of one delivery."""
    from flowcore.engine.advance import Advance

    with _failing_discreetly():
        if mine := _for_us(event):
            Advance(runs(), clock(), chance(), log(), _working_seconds()).handle(mine)


def sweep_runs(*, every_run: bool) -> SweepReport:
    """What no event will do: for the runs that are due or, the net under the net, for every unfinished one."""
    from flowcore.engine.sweep import Sweep

    with _failing_discreetly():
        sweep = Sweep(runs(), clock(), chance(), log(), _working_seconds())
        return sweep.hourly() if every_run else sweep.minutely()


def start_run(request: StartRequest) -> Started:
    """A run for a caller."""
    from flowcore.engine.start import Start

    start = Start(documents(), config().flow_runs_collection, clock(), chance(), log(), _working_seconds())
    return start.handle(request)


@contextmanager
def _failing_discreetly() -> Iterator[None]:
    """The framework prints whatever leaves a function, with the words of every cause: a server's may quote a prompt."""
    try:
        yield
    except Exception as exc:  # noqa: BLE001 - whatever it is: the platform is told, and calls again
        log().error("invocation_failed", exc_info=exc)
        raise InvocationFailed(type(exc).__name__) from None


def _for_us(event: CloudEvent) -> FlowEvent | None:
    from flowcore.adapters.firestore_events import decode

    parsed = parse_event(event.get_attributes(), event.data, config().flow_runs_collection, decode)
    return received(parsed, log())


def _working_seconds() -> float:
    """The orchestrator has no long work and no reserve of its own: it stops a little before the platform stops it."""
    return config().budget.invocation * 0.9


# --- what it is made of -----------------------------------------------------------------------------------


def _once(make: Callable[[], Made]) -> Callable[[], Made]:
    """`functools.cache`, for requests that come at the same moment: a client made twice is a connection that stays."""
    cached, lock = cache(make), threading.Lock()

    @wraps(make)
    def made() -> Made:
        with lock:
            return cached()

    made.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
    return made


@_once
def config() -> Config:
    return Config.from_env(os.environ)


@_once
def candles_config() -> CandlesConfig:
    return CandlesConfig.from_env(os.environ)


@_once
def charts_config() -> ChartsConfig:
    return ChartsConfig.from_env(os.environ)


@_once
def model_config() -> ModelConfig:
    return ModelConfig.from_env(os.environ)


@_once
def clock() -> Clock:
    return SystemClock()


@_once
def chance() -> Chance:
    return SystemChance()


@_once
def log() -> Log:
    return standard_output(config().log_level, config().service)


@_once
def runs() -> Runs:
    from flowcore.adapters.firestore import FirestoreRuns

    return FirestoreRuns(_firestore(), config().flow_runs_collection)


@_once
def documents() -> Documents:
    from flowcore.adapters.firestore import FirestoreDocuments

    return FirestoreDocuments(_firestore())


@_once
def artifacts() -> GcsArtifacts:
    from flowcore.adapters.gcs import GcsArtifacts

    return GcsArtifacts(_storage(), config().artifacts_bucket, config().readable_buckets)


@_once
def candle_source() -> CandleSource:
    from flowcore.adapters.bigquery import BigQueryCandles

    settings, longest = candles_config(), config().budget.provider
    return BigQueryCandles.connected(settings.table, settings.maximum_bytes, longest, emulated=settings.emulated)


def candle_file(name: str) -> CandleSource:
    """`gs://…`, or the name of a file that ships with flowcore."""
    from flowcore.adapters.candle_files import FileCandles, packaged
    from flowcore.adapters.gcs_files import GcsFiles

    if name.startswith("gs://"):
        return FileCandles(name, GcsFiles(_storage(), config().readable_buckets).opened)
    return FileCandles(name, packaged)


@_once
def chart_service() -> ChartService:
    from flowcore.adapters.chart_img import ChartImg

    settings = charts_config()
    return ChartImg(settings.base_url, {account.id: account.api_key for account in settings.accounts})


@_once
def model() -> Model:
    from flowcore.adapters.gemini import Gemini

    return Gemini(model_config().api_key)


@_once
def _firestore() -> firestore.Client:
    """One client a process: it holds the connection."""
    from google.cloud import firestore

    return firestore.Client(database=config().firestore_database)


@_once
def _storage() -> Any:
    from google.cloud.storage import Client  # type: ignore[import-untyped]

    return Client()
