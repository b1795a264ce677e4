"""What `flow doctor` looks at, one thing after the other, each with what to do about it.

Later looks need earlier ones: nobody asks for seeds in a database that does not answer. So it goes in order, and ends
where nothing further can be known.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from flowcore.cli import cloud_functions, state
from flowcore.cli.problems import Problem
from flowcore.cli.seeding import seeds
from flowcore.cli.world import EMULATOR, World, world
from flowcore.domain.errors import StepFailed

OLDEST = (3, 11)
KEY = "GEMINI_API_KEY"
# Leases outlive their function by a minute, so that a clock may be wrong by that much. Before that it is a nuisance.
SKEW = timedelta(seconds=60)
NOTICED = timedelta(seconds=5)
SECONDS = 3.0  # that a healthy function takes at most
_STORES = (EMULATOR, "STORAGE_EMULATOR_HOST")


@dataclass(frozen=True, slots=True)
class Check:
    verdict: Literal["ok", "warn", "fail"]
    name: str
    says: str
    fix: str = ""


def examine(project: str | None, env: str | None, database: str | None, bucket: str | None) -> Iterator[Check]:
    yield _python()
    running, told = _platform(Path.cwd())
    yield told
    yield _variables(os.environ, running)
    try:
        there = world(project, env, database, bucket)
    except Problem as problem:
        yield Check("fail", "world", *_halves(problem))
        return
    yield Check("ok", "world", str(there))
    firestore = _firestore(there)
    yield from firestore
    if all(check.verdict != "fail" for check in firestore):
        yield _seeded(there)
    yield _bucket(there)
    yield from _functions(there, running)


def _python() -> Check:
    if sys.version_info < OLDEST:
        return Check("fail", "python", platform.python_version(), "install Python 3.11 or newer")
    return Check("ok", "python", platform.python_version())


def _platform(folder: Path) -> tuple[state.Running | None, Check]:
    try:
        running = state.running(folder)
    except state.NotRunning as reason:
        says, _, fix = str(reason).rpartition("; ")
        return None, Check("warn", "platform", says, f"{fix}, unless you mean the cloud: --project")
    return running, Check("ok", "platform", f"runs here, as process {running.pid}")


def _variables(environ: Mapping[str, str], running: state.Running | None) -> Check:
    """Half an emulator is worse than none: documents of the laptop, objects of the cloud."""
    missing = [name for name in _STORES if not environ.get(name)]
    if len(missing) == 1:
        return Check("fail", "variables", f"{missing[0]} is not set, but its twin is", 'run: eval "$(flow env)"')
    if running and not missing:
        other = [name for name, value in running.exports.items() if name in environ and environ[name] != value]
        if other:
            says = f"{', '.join(sorted(other))} differ from the platform in this folder"
            return Check("warn", "variables", says, 'run: eval "$(flow env)", or leave that folder')
    return Check("ok", "variables", "none of an emulator" if missing else "all of one emulator")


def _firestore(there: World) -> list[Check]:
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import GoogleAuthError

    try:
        there.runs.get("flow-doctor")
        found = there.firestore.document(f"{there.collection}/flow-doctor").get(retry=None, timeout=10)
    except Problem as problem:
        return [Check("fail", "account", *_halves(problem))]
    except StepFailed as failure:
        fix = "is flow up still running?" if there.local else "check --project, --database and your account's roles"
        return [Check("fail", "firestore", failure.error.message, fix)]
    except (GoogleAPICallError, RetryError, GoogleAuthError) as error:
        return [Check("fail", "firestore", type(error).__name__, "check the network, and ask again")]
    answers = Check("ok", "firestore", f"answers, database {there.database}")
    return [answers, _clock(found.read_time, datetime.now(UTC))]


def _clock(theirs: datetime, ours: datetime) -> Check:
    skew = abs(theirs - ours)
    says = f"{skew.total_seconds():.1f} s away from Firestore's"
    if skew > NOTICED:
        verdict: Literal["warn", "fail"] = "fail" if skew > SKEW else "warn"
        return Check(verdict, "clock", says, "set this machine's clock by the network (NTP)")
    return Check("ok", "clock", says)


def _seeded(there: World) -> Check:
    wanted = list(seeds())
    missing = [seed.path for seed in wanted if there.documents.find(seed.path) is None]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return Check(
            "fail", "seeds", f"{missing[0]}{more} of {len(wanted)} are missing", f"run: {there.command('seed')}"
        )
    return Check("ok", "seeds", f"all {len(wanted)} are there")


def _bucket(there: World) -> Check:
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError
    from requests import RequestException

    if not there.named_bucket:
        return Check("warn", "bucket", "none is named", "name it with --bucket or --env, or set ARTIFACTS_BUCKET")
    wanted = ["storage.objects.create", "storage.objects.get"]
    try:
        found = there.storage.bucket(there.bucket)
        if not found.exists(retry=None, timeout=10):
            fix = "start flow up anew" if there.local else f"run: gcloud storage buckets create gs://{there.bucket}"
            return Check("fail", "bucket", f"{there.bucket} does not exist", fix)
        allowed = wanted if there.local else found.test_iam_permissions(wanted, timeout=10)
    except Problem as problem:
        return Check("fail", "bucket", *_halves(problem))
    except (GoogleAPICallError, GoogleAuthError, RequestException) as error:
        return Check("fail", "bucket", f"{there.bucket}: {type(error).__name__}", "check the network and your account")
    lacking = [permission for permission in wanted if permission not in allowed]
    if lacking:
        fix = "grant this account roles/storage.objectUser on it"
        return Check("fail", "bucket", f"{there.bucket}: {', '.join(lacking)} is not allowed", fix)
    return Check("ok", "bucket", f"{there.bucket} exists, and may be read and written")


def _functions(there: World, running: state.Running | None) -> Iterator[Check]:
    if not there.local:
        yield from _deployed(there)
        return
    if running is None:
        yield Check("warn", "functions", "cannot be found from here", "ask where flow up was typed")
        return
    silent = [name for name, url in running.functions.items() if not cloud_functions.answers(url, SECONDS)]
    if silent:
        yield Check("fail", "functions", f"{', '.join(silent)}: no answer", f"look into {running.logs}")
    else:
        yield Check("ok", "functions", f"all {len(running.functions)} answer")
    yield _key({KEY} & running.exports.keys(), "start flow up anew")


def _deployed(there: World) -> Iterator[Check]:
    from flowcore.cli.project import functions  # here, because the emulator takes a second to import

    try:
        found = cloud_functions.deployed(there.project)
    except cloud_functions.Unknown as reason:
        yield Check("warn", "functions", str(reason), f"run: gcloud functions list --project {there.project}")
        return
    yield from complete([function.name for function in functions()], found, there.environment)


def complete(wanted: Iterable[str], found: Mapping[str, set[str]], environment: str | None) -> Iterator[Check]:
    """Whether all that are wanted are found, under the names that a deployment gives them."""
    prefix = f"{environment}_" if environment else ""
    named = [f"{prefix}{name}" for name in wanted]
    missing = [name for name in named if name not in found]
    if missing:
        # Every environment has this one.
        others = sorted(name.removesuffix("_advance_flow") for name in found if name.endswith("_advance_flow"))
        fix = f"name what you mean with --env: {', '.join(others)}" if others else "run: deploy/deploy.sh"
        yield Check("fail", "functions", f"{', '.join(missing)}: not deployed", fix)
    else:
        yield Check("ok", "functions", f"all {len(named)} are deployed")
    writer = f"{prefix}worker_llm_report"
    if writer in found:
        yield _key(found[writer] & {KEY}, f"deploy {writer} with {KEY} from Secret Manager")


def _key(found: set[str], fix: str) -> Check:
    if found:
        return Check("ok", "gemini", f"{KEY} is set")
    return Check("fail", "gemini", f"{KEY} is not set", fix)


def _halves(problem: Problem) -> tuple[str, str]:
    """What, and what next: every problem says both."""
    says, _, fix = str(problem).partition("; ")
    return says, fix
