"""Who may do what: each function has an account of its own, and each account the least that its function needs.

A grant is made on the one bucket, secret or service that is meant. Project-wide are only roles that cannot be given on
less: to read and write documents, to run queries, to receive events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from deploy.commands import Step, Verdict, Word, gcloud, joined
from deploy.target import Target

# Which function touches what; a test compares it with what the sources import.
WRITES_OBJECTS = ("worker_ohlcv_export", "worker_charts", "worker_llm_report")
# It stores more than it can hold at once: what is known only at the end, such as the hash, is added to the object then.
ANNOTATES_OBJECTS = ("worker_ohlcv_export",)
QUERIES = ("worker_ohlcv_export",)
TRIGGER, SCHEDULER = "flow_trigger", "flow_scheduler"


def accounts(target: Target, functions: Sequence[str]) -> Iterator[Step]:
    purposes = {
        **{name: f"the function {target.named(name)}" for name in functions},
        TRIGGER: "brings Firestore's events to the functions",
        SCHEDULER: "calls the functions at their hours",
    }
    for name, purpose in purposes.items():
        yield Step(
            f"an account: {purpose}",
            gcloud(
                "iam", "service-accounts", "create", target.named(name), f"--display-name={target.named(name)}",
                f"--description={purpose}", project=target.project,
            ),
            gcloud("iam", "service-accounts", "list", "--format=json", project=target.project),
            lists("email", target.email(name)),
        )  # fmt: skip


def project_grants(target: Target, functions: Sequence[str]) -> Iterator[Step]:
    for name in functions:
        yield _on_project(target, name, "roles/datastore.user")
    for name in QUERIES:
        yield _on_project(target, name, "roles/bigquery.jobUser")
        project, condition = _candles_only(target)
        yield _grant(target, ("projects",), project, name, "roles/bigquery.dataViewer", condition=condition)
    yield _on_project(target, TRIGGER, "roles/eventarc.eventReceiver")


def bucket_grants(target: Target) -> Iterator[Step]:
    """Create, not change: an object is written once. View: a step reads what the steps before it wrote.

    Among the roles that allow to change an object's metadata the legacy owner's is the smallest: it can neither replace
    nor delete an object, and its right to an object's access list is void on a bucket with uniform access.
    """
    roles = {name: ["roles/storage.objectCreator", "roles/storage.objectViewer"] for name in WRITES_OBJECTS}
    for name in ANNOTATES_OBJECTS:
        roles[name].append("roles/storage.legacyObjectOwner")
    for name, granted in roles.items():
        for role in granted:
            yield _grant(target, ("storage", "buckets"), f"gs://{target.bucket}", name, role)


def secret_grant(target: Target, secret: str, reader: str) -> Step:
    return _grant(target, ("secrets",), target.named(secret), reader, "roles/secretmanager.secretAccessor")


def invoker_grant(target: Target, function: str, caller: str) -> Step:
    where = (f"--region={target.region}",)
    return _grant(target, ("run", "services"), target.named(function), caller, "roles/run.invoker", where=where)


def agent_grant(target: Target, kind: str, resource: Word, role: str, words: str) -> Step:
    """For Pub/Sub itself, which moves what nobody could process to the dead letters."""
    agent = "@gcp-sa-pubsub.iam.gserviceaccount.com"
    number = ("gcloud", "projects", "describe", target.project, "--format=value(projectNumber)")
    return Step(
        words,
        gcloud(
            "pubsub", kind, "add-iam-policy-binding", resource,
            joined("--member=serviceAccount:service-", number, agent), f"--role={role}", project=target.project,
        ),
        gcloud("pubsub", kind, "get-iam-policy", resource, "--format=json", project=target.project),
        binds(re.compile(rf"serviceAccount:service-\d+{re.escape(agent)}"), role),
    )  # fmt: skip


def _on_project(target: Target, name: str, role: str) -> Step:
    return _grant(target, ("projects",), target.project, name, role)


def _grant(
    target: Target,
    group: tuple[str, ...],
    resource: str,
    name: str,
    role: str,
    *,
    where: tuple[str, ...] = (),
    condition: str | None = None,
) -> Step:
    member = f"serviceAccount:{target.email(name)}"
    return Step(
        f"{target.named(name)} gets {role} on {resource}",
        gcloud(
            *group, "add-iam-policy-binding", resource, *where, f"--member={member}", f"--role={role}",
            f"--condition={condition}", project=target.project,  # without one: None, which is how gcloud spells it
        ),
        gcloud(*group, "get-iam-policy", resource, *where, "--format=json", project=target.project),
        binds(re.compile(re.escape(member)), role, condition.partition(":expression=")[2] if condition else None),
    )  # fmt: skip


def _candles_only(target: Target) -> tuple[str, str]:
    """Their project, and the condition that means their dataset; `^:^` is gcloud's way to let it hold commas."""
    *elsewhere, dataset, _ = target.candles_table.rsplit(".", 2)
    project = elsewhere[0] if elsewhere else target.project
    name = f"projects/{project}/datasets/{dataset}"
    wish = f'resource.name == "{name}" || resource.name.startsWith("{name}/")'
    return project, f"^:^title={target.named('candles')}:expression={wish}"


# --- what a look tells ------------------------------------------------------------------------------------


def lists(key: str, value: str) -> Verdict:
    def settled(found: Any) -> bool:
        return any(each.get(key) == value for each in found)

    return settled


def binds(member: re.Pattern[str], role: str, expression: str | None = None) -> Verdict:
    def settled(policy: Any) -> bool:
        return any(
            binding["role"] == role
            and binding.get("condition", {}).get("expression") == expression
            and any(member.fullmatch(each) for each in binding["members"])
            for binding in policy.get("bindings", [])
        )

    return settled
