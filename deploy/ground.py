"""What everything else stands on: the services, the bucket, the secrets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from deploy.commands import Change, Refused, Step, Verdict, gcloud
from deploy.grants import lists
from deploy.target import Target

APIS = (
    "artifactregistry", "bigquery", "cloudbuild", "cloudfunctions", "cloudscheduler", "eventarc", "firebaserules",
    "firestore", "generativelanguage", "iam", "logging", "monitoring", "pubsub", "run", "secretmanager", "storage",
)  # fmt: skip
LIFECYCLE = "lifecycle.json"
# variable → secret, and which function reads it; Chart-IMG's is needed only where charts are bought
GEMINI = ("GEMINI_API_KEY", "gemini-api-key", "worker_llm_report")
CHART_IMG = ("CHART_IMG_ACCOUNTS_JSON", "chart-img-accounts", "worker_charts")


def services(target: Target) -> Step:
    names = [f"{name}.googleapis.com" for name in APIS]
    return Step(
        "the services of Google Cloud that are used",
        gcloud("services", "enable", *names, project=target.project),
        gcloud("services", "list", "--enabled", "--format=json", project=target.project),
        lambda found: {each["config"]["name"] for each in found}.issuperset(names),
    )


def lifecycle(target: Target) -> str:
    """Objects go after their days; what an upload left half-done goes after one."""
    rules = [
        {"action": {"type": "Delete"}, "condition": {"age": target.artifacts_days}},
        {"action": {"type": "AbortIncompleteMultipartUpload"}, "condition": {"age": 1}},
    ]
    return json.dumps({"rule": rules}, indent=2) + "\n"


def bucket(target: Target, lifecycle_file: str) -> Step:
    url = f"gs://{target.bucket}"
    settings = ("--uniform-bucket-level-access", "--public-access-prevention", f"--lifecycle-file={lifecycle_file}")
    return Step(
        f"the bucket {target.bucket}, closed to the public; objects go after {target.artifacts_days} days",
        gcloud("storage", "buckets", "create", url, f"--location={target.region}", *settings, project=target.project),
        gcloud("storage", "buckets", "list", "--raw", "--format=json", project=target.project),
        _is_as_wished(target),
        Change(
            lambda found: _bucket(target, found) is not None,
            gcloud("storage", "buckets", "update", url, *settings, project=target.project),
        ),
    )


def secrets(target: Target) -> list[tuple[str, str, str]]:
    return [GEMINI, *([CHART_IMG] if target.charts_renderer == "chart_img" else [])]


def secret(target: Target, variable: str, name: str) -> Iterator[Step]:
    full = target.named(name)
    yield Step(
        f"the secret {full}",
        gcloud("secrets", "create", full, "--replication-policy=automatic", project=target.project),
        gcloud("secrets", "list", "--format=json", project=target.project),
        lambda found: any(each["name"].rpartition("/")[2] == full for each in found),
    )
    yield Step(
        f"its value, from the variable {variable}",
        gcloud("secrets", "versions", "add", full, "--data-file=-", project=target.project),
        gcloud("secrets", "versions", "list", full, "--format=json", project=target.project),
        lists("state", "ENABLED"),
        secret=variable,
    )


def _bucket(target: Target, found: Any) -> Any:
    return next((each for each in found if each["name"] == target.bucket), None)


def _is_as_wished(target: Target) -> Verdict:
    wished = json.loads(lifecycle(target))["rule"]

    def settled(found: Any) -> bool:
        there = _bucket(target, found) or {}
        if there and there["location"].lower() != target.region:
            raise Refused(
                f"the bucket {target.bucket} is in {there['location'].lower()}, not in {target.region}; a bucket never "
                "moves: deploy to its region, or empty and delete it"
            )
        iam = there.get("iamConfiguration", {})
        return (
            there.get("lifecycle", {}).get("rule") == wished
            and iam.get("uniformBucketLevelAccess", {}).get("enabled") is True
            and iam.get("publicAccessPrevention") == "enforced"
        )

    return settled
