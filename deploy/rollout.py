"""The functions: in which order they are replaced, and when one is left alone.

Runs are in flight while this happens, so for a while old and new code work on the same documents. New code reads old
documents, and old code ignores new fields. What remains is new *work*: a step of a new type, a new way to ask. Nobody
may offer it before somebody can take it. So those who take go first, then those who offer, then those who start runs;
a rollback goes the other way round.

A function carries a label with a hash of its sources and settings. Where it is the same, nothing is deployed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deploy.commands import Refused, Step, Verdict, gcloud
from deploy.dead_letters import kept
from deploy.grants import SCHEDULER, TRIGGER, invoker_grant
from deploy.ground import secrets
from deploy.target import Target
from functions.catalogue import Deployable

RUNTIME = "python311"
LABEL = "flow-digest"
WRITTEN = "google.cloud.firestore.document.v1.written"
_LAST = ("advance_flow", "sweep", "start_flow")  # who offers work, then who starts runs


def in_order(functions: Sequence[Deployable], *, rollback: bool = False) -> list[Deployable]:
    rank = {name: place for place, name in enumerate(_LAST)}
    ordered = sorted(functions, key=lambda function: (rank.get(function.name, -1), function.name))
    return ordered[::-1] if rollback else ordered


def variables(target: Target, function: Deployable) -> dict[str, str]:
    return {
        **target.variables,
        **function.environment,
        "ARTIFACTS_BUCKET": target.bucket,
        "CANDLES_TABLE": target.candles_table,
        "CHARTS_RENDERER": target.charts_renderer,
        "FIRESTORE_DATABASE": target.database,
        "FLOW_RUNS_COLLECTION": target.runs_collection,
        "GOOGLE_CLOUD_PROJECT": target.project,
        "THREADS": str(function.concurrency),  # functions-framework's own default knows nothing of the concurrency
    }


def variables_file(target: Target, function: Deployable) -> str:
    """JSON, which is YAML: values with commas and quotes need no thought."""
    return json.dumps(variables(target, function), indent=2, sort_keys=True) + "\n"


def rollout(
    target: Target, function: Deployable, source: str, environment_file: str, sources_digest: str, *, replace: bool
) -> Iterator[Step]:
    settings = _settings(target, function)
    digest = _digest(sources_digest, settings, variables_file(target, function))
    name, region = target.named(function.name), f"--region={target.region}"
    look = gcloud("functions", "list", f"--regions={target.region}", "--v2", "--format=json", project=target.project)
    if replace:
        yield Step(
            f"{name} gives way, because its trigger changes",
            gcloud("functions", "delete", name, region, project=target.project),
            look,
            lambda found: _trigger_fits(target, function, _function(name, found)),
            forget=True,
        )
    yield Step(
        f"the function {name}",
        gcloud(
            "functions", "deploy", name, "--gen2", region, f"--source={source}",
            f"--env-vars-file={environment_file}", *settings, f"--update-labels={LABEL}={digest}",
            project=target.project,
        ),
        look,
        _is_deployed(target, function, digest),
    )  # fmt: skip
    if function.run_triggered:
        yield invoker_grant(target, function.name, TRIGGER)
        yield from kept(target, function.name)
    elif function.schedules or function.name == "start_flow":
        yield invoker_grant(target, function.name, SCHEDULER)


def _settings(target: Target, function: Deployable) -> Sequence[str]:
    return (
        f"--runtime={RUNTIME}",
        f"--entry-point={function.name}",
        f"--service-account={target.email(function.name)}",
        f"--timeout={function.timeout:g}s",
        f"--memory={function.memory}",
        f"--cpu={function.cpu}",
        f"--concurrency={function.concurrency}",
        f"--max-instances={function.max_instances}",
        f"--min-instances={function.min_instances}",
        # Eventarc and Cloud Scheduler are inside; only a run on request may be asked for from anywhere, with a token.
        "--ingress-settings=" + ("all" if function.name == "start_flow" else "internal-only"),
        "--no-allow-unauthenticated",
        "--serve-all-traffic-latest-revision",
        *_secrets(target, function),
        *(_event_trigger(target) if function.run_triggered else ("--trigger-http",)),
    )


def _secrets(target: Target, function: Deployable) -> Sequence[str]:
    mine = [
        f"{variable}={target.named(secret)}:latest" for variable, secret, who in secrets(target) if who == function.name
    ]
    return (f"--set-secrets={','.join(mine)}",) if mine else ("--clear-secrets",)


def _event_trigger(target: Target) -> Sequence[str]:
    return (
        f"--trigger-location={target.trigger_location}",
        f"--trigger-service-account={target.email(TRIGGER)}",
        f"--trigger-event-filters=type={WRITTEN}",
        f"--trigger-event-filters=database={target.database}",
        "--trigger-event-filters=namespace=(default)",
        f"--trigger-event-filters-path-pattern=document={target.runs_collection}/{{runId}}",
        "--retry",
    )


def _digest(sources: str, settings: Sequence[str], variables: str) -> str:
    return hashlib.sha256(json.dumps([sources, list(settings), variables]).encode()).hexdigest()[:40]


# --- what a look tells ------------------------------------------------------------------------------------


def _function(name: str, found: Any) -> Any:
    return next((each for each in found if each["name"].rpartition("/")[2] == name), None)


def _is_deployed(target: Target, function: Deployable, digest: str) -> Verdict:
    name = target.named(function.name)

    def settled(found: Any) -> bool:
        there = _function(name, found)
        if there is None:
            return False
        if not _trigger_fits(target, function, there):
            raise Refused(
                f"{name} has another trigger than is wished for; events that arrive while it is replaced are lost "
                "(the sweep makes up for them): say --replace-trigger"
            )
        retried = (there.get("eventTrigger") or {}).get("retryPolicy") == "RETRY_POLICY_RETRY"
        return (
            there.get("labels", {}).get(LABEL) == digest
            and there.get("state") == "ACTIVE"
            and there.get("serviceConfig", {}).get("allTrafficOnLatestRevision") is True
            and retried == function.run_triggered
        )

    return settled


def _trigger_fits(target: Target, function: Deployable, there: Any) -> bool:
    if there is None:
        return True
    trigger = there.get("eventTrigger")
    if not function.run_triggered or trigger is None:
        return not function.run_triggered and trigger is None
    filters: Mapping[str, str] = {each["attribute"]: each["value"] for each in trigger.get("eventFilters", [])}
    return (
        trigger.get("eventType") == WRITTEN
        and trigger.get("triggerRegion") == target.trigger_location
        and filters.get("database") == target.database
        and filters.get("document") == f"{target.runs_collection}/{{runId}}"
    )
