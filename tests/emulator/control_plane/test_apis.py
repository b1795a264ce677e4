"""What all APIs share: errors in Google's words, operations that are never done at once, gaps that are seen."""

import base64
import http.client
from urllib.parse import urlsplit

from emulator.control_plane import Cloud
from emulator.faults import status
from tests.emulator.control_plane.asking import HERE, PROJECT, Asking, email
from tests.emulator.firestore.client import connected

SECRETS = f"secretmanager/v1/projects/{PROJECT}/secrets"


def test_an_api_that_is_not_enabled_says_so_in_a_way_that_gcloud_understands(ask: Asking) -> None:
    answer = ask("GET", f"firebaserules/v1/projects/{PROJECT}/rulesets")
    assert answer.status == 403
    (detail,) = answer.body["error"]["details"]
    assert (detail["reason"], detail["metadata"]["service"]) == ("SERVICE_DISABLED", "firebaserules.googleapis.com")


def test_what_is_not_there_is_not_found_and_what_is_there_already_exists(ask: Asking) -> None:
    assert ask("GET", f"{SECRETS}/nobody").body["error"]["status"] == "NOT_FOUND"
    again = ask("POST", f"{SECRETS}?secretId=key", {})
    assert (again.status, again.body["error"]["status"]) == (409, "ALREADY_EXISTS")


def test_a_gap_is_refused_with_words_and_told(cloud: Cloud, ask: Asking) -> None:
    answer = ask("POST", f"run/v2/{HERE}/jobs", {})
    assert answer.status == 501
    assert "does not know POST" in answer.message
    assert any(f"/run/v2/{HERE}/jobs" in line for line in cloud.platform.log.lines("control_plane"))


def test_nothing_gets_out_through_the_proxy(cloud: Cloud) -> None:
    connection = http.client.HTTPConnection(urlsplit(cloud.control_plane.url).netloc, timeout=10)
    connection.request("CONNECT", "compute.googleapis.com:443")
    assert connection.getresponse().status == 501
    connection.close()


def test_an_operation_is_never_done_in_the_answer_that_announces_it(ask: Asking) -> None:
    enabling = ask("POST", f"serviceusage/v1/projects/{PROJECT}/services/tpu.googleapis.com:enable", {})
    assert enabling.body["done"] is False
    assert ask.done("serviceusage", enabling)["response"]["services"][0]["state"] == "ENABLED"


def test_a_policy_names_nobody_who_does_not_exist(ask: Asking) -> None:
    binding = {"role": "roles/viewer", "members": [f"serviceAccount:{email('nobody')}"]}
    answer = ask("POST", f"{SECRETS}/key:setIamPolicy", {"policy": {"bindings": [binding]}})
    assert (answer.status, answer.message) == (400, f"Service account {email('nobody')} does not exist.")


def test_an_account_that_is_made_anew_inherits_nothing(ask: Asking) -> None:
    accounts = f"iam/v1/projects/{PROJECT}/serviceAccounts"
    ask("POST", accounts, {"accountId": "phoenix"})
    ask("POST", f"{SECRETS}?secretId=inherited", {})
    ask.grant(f"{SECRETS}/inherited", "roles/viewer", "phoenix")
    ask("DELETE", f"{accounts}/{email('phoenix')}")
    ask("POST", accounts, {"accountId": "phoenix"})
    policy = ask("POST", f"{SECRETS}/inherited:getIamPolicy").body
    (member,) = policy["bindings"][0]["members"]
    assert member.startswith(f"deleted:serviceAccount:{email('phoenix')}?uid=")
    assert ask("POST", f"{SECRETS}/inherited:setIamPolicy", {"policy": policy}).status == 200


def test_google_s_own_accounts_need_not_be_created(ask: Asking) -> None:
    ask("PUT", f"pubsub/v1/projects/{PROJECT}/topics/agents", {})
    member = "serviceAccount:service-1@gcp-sa-pubsub.iam.gserviceaccount.com"
    binding = {"role": "roles/pubsub.publisher", "members": [member]}
    answer = ask(
        "POST", f"pubsub/v1/projects/{PROJECT}/topics/agents:setIamPolicy", {"policy": {"bindings": [binding]}}
    )
    assert answer.body["bindings"] == [binding]


def test_the_newest_version_of_a_secret_is_the_latest(ask: Asking) -> None:
    ask("POST", f"{SECRETS}?secretId=turning", {})
    for word in (b"one", b"two"):
        ask("POST", f"{SECRETS}/turning:addVersion", {"payload": {"data": base64.b64encode(word).decode()}})
    latest = ask("GET", f"{SECRETS}/turning/versions/latest:access").body
    assert latest["name"].endswith("/turning/versions/2")
    assert base64.b64decode(latest["payload"]["data"]) == b"two"


def test_a_payload_that_its_checksum_denies_is_refused(ask: Asking) -> None:
    payload = {"data": base64.b64encode(b"sesame").decode(), "dataCrc32c": "1"}
    assert ask("POST", f"{SECRETS}/key:addVersion", {"payload": payload}).status == 400


def test_a_topic_is_created_once_and_a_subscription_is_patched_by_its_mask(ask: Asking) -> None:
    topic = f"projects/{PROJECT}/topics/letters"
    assert ask("PUT", f"pubsub/v1/{topic}", {}).status == 200
    assert ask("PUT", f"pubsub/v1/{topic}", {}).status == 409
    subscription = f"pubsub/v1/projects/{PROJECT}/subscriptions/letters"
    ask("PUT", subscription, {"topic": topic})
    change = {"deadLetterPolicy": {"deadLetterTopic": topic, "maxDeliveryAttempts": 100}, "topic": "ignored"}
    patched = ask("PATCH", subscription, {"subscription": change, "updateMask": "deadLetterPolicy"}).body
    assert (patched["topic"], patched["deadLetterPolicy"]["maxDeliveryAttempts"]) == (topic, 100)


def test_a_bucket_is_cloud_storage_s_and_its_policy_is_kept_here(cloud: Cloud, ask: Asking) -> None:
    ask("POST", f"storage/v1/b?project={PROJECT}", {"name": "shared-bucket", "location": "EUROPE-WEST1"})
    assert [bucket.name for bucket in cloud.platform.storage.store.buckets()] == ["shared-bucket"]
    binding = {"role": "roles/storage.objectViewer", "members": [f"serviceAccount:{email('worker')}"]}
    read = ask("GET", "storage/v1/b/shared-bucket/iam").body
    written = ask("PUT", "storage/v1/b/shared-bucket/iam", {**read, "bindings": [binding]})
    assert written.body["bindings"] == [binding]
    assert ask("PUT", "storage/v1/b/shared-bucket/iam", {**read, "bindings": []}).status == 409
    assert ask("GET", "storage/v1/b/absent-bucket/iam").status == 404


def test_a_field_without_wishes_has_the_indexes_that_every_field_has(ask: Asking) -> None:
    fields = f"firestore/v1/projects/{PROJECT}/databases/(default)/collectionGroups/runs/fields"
    assert ask("GET", f"{fields}/steps").body["indexConfig"]["usesAncestorConfig"] is True
    ask.done("firestore", ask("PATCH", f"{fields}/steps?updateMask=indexConfig", {"indexConfig": {"indexes": []}}))
    assert ask("GET", f"{fields}/steps").body["indexConfig"] == {"indexes": []}
    assert [each["name"].rpartition("/")[2] for each in ask("GET", fields).body["fields"]] == ["steps"]


def test_a_bulk_delete_takes_the_documents_of_its_collections_and_no_others(cloud: Cloud, ask: Asking) -> None:
    with connected(cloud.platform.firestore.host, PROJECT) as db:
        paths = ("going_runs/r1", "going_runs/r1/going_runs/r2", "staying_runs/r3")
        for path in paths:
            db.document(path).set({"v": 1})
        database = f"firestore/v1/projects/{PROJECT}/databases/(default)"
        deleting = ask("POST", f"{database}:bulkDeleteDocuments", {"collectionIds": ["going_runs"]})
        ask.done("firestore", deleting)
        assert [db.document(path).get().exists for path in paths] == [False, False, True]


def test_bad_weather_is_planned_and_counted_as_everywhere(cloud: Cloud, ask: Asking) -> None:
    busy = cloud.platform.faults.add(
        service="control_plane", method="secretmanager.secrets.list", action=status(503), times=1
    )
    assert ask("GET", SECRETS).body["error"]["status"] == "UNAVAILABLE"
    assert ask("GET", SECRETS).status == 200
    assert busy.fired == 1
