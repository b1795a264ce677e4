"""What is there already: left alone, or refused with the way out."""

from typing import Any

import pytest

from deploy.commands import Joined, Refused
from deploy.plan import Wishes
from tests.deploy import grammar
from tests.deploy.plans import DEV, EVERYTHING, deploys, only, planned, texts, verdict

# --- what is there already --------------------------------------------------------------------------------


def test_a_database_elsewhere_is_refused_with_the_way_out() -> None:
    step = only("the database (default)")
    there = {"name": "projects/my-project/databases/(default)", "locationId": "nam5", "type": "FIRESTORE_NATIVE"}
    with pytest.raises(Refused, match="--trigger-location nam5"):
        verdict(step, [there])
    assert verdict(step, [{**there, "locationId": "europe-west1"}])
    assert not verdict(step, [{**there, "name": "projects/my-project/databases/other"}])
    with pytest.raises(Refused, match="Datastore mode"):
        verdict(step, [{**there, "locationId": "europe-west1", "type": "DATASTORE_MODE"}])


def test_rules_of_somebody_else_are_never_written_over() -> None:
    step = only("no client reads or writes")
    assert not verdict(step, {"ruleset": None, "rules": None})
    with pytest.raises(Refused, match="--keep-rules"):
        verdict(step, {"ruleset": "projects/p/rulesets/1", "rules": "allow read;"})
    assert not [each for each in planned(wishes=Wishes(keep_rules=True)).steps if "deploy.rules" in each.command]


def test_a_bucket_in_another_region_is_refused() -> None:
    with pytest.raises(Refused, match="never moves"):
        verdict(only("the bucket my-project-dev-artifacts, closed"), [{"name": DEV.bucket, "location": "US"}])


def test_a_grant_counts_only_with_the_condition_that_is_meant() -> None:
    step = only("dev-worker-ohlcv-export gets roles/bigquery.dataViewer")
    member = f"serviceAccount:{DEV.email('worker_ohlcv_export')}"
    bound = {"role": "roles/bigquery.dataViewer", "members": [member]}
    name = "projects/my-project/datasets/market"
    wished = {"title": "dev-candles", "expression": f'resource.name == "{name}" || resource.name.startsWith("{name}/")'}
    assert verdict(step, {"bindings": [{**bound, "condition": wished}]})
    assert not verdict(step, {"bindings": [bound]})
    assert not verdict(step, {"bindings": [{**bound, "condition": {**wished, "expression": "false"}}]})
    assert not verdict(step, {})


def a_function(**changes: object) -> dict[str, object]:
    words = deploys(planned().steps)["dev-advance-flow"]
    digest = next(word for word in words if word.startswith("--update-labels=")).rpartition("=")[2]
    trigger = {
        "eventType": "google.cloud.firestore.document.v1.written",
        "triggerRegion": "europe-west1",
        "eventFilters": [
            {"attribute": "database", "value": "(default)"},
            {"attribute": "document", "value": "dev_flow_runs/{runId}", "operator": "match-path-pattern"},
        ],
        "retryPolicy": "RETRY_POLICY_RETRY",
    }
    return {
        "name": "projects/my-project/locations/europe-west1/functions/dev-advance-flow",
        "labels": {"flow-digest": digest},
        "state": "ACTIVE",
        "serviceConfig": {"allTrafficOnLatestRevision": True},
        "eventTrigger": trigger,
        **changes,
    }


def test_a_function_that_is_as_wished_is_left_alone() -> None:
    step = only("the function dev-advance-flow", wishes=Wishes())
    assert verdict(step, [a_function()])
    assert not verdict(step, [])
    assert not verdict(step, [a_function(labels={"flow-digest": "older"})])
    assert not verdict(step, [a_function(state="FAILED")])
    assert not verdict(step, [a_function(serviceConfig={})]), "somebody has sent its traffic elsewhere"
    trigger: Any = a_function()["eventTrigger"]
    once = {**trigger, "retryPolicy": "RETRY_POLICY_DO_NOT_RETRY"}
    assert not verdict(step, [a_function(eventTrigger=once)]), "its events would be tried once"


def test_another_trigger_is_refused_unless_it_is_said_aloud() -> None:
    other = a_function(eventTrigger={"eventType": "google.cloud.firestore.document.v1.updated", "eventFilters": []})
    with pytest.raises(Refused, match="--replace-trigger"):
        verdict(only("the function dev-advance-flow"), [other])
    with pytest.raises(Refused, match="--replace-trigger"):
        verdict(only("the function dev-advance-flow"), [a_function(eventTrigger=None)])
    replacing = only("dev-advance-flow gives way", wishes=Wishes(replace_trigger=True))
    assert not verdict(replacing, [other])
    assert verdict(replacing, [a_function()]), "a trigger that fits is not replaced"


def test_a_plan_asks_only_with_commands_that_read() -> None:
    for step in planned(EVERYTHING, Wishes(replace_trigger=True)).steps:
        for command in grammar.with_inner(step.look) if step.look else ():
            words = texts(command)
            assert {"list", "describe", "get-iam-policy", "show"} & set(words), words
        for word in step.command:
            for part in word.parts if isinstance(word, Joined) else ():
                assert isinstance(part, str) or {"list", "describe"} & set(texts(part))
