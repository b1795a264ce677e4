"""The unmodified gcloud talks to the control plane as to the cloud. A few commands always, the rest when there is time.

Each command takes gcloud a second or two, whatever it does; so what a test needs first is asked for by HTTP.
"""

import json
from pathlib import Path

import pytest

from emulator.control_plane import Cloud
from tests.deploy.control_plane.conftest import Gcloud, answered
from tests.emulator.control_plane.asking import HERE, PROJECT, REGION, Asking, email
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import connected

TOLD = """
import os
import functions_framework

@functions_framework.cloud_event
def told(event):
    print("told of", event["document"], os.environ["COLOURS"], os.environ["KEY"])
"""
WRITTEN = "google.cloud.firestore.document.v1.written"


@pytest.fixture
def ask(cloud: Cloud) -> Asking:
    return Asking(cloud.control_plane.url)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "main.py").write_text(TOLD)
    (tmp_path / "requirements.txt").write_text("functions-framework\n")
    return tmp_path


def deploying(name: str, source: Path, *more: str) -> list[str]:
    return [
        *("functions", "deploy", name, "--gen2", f"--region={REGION}", f"--source={source}", "--runtime=python311"),
        *("--entry-point=told", f"--service-account={email('worker')}", "--timeout=60s", "--memory=256Mi", "--cpu=1"),
        *("--concurrency=8", "--max-instances=3", "--min-instances=0", "--ingress-settings=internal-only"),
        *("--no-allow-unauthenticated", "--set-env-vars=^:^COLOURS=red, green", "--set-secrets=KEY=key:latest"),
        *(f"--trigger-location={REGION}", f"--trigger-service-account={email('trigger')}", "--retry"),
        *(f"--trigger-event-filters=type={WRITTEN}", "--trigger-event-filters=database=(default)"),
        *("--trigger-event-filters=namespace=(default)",),
        f"--trigger-event-filters-path-pattern=document={name}_runs/{{runId}}",
        *more,
    ]


def test_a_function_that_gcloud_deploys_is_told_of_documents(
    cloud: Cloud, ask: Asking, gcloud: Gcloud, source: Path
) -> None:
    ask.grant(f"secretmanager/v1/projects/{PROJECT}/secrets/key", "roles/secretmanager.secretAccessor", "worker")
    answered(gcloud(*deploying("told", source, "--update-labels=digest=one")))
    member = f"--member=serviceAccount:{email('trigger')}"
    binding = ("add-iam-policy-binding", "told", f"--region={REGION}", member, "--role=roles/run.invoker")
    answered(gcloud("run", "services", *binding))
    with connected(cloud.platform.firestore.host, PROJECT) as db:
        db.document("told_runs/r1").set({"v": 1})
    line = "told of told_runs/r1 red, green sesame"
    assert eventually(lambda: line in cloud.platform.log.lines("told"), 20)
    described = json.loads(answered(gcloud("functions", "describe", "told", f"--region={REGION}", "--format=json")))
    assert (described["state"], described["labels"]["digest"]) == ("ACTIVE", "one")
    assert described["eventTrigger"]["retryPolicy"] == "RETRY_POLICY_RETRY"


def test_what_exists_already_is_said_in_words_that_scripts_can_read(gcloud: Gcloud) -> None:
    again = gcloud("iam", "service-accounts", "create", "worker")
    assert again.returncode == 1
    assert "already exists" in again.stderr


def test_a_secret_travels_through_standard_input(gcloud: Gcloud, ask: Asking) -> None:
    answered(gcloud("secrets", "versions", "add", "key", "--data-file=-", stdin="sesame"))
    versions = ask("GET", f"secretmanager/v1/projects/{PROJECT}/secrets/key/versions").body["versions"]
    assert len(versions) == 2


@pytest.mark.long  # gcloud asks again and again, for half a minute
def test_an_api_without_a_place_here_is_not_asked_in_the_cloud(cloud: Cloud, gcloud: Gcloud) -> None:
    assert gcloud("dns", "managed-zones", "list").returncode == 1
    assert any("https://dns.googleapis.com:443" in line for line in cloud.platform.log.lines("control_plane"))


@pytest.mark.long
def test_services_are_enabled_and_listed(gcloud: Gcloud) -> None:
    wished = {"firebaserules.googleapis.com", "generativelanguage.googleapis.com"}
    for _ in range(2):
        answered(gcloud("services", "enable", *wished))
    listed = json.loads(answered(gcloud("services", "list", "--enabled", "--format=json")))
    assert wished <= {each["config"]["name"] for each in listed}
    identity = answered(gcloud("beta", "services", "identity", "create", "--service=pubsub.googleapis.com"))
    assert identity == ""


@pytest.mark.long
def test_roles_are_bound_once_however_often_it_is_said(gcloud: Gcloud) -> None:
    member = f"--member=serviceAccount:{email('worker')}"
    for _ in range(2):
        answered(
            gcloud(
                "projects", "add-iam-policy-binding", PROJECT, member, "--role=roles/datastore.user", "--condition=None"
            )
        )
    policy = json.loads(answered(gcloud("projects", "get-iam-policy", PROJECT, "--format=json")))
    (bound,) = [each for each in policy["bindings"] if each["role"] == "roles/datastore.user"]
    assert bound["members"] == [f"serviceAccount:{email('worker')}"]
    condition = "--condition=^:^title=candles:expression=resource.name.startsWith('projects/x')"
    answered(
        gcloud("projects", "add-iam-policy-binding", PROJECT, member, "--role=roles/bigquery.dataViewer", condition)
    )
    answered(
        gcloud("projects", "remove-iam-policy-binding", PROJECT, member, "--role=roles/bigquery.dataViewer", condition)
    )
    assert answered(gcloud("projects", "describe", PROJECT, "--format=value(projectNumber)")).isdigit()


@pytest.mark.long
def test_a_bucket_is_created_changed_shared_filled_and_emptied(gcloud: Gcloud, tmp_path: Path) -> None:
    url, rule = "gs://made-by-gcloud", {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 14}}]}
    (tmp_path / "lifecycle.json").write_text(json.dumps(rule))
    settings = ("--uniform-bucket-level-access", "--public-access-prevention")
    answered(gcloud("storage", "buckets", "create", url, f"--location={REGION}", *settings))
    assert gcloud("storage", "buckets", "create", url, f"--location={REGION}").returncode == 1
    answered(gcloud("storage", "buckets", "update", url, f"--lifecycle-file={tmp_path / 'lifecycle.json'}"))
    found = json.loads(answered(gcloud("storage", "buckets", "describe", url, "--raw", "--format=json")))
    assert found["lifecycle"] == rule
    assert found["iamConfiguration"]["publicAccessPrevention"] == "enforced"
    member = f"--member=serviceAccount:{email('worker')}"
    answered(gcloud("storage", "buckets", "add-iam-policy-binding", url, member, "--role=roles/storage.objectViewer"))
    assert email("worker") in answered(gcloud("storage", "buckets", "get-iam-policy", url))
    answered(gcloud("storage", "cp", str(tmp_path / "lifecycle.json"), f"{url}/a/b.json"))
    assert json.loads(answered(gcloud("storage", "cat", f"{url}/a/b.json"))) == rule
    answered(gcloud("storage", "rm", "--recursive", url))
    assert gcloud("storage", "buckets", "describe", url).returncode == 1


@pytest.mark.long
def test_fields_and_indexes_are_as_wished(gcloud: Gcloud) -> None:
    where = ("--collection-group=flow_runs", "--database=(default)")
    answered(gcloud("firestore", "fields", "ttls", "update", "expireAt", *where, "--enable-ttl"))
    answered(gcloud("firestore", "indexes", "fields", "update", "steps", *where, "--disable-indexes"))
    listed = json.loads(answered(gcloud("firestore", "indexes", "fields", "list", *where, "--format=json")))
    assert [each["name"].rpartition("/")[2] for each in listed] == ["steps"]
    ttls = json.loads(answered(gcloud("firestore", "fields", "ttls", "list", *where, "--format=json")))
    assert [each["ttlConfig"]["state"] for each in ttls] == ["ACTIVE"]
    fields = (
        "--field-config=field-path=status,order=ascending",
        "--field-config=field-path=createdAt,order=descending",
    )
    answered(gcloud("firestore", "indexes", "composite", "create", where[0], *fields))
    again = gcloud("firestore", "indexes", "composite", "create", where[0], *fields)
    assert "already exists" in again.stderr
    found = json.loads(answered(gcloud("firestore", "databases", "describe", "--database=(default)", "--format=json")))
    assert found["locationId"] == REGION


@pytest.mark.long
def test_a_function_is_listed_updated_and_deleted(cloud: Cloud, ask: Asking, gcloud: Gcloud, source: Path) -> None:
    ask.grant(f"secretmanager/v1/projects/{PROJECT}/secrets/key", "roles/secretmanager.secretAccessor", "worker")
    answered(gcloud(*deploying("renewed", source)))
    first = cloud.control_plane.runtime.pid_of("renewed")
    answered(gcloud(*deploying("renewed", source, "--update-labels=digest=two")))
    assert cloud.control_plane.runtime.pid_of("renewed") != first
    listed = json.loads(answered(gcloud("functions", "list", f"--regions={REGION}", "--v2", "--format=json")))
    (renewed,) = [each for each in listed if each["name"].endswith("/renewed")]
    assert renewed["labels"]["digest"] == "two"
    trigger = renewed["eventTrigger"]["trigger"]
    transport = "--format=value(transport.pubsub.subscription)"
    subscription = answered(gcloud("eventarc", "triggers", "describe", trigger, transport))
    answered(gcloud("pubsub", "topics", "create", "dead"))
    letters = ("--dead-letter-topic=dead", "--max-delivery-attempts=100", "--min-retry-delay=10s")
    answered(gcloud("pubsub", "subscriptions", "update", subscription, *letters, "--max-retry-delay=600s"))
    kept = ask("GET", f"pubsub/v1/{subscription}").body
    assert kept["deadLetterPolicy"]["maxDeliveryAttempts"] == 100
    answered(gcloud("functions", "delete", "renewed", f"--region={REGION}"))
    assert ask("GET", f"cloudfunctions/v2/{HERE}/functions/renewed").status == 404


@pytest.mark.long
def test_jobs_metrics_alerts_and_dashboards(gcloud: Gcloud, tmp_path: Path) -> None:
    job = ("nightly", f"--location={REGION}", "--uri=http://127.0.0.1:9/", "--http-method=post")
    oidc = f"--oidc-service-account-email={email('scheduler')}"
    answered(gcloud("scheduler", "jobs", "create", "http", *job, "--schedule=0 3 * * *", oidc))
    answered(gcloud("scheduler", "jobs", "update", "http", *job, "--schedule=0 */4 * * *"))
    (found,) = json.loads(answered(gcloud("scheduler", "jobs", "list", f"--location={REGION}", "--format=json")))
    assert found["schedule"] == "0 */4 * * *"
    assert found["httpTarget"]["oidcToken"]["serviceAccountEmail"] == email("scheduler")

    def file(name: str, content: object) -> str:
        (tmp_path / name).write_text(json.dumps(content))
        return str(tmp_path / name)

    metric = f"--config-from-file={file('metric', {'description': 'runs', 'filter': 'a=1'})}"
    answered(gcloud("logging", "metrics", "create", "runs", metric))
    answered(gcloud("logging", "metrics", "update", "runs", metric))
    board = f"--config-from-file={file('board', {'displayName': 'Flow', 'gridLayout': {'columns': '2'}})}"
    answered(gcloud("monitoring", "dashboards", "create", board))
    (found,) = json.loads(answered(gcloud("monitoring", "dashboards", "list", "--format=json")))
    answered(gcloud("monitoring", "dashboards", "update", found["name"], board))
    condition = {"displayName": "c", "conditionPrometheusQueryLanguage": {"query": "up", "duration": "0s"}}
    policy = (
        f"--policy-from-file={file('alert', {'displayName': 'Stuck', 'combiner': 'OR', 'conditions': [condition]})}"
    )
    answered(gcloud("alpha", "monitoring", "policies", "create", policy))
    (found,) = json.loads(answered(gcloud("alpha", "monitoring", "policies", "list", "--format=json")))
    answered(gcloud("alpha", "monitoring", "policies", "update", found["name"], policy))
    answered(gcloud("alpha", "monitoring", "policies", "delete", found["name"]))
