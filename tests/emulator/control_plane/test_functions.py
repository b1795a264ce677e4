"""A function that is created is really there: it is started, told of documents, replaced and ended."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from google.cloud import firestore

from emulator.control_plane import Cloud
from tests.emulator.control_plane.asking import HERE, PROJECT, REGION, Asking, email
from tests.emulator.eventarc.receiver import eventually
from tests.emulator.firestore.client import connected

TELLS = """
import os
import functions_framework

@functions_framework.cloud_event
def told(event):
    print("VERSION", event["document"], os.environ["COLOUR"], os.environ.get("KEY"), os.environ.get("GEMINI_API_KEY"))
"""
ANSWERS = """
import functions_framework

@functions_framework.http
def answer(request):
    print("asked", request.full_path, request.headers.get("X-CloudScheduler-JobName"), request.get_data(as_text=True))
    return {"path": request.full_path}
"""
INVOKER = "roles/run.invoker"


@pytest.fixture
def db(cloud: Cloud) -> Iterator[firestore.Client]:
    with connected(cloud.platform.firestore.host, PROJECT) as client:
        yield client


def told(collection: str, ask: Asking, version: str = "first", **changes: Any) -> dict[str, Any]:
    """A wish for a function that is told of the documents of a collection."""
    service = {
        "environmentVariables": {"COLOUR": "blue"},
        "serviceAccountEmail": email("worker"),
        "timeoutSeconds": 60,
        "maxInstanceRequestConcurrency": 4,
    }
    return {
        "buildConfig": {
            "runtime": "python311",
            "entryPoint": "told",
            "source": ask.uploaded({"main.py": TELLS.replace("VERSION", version)}),
        },
        "serviceConfig": service | changes.pop("serviceConfig", {}),
        "eventTrigger": {
            "eventType": "google.cloud.firestore.document.v1.written",
            "triggerRegion": REGION,
            "eventFilters": [
                {"attribute": "database", "value": "(default)"},
                {"attribute": "document", "value": f"{collection}/{{id}}", "operator": "match-path-pattern"},
            ],
            "retryPolicy": "RETRY_POLICY_RETRY",
            "serviceAccountEmail": email("trigger"),
            **changes.pop("eventTrigger", {}),
        },
        **changes,
    }


def asked(ask: Asking) -> dict[str, Any]:
    source = ask.uploaded({"main.py": ANSWERS})
    return {"buildConfig": {"runtime": "python311", "entryPoint": "answer", "source": source}}


def deployed(ask: Asking, name: str, wish: dict[str, Any]) -> dict[str, Any]:
    operation = ask.done("cloudfunctions", ask.function(name, wish))
    assert "error" not in operation, operation
    return dict(operation["response"])


def said(cloud: Cloud, name: str, line: str) -> bool:
    return eventually(lambda: line in cloud.platform.log.lines(name), 20)


def test_a_document_reaches_the_function_when_its_trigger_may_call_it(
    cloud: Cloud, ask: Asking, db: firestore.Client
) -> None:
    function = deployed(ask, "reached", told("reached_runs", ask))
    assert function["state"] == "ACTIVE"
    db.document("reached_runs/r1").set({"v": 1})
    refused = "written reached_runs/r1 → reached: answered 403"
    assert eventually(lambda: any(refused in line for line in cloud.platform.log.lines("eventarc")), 10)
    ask.grant(f"run/v1/{HERE}/services/reached", INVOKER, "trigger")
    assert said(cloud, "reached", "first reached_runs/r1 blue None None")


def test_a_secret_becomes_a_variable_for_an_account_that_may_read_it(
    cloud: Cloud, ask: Asking, db: firestore.Client
) -> None:
    wish = told("keyed_runs", ask, serviceConfig={"secretEnvironmentVariables": [{"key": "KEY", "secret": "key"}]})
    failed = ask.done("cloudfunctions", ask.function("keyed", wish))
    assert f"Permission denied on secret: projects/{PROJECT}/secrets/key" in failed["error"]["message"]
    assert ask.described("keyed")["state"] == "FAILED"
    ask.grant(f"secretmanager/v1/projects/{PROJECT}/secrets/key", "roles/secretmanager.secretAccessor", "worker")
    again = ask("PATCH", f"cloudfunctions/v2/{HERE}/functions/keyed?updateMask=labels", {"labels": {"a": "1"}})
    assert ask.done("cloudfunctions", again)["response"]["state"] == "ACTIVE"
    ask.grant(f"run/v1/{HERE}/services/keyed", INVOKER, "trigger")
    db.document("keyed_runs/r1").set({"v": 1})
    assert said(cloud, "keyed", "first keyed_runs/r1 blue sesame None")


def test_a_new_revision_takes_over_and_a_broken_one_does_not(cloud: Cloud, ask: Asking, db: firestore.Client) -> None:
    wish = told("moved_runs", ask)
    deployed(ask, "moved", wish)
    ask.grant(f"run/v1/{HERE}/services/moved", INVOKER, "trigger")

    def updated(main: str) -> dict[str, Any]:
        build = wish["buildConfig"] | {"source": ask.uploaded({"main.py": main})}
        path = f"cloudfunctions/v2/{HERE}/functions/moved?updateMask=buildConfig"
        return ask.done("cloudfunctions", ask("PATCH", path, {"buildConfig": build}))

    second = updated(TELLS.replace("VERSION", "second"))["response"]
    assert second["serviceConfig"]["revision"] == "moved-00002-loc"
    db.document("moved_runs/r1").set({"v": 1})
    assert said(cloud, "moved", "second moved_runs/r1 blue None None")

    broken = updated("raise RuntimeError('one of the bad days')")
    assert "one of the bad days" in broken["error"]["message"]
    function = ask.described("moved")
    assert (function["state"], "bad days" in function["stateMessages"][0]["message"]) == ("FAILED", True)
    db.document("moved_runs/r2").set({"v": 1})
    assert said(cloud, "moved", "second moved_runs/r2 blue None None")


def test_a_deleted_function_is_ended_and_told_of_nothing(cloud: Cloud, ask: Asking, db: firestore.Client) -> None:
    function = deployed(ask, "brief", told("brief_runs", ask))
    trigger = ask("GET", f"eventarc/v1/{function['eventTrigger']['trigger']}").body
    subscription = f"pubsub/v1/{trigger['transport']['pubsub']['subscription']}"
    assert ask("GET", subscription).status == 200
    process = cloud.control_plane.runtime.pid_of("brief")
    ask.done("cloudfunctions", ask("DELETE", f"cloudfunctions/v2/{HERE}/functions/brief"))
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert [ask("GET", path).status for path in (subscription, f"run/v1/{HERE}/services/brief")] == [404, 404]
    db.document("brief_runs/r1").set({"v": 1})
    assert cloud.platform.settled()
    assert not any("brief_runs/r1" in line for line in cloud.platform.log.lines("brief"))


def test_what_a_deleted_function_did_not_get_goes_with_it(cloud: Cloud, ask: Asking, db: firestore.Client) -> None:
    deployed(ask, "refusing", told("refusing_runs", ask))  # its trigger may not call it: every event waits
    db.document("refusing_runs/r1").set({"v": 1})
    waiting = "written refusing_runs/r1 → refusing: answered 403"
    assert eventually(lambda: any(waiting in line for line in cloud.platform.log.lines("eventarc")), 10)
    ask.done("cloudfunctions", ask("DELETE", f"cloudfunctions/v2/{HERE}/functions/refusing"))
    assert not [event for event in cloud.platform.eventarc.state.pending if event.function == "refusing"]
    delivered = cloud.platform.eventarc.state.delivered
    db.document("refusing_runs/r2").set({"v": 1})
    assert cloud.platform.settled()
    assert cloud.platform.eventarc.state.delivered == delivered, "nobody is told, not even that nobody is there"


def test_an_http_function_is_called_by_those_who_may(cloud: Cloud, ask: Asking) -> None:
    uri = deployed(ask, "asked", asked(ask))["serviceConfig"]["uri"]
    path = f"{uri.removeprefix(ask.url)}/deep/er?x=1".lstrip("/")
    assert ask("GET", path).status == 403
    person = ask.raw("GET", path, None, {"Authorization": "Bearer a-person"})
    assert (person.status, person.body) == (200, {"path": "/deep/er?x=1"})


def test_a_job_calls_its_function_in_the_name_of_its_account(cloud: Cloud, ask: Asking) -> None:
    uri = deployed(ask, "timed", asked(ask))["serviceConfig"]["uri"]
    job = {
        "name": f"{HERE}/jobs/nightly",
        "schedule": "0 3 * * *",
        "httpTarget": {
            "uri": f"{uri}?x=1",
            "body": "eyJmbG93IjogMX0=",
            "oidcToken": {"serviceAccountEmail": email("scheduler"), "audience": uri},
        },
    }
    assert ask("POST", f"cloudscheduler/v1/{HERE}/jobs", job).body["state"] == "ENABLED"
    ask("POST", f"cloudscheduler/v1/{HERE}/jobs/nightly:run", {})
    assert said(cloud, "control_plane", "nightly: answered 403")
    ask.grant(f"run/v1/{HERE}/services/timed", INVOKER, "scheduler")
    ask("POST", f"cloudscheduler/v1/{HERE}/jobs/nightly:run", {})
    assert said(cloud, "timed", 'asked /?x=1 nightly {"flow": 1}')


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"eventTrigger": {"triggerRegion": "us-central1"}}, "does not match the location europe-west1"),
        ({"eventTrigger": {"eventType": "google.cloud.pubsub.topic.v1.messagePublished"}}, "knows no events"),
        ({"eventTrigger": {"serviceAccountEmail": email("nobody")}}, "nobody@demo-local"),
        ({"serviceConfig": {"serviceAccountEmail": email("nobody")}}, "nobody@demo-local"),
        ({"serviceConfig": {"timeoutSeconds": 541}}, "more than 540"),
        ({"serviceConfig": {"availableCpu": "333m"}}, "concurrency > 1"),
        ({"buildConfig": {"runtime": "cobol", "entryPoint": "x"}}, "cobol"),
    ],
    ids=["elsewhere", "other events", "whose trigger", "whose function", "too long", "too small", "too old"],
)
def test_a_wish_that_the_cloud_would_refuse_is_refused_at_once(
    ask: Asking, changes: dict[str, Any], words: str
) -> None:
    answer = ask.function("refused", told("refused_runs", ask, **changes))
    assert answer.status in {400, 404}
    assert words in answer.message
    assert ask("GET", f"cloudfunctions/v2/{HERE}/functions/refused").status == 404


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"other.py": ""}, "missing main.py"),
        ({"main.py": "", "../outside.py": ""}, "outside of its folder"),
        ({"main.py": ANSWERS, "later.py": "def f(:", "more.txt": ""}, "later.py"),
    ],
    ids=["no main", "a way out", "never imported, and broken"],
)
def test_a_source_that_cannot_be_built_ends_the_operation(ask: Asking, files: dict[str, str], words: str) -> None:
    wish = asked(ask)
    wish["buildConfig"]["source"] = ask.uploaded(files)
    name = f"unbuilt-{len(files)}"
    assert words in ask.done("cloudfunctions", ask.function(name, wish))["error"]["message"]


@pytest.mark.long
def test_a_function_is_built_with_its_own_requirements_and_nothing_else(tmp_path: Any) -> None:
    from emulator.platform import Platform

    main = ANSWERS.replace("def answer(request):\n", "def answer(request):\n    import importlib.util as u\n") + "\n"
    main = main.replace("request.full_path}", "str([u.find_spec(m) is not None for m in ('attr', 'flowcore')])}")
    with Cloud(Platform(), cache=tmp_path) as cloud:
        ask = Asking(cloud.control_plane.url)
        ask.prepare()
        wish = asked(ask)
        wish["buildConfig"]["source"] = ask.uploaded({"main.py": main, "requirements.txt": "attrs\n"})
        uri = deployed(ask, "alone", wish)["serviceConfig"]["uri"]
        answer = ask.raw("GET", uri.removeprefix(ask.url + "/"), None, {"Authorization": "Bearer a-person"})
    assert answer.body == {"path": "[True, False]"}
