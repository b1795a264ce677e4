"""The only reader of the environment: checked once, at start. A process with a wrong setting refuses to start.

Messages name the variable, never its value: a mistyped secret must not end up in a log.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from flowcore.domain.budget import TimeBudget

VARIABLES: Mapping[str, str] = {
    "ARTIFACTS_BUCKET": "the Cloud Storage bucket that holds every artifact (required)",
    "FLOW_RUNS_COLLECTION": "the Firestore collection of the runs",
    "INVOCATION_TIMEOUT_SECONDS": "this function's own timeout, as deployed",
    "GEMINI_TIMEOUT_SECONDS": "the longest that one call to a provider may take",
    "FINALIZE_BUDGET_SECONDS": "kept back at the end of an invocation to record the result",
    "LOG_LEVEL": "INFO, WARNING or ERROR",
}

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_COLLECTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_LOG_LEVELS = ("INFO", "WARNING", "ERROR")


class InvalidConfig(Exception):
    """The environment cannot be used. The message names the variable and what it needs."""


@dataclass(frozen=True, slots=True)
class Config:
    artifacts_bucket: str
    flow_runs_collection: str
    budget: TimeBudget
    log_level: str

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Config:
        defaults = TimeBudget()
        config = cls(
            artifacts_bucket=_matching(environ, "ARTIFACTS_BUCKET", None, _BUCKET, "a bucket's name"),
            flow_runs_collection=_matching(
                environ, "FLOW_RUNS_COLLECTION", "flow_runs", _COLLECTION, "a collection's name"
            ),
            budget=TimeBudget(
                invocation=_seconds(environ, "INVOCATION_TIMEOUT_SECONDS", defaults.invocation),
                provider=_seconds(environ, "GEMINI_TIMEOUT_SECONDS", defaults.provider),
                finalize=_seconds(environ, "FINALIZE_BUDGET_SECONDS", defaults.finalize),
            ),
            log_level=_one_of(environ, "LOG_LEVEL", "INFO", _LOG_LEVELS),
        )
        problem = config.budget.problem()
        if problem:
            raise InvalidConfig(
                "GEMINI_TIMEOUT_SECONDS + FINALIZE_BUDGET_SECONDS must fit into INVOCATION_TIMEOUT_SECONDS: " + problem
            )
        return config


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
    text = environ.get(name, "").strip()
    try:
        seconds = float(text) if text else default
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds) or seconds <= 0:
        raise InvalidConfig(f"{name} must be a number of seconds above zero")
    return seconds


def _one_of(environ: Mapping[str, str], name: str, default: str, allowed: tuple[str, ...]) -> str:
    value = environ.get(name, "").strip().upper() or default
    if value not in allowed:
        raise InvalidConfig(f"{name} must be one of {', '.join(allowed)}")
    return value
