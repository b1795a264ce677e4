"""The only reader of the environment: checked once, at start. A process with a wrong setting refuses to start.

What every function needs is in `Config`; what only one of them needs, such as a key, in a class of its own. Messages
name the variable, never its value: a mistyped secret must not end up in a log.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from flowcore.domain.budget import TimeBudget

VARIABLES: Mapping[str, str] = {
    "ARTIFACTS_BUCKET": "the Cloud Storage bucket that holds every artifact (required)",
    "FIRESTORE_DATABASE": "the Firestore database of the runs, prompts, schemas and templates",
    "FLOW_RUNS_COLLECTION": "the Firestore collection of the runs",
    "INVOCATION_TIMEOUT_SECONDS": "this function's own timeout, as deployed",
    "GEMINI_TIMEOUT_SECONDS": "the longest that one call to a provider may take",
    "FINALIZE_BUDGET_SECONDS": "kept back at the end of an invocation to record the result",
    "LOG_LEVEL": "INFO, WARNING or ERROR",
    "READABLE_BUCKETS": "buckets, besides the artifacts' own, from which steps may read objects that a run names",
    "CANDLES_TABLE": "OHLCV_EXPORT: the BigQuery table of the candles",
    "BIGQUERY_MAX_BYTES": "OHLCV_EXPORT: the most that one query may bill",
    "BIGQUERY_EMULATOR_HOST": "OHLCV_EXPORT: where an emulator answers in BigQuery's place; it asks for no account",
    "CHARTS_RENDERER": "CHART_EXPORT: local, chart_img, or recorded (answers from CHART_IMG_RECORDINGS)",
    "CHARTS_TIMEZONE": "CHART_EXPORT: the time zone of the charts' axes",
    "CHART_IMG_ACCOUNTS_JSON": "CHART_EXPORT: a list of id, apiKey and, optionally, dailyLimit (a secret)",
    "CHART_IMG_BASE_URL": "CHART_EXPORT: where Chart-IMG answers",
    "CHART_IMG_RECORDINGS": "CHART_EXPORT: the folder of recorded answers",
    "GEMINI_API_KEY": "LLM_REPORT: the key (required there; a secret)",
    "GEMINI_ALLOWED_MODELS": "LLM_REPORT: the models that a step may name, separated by commas; empty: any",
}

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_DATABASE = re.compile(r"\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9]")
_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_TABLE = re.compile(r"([a-z0-9:.-]+\.)?[A-Za-z0-9_]+\.[A-Za-z0-9_-]+")
_ACCOUNT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_URL = re.compile(r"https?://[^\s/]+(/\S*)?")
# Chart-IMG's free plan gives fifty; the rest is for people who try something out.
CHARTS_A_DAY = 44
_LOG_LEVELS = ("INFO", "WARNING", "ERROR")


class InvalidConfig(Exception):
    """The environment cannot be used. The message names the variable and what it needs."""


@dataclass(frozen=True, slots=True)
class Config:
    artifacts_bucket: str
    readable_buckets: frozenset[str]  # the artifacts' own is always one of them
    firestore_database: str
    flow_runs_collection: str
    budget: TimeBudget
    log_level: str
    service: str  # the function's own name, which the platform sets

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Config:
        defaults = TimeBudget()
        own_bucket = _matching(environ, "ARTIFACTS_BUCKET", None, _BUCKET, "a bucket's name")
        config = cls(
            artifacts_bucket=own_bucket,
            readable_buckets=frozenset({own_bucket, *_buckets(environ, "READABLE_BUCKETS")}),
            firestore_database=_matching(environ, "FIRESTORE_DATABASE", "(default)", _DATABASE, "a database's name"),
            flow_runs_collection=_matching(
                environ, "FLOW_RUNS_COLLECTION", "flow_runs", _COLLECTION, "a collection's name"
            ),
            budget=TimeBudget(
                invocation=_seconds(environ, "INVOCATION_TIMEOUT_SECONDS", defaults.invocation),
                provider=_seconds(environ, "GEMINI_TIMEOUT_SECONDS", defaults.provider),
                finalize=_seconds(environ, "FINALIZE_BUDGET_SECONDS", defaults.finalize),
            ),
            log_level=_one_of(environ, "LOG_LEVEL", "INFO", _LOG_LEVELS),
            service=environ.get("K_SERVICE", ""),
        )
        problem = config.budget.problem()
        if problem:
            raise InvalidConfig(
                "GEMINI_TIMEOUT_SECONDS + FINALIZE_BUDGET_SECONDS must fit into INVOCATION_TIMEOUT_SECONDS: " + problem
            )
        return config


@dataclass(frozen=True, slots=True)
class CandlesConfig:
    table: str
    maximum_bytes: int
    emulated: bool

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> CandlesConfig:
        return cls(
            table=_matching(environ, "CANDLES_TABLE", "market.candles", _TABLE, "[project.]dataset.table"),
            maximum_bytes=int(_number(environ, "BIGQUERY_MAX_BYTES", 2**30, "a number of bytes")),
            emulated=bool(environ.get("BIGQUERY_EMULATOR_HOST", "").strip()),
        )


@dataclass(frozen=True, slots=True)
class ChartImgAccount:
    id: str
    api_key: str = field(repr=False)
    daily_limit: int


@dataclass(frozen=True, slots=True)
class ChartsConfig:
    renderer: str
    timezone: str
    accounts: tuple[ChartImgAccount, ...]  # in the order in which they are tried
    base_url: str
    recordings: str

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> ChartsConfig:
        config = cls(
            renderer=_one_of(environ, "CHARTS_RENDERER", "local", ("local", "chart_img", "recorded")),
            timezone=_timezone(environ, "CHARTS_TIMEZONE", "Etc/UTC"),
            accounts=_accounts(environ, "CHART_IMG_ACCOUNTS_JSON"),
            base_url=_matching(environ, "CHART_IMG_BASE_URL", "https://api.chart-img.com", _URL, "a URL"),
            recordings=environ.get("CHART_IMG_RECORDINGS", "").strip(),
        )
        if config.renderer == "chart_img" and not config.accounts:
            raise InvalidConfig("CHART_IMG_ACCOUNTS_JSON is not set; CHARTS_RENDERER=chart_img needs accounts")
        if config.renderer == "recorded" and not config.recordings:
            raise InvalidConfig("CHART_IMG_RECORDINGS is not set; CHARTS_RENDERER=recorded needs a folder")
        return config


@dataclass(frozen=True, slots=True)
class ModelConfig:
    api_key: str = field(repr=False)
    allowed_models: frozenset[str]

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> ModelConfig:
        api_key = environ.get("GEMINI_API_KEY", "").strip()
        if not api_key:
            raise InvalidConfig("GEMINI_API_KEY is not set; LLM_REPORT cannot ask the model without it")
        return cls(
            api_key=api_key,
            allowed_models=_listed(environ, "GEMINI_ALLOWED_MODELS"),
        )


def _matching(
    environ: Mapping[str, str], name: str, default: str | None, pattern: re.Pattern[str], meaning: str
) -> str:
    value = environ.get(name, "").strip() or default
    if value is None:
        raise InvalidConfig(f"{name} is not set; it must be {meaning}")
    if not pattern.fullmatch(value):
        raise InvalidConfig(f"{name} must be {meaning}")
    return value


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    return _number(environ, name, default, "a number of seconds")


def _number(environ: Mapping[str, str], name: str, default: float, meaning: str) -> float:
    text = environ.get(name, "").strip()
    try:
        number = float(text) if text else default
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise InvalidConfig(f"{name} must be {meaning} above zero")
    return number


def _one_of(environ: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    """Whichever way it is capitalised."""
    value = environ.get(name, "").strip() or default
    known = {word.lower(): word for word in allowed}
    if value.lower() not in known:
        raise InvalidConfig(f"{name} must be one of {', '.join(allowed)}")
    return known[value.lower()]


def _listed(environ: Mapping[str, str], name: str) -> frozenset[str]:
    return frozenset(word.strip() for word in environ.get(name, "").split(",") if word.strip())


def _buckets(environ: Mapping[str, str], name: str) -> frozenset[str]:
    buckets = _listed(environ, name)
    if not all(map(_BUCKET.fullmatch, buckets)):
        raise InvalidConfig(f"{name} must be names of buckets, separated by commas")
    return buckets


def _timezone(environ: Mapping[str, str], name: str, default: str) -> str:
    """Known here and now: a name that only looks like one would fail every chart."""
    zone = environ.get(name, "").strip() or default
    if zone in ("UTC", "Etc/UTC"):  # known everywhere, also where there is no database of time zones
        return zone
    from zoneinfo import ZoneInfo  # noqa: PLC0415 - one function has charts, and every one has a cold start

    try:
        ZoneInfo(zone)
    except (KeyError, ValueError, OSError):
        raise InvalidConfig(f"{name} must be a time zone that this machine knows, such as Etc/UTC") from None
    return zone


def _accounts(environ: Mapping[str, str], name: str) -> tuple[ChartImgAccount, ...]:
    meaning = f"{name} must be a JSON list of accounts with an id, an apiKey and, optionally, a dailyLimit above zero"
    try:
        rows = json.loads(environ.get(name, "").strip() or "[]")
        accounts = [_account(row) for row in rows]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise InvalidConfig(meaning) from None  # the error quotes the secret
    if len({account.id for account in accounts}) < len(accounts):
        raise InvalidConfig(f"{name} must name each account once")
    return tuple(accounts)


def _account(row: Mapping[str, object]) -> ChartImgAccount:
    account, key, limit = row["id"], row["apiKey"], {"dailyLimit": CHARTS_A_DAY, **row}["dailyLimit"]
    if not isinstance(account, str) or not _ACCOUNT.fullmatch(account) or not isinstance(key, str) or not key.strip():
        raise TypeError
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise TypeError
    return ChartImgAccount(account, key.strip(), limit)
