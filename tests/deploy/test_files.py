"""Files that only the cloud reads: that they are valid, and that what they name exists."""

import json
import re
import tomllib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from deploy import rules
from deploy.database import INDEXES, RULES
from deploy.observing import FOLDER, files, page, with_names
from deploy.plan import plan
from deploy.smoke import FLOW, account, run_document
from deploy.target import ENVIRONMENTS, target
from flowcore.config import VARIABLES, CandlesConfig, ChartsConfig, Config
from flowcore.contracts.flows import instantiate
from flowcore.domain.model import Snapshot
from flowcore.domain.parse import parse_run
from flowcore.testing.world import T0
from functions.catalogue import deployables
from tests.reading.sources import ROOT

DEV = target("dev", "my-project", "europe-west1")
METRICS: dict[str, Any] = json.loads((FOLDER / "metrics.json").read_text())
ALERTS: dict[str, Any] = json.loads((FOLDER / "alerts.json").read_text())
PLATFORM_METRICS = {
    "pubsub_googleapis_com:subscription_num_undelivered_messages",
    "run_googleapis_com:request_latencies_bucket",
}


# --- what the log has, and what is asked of it ------------------------------------------------------------


def logged() -> dict[str, set[str]]:
    """Event → the fields that its lines have, by spec/logging.md."""
    text = (ROOT / "spec/logging.md").read_text()
    envelope = set(re.findall(r"^\| `(\w+)` \|", text.partition("## Events")[0], re.MULTILINE))
    rows = re.findall(r"^\| `(\w+)` \| \w+ \| (.*?) \|", text.partition("## Events")[2], re.MULTILINE)
    return {event: envelope | set(re.findall(r"`(\w+)`", fields)) for event, fields in rows}


def strangers(query: str, known: dict[str, set[str]]) -> Iterator[str]:
    """Events and fields that no line of the log has. The fields of several events have to be those of each."""
    groups = re.findall(r'jsonPayload\.event=(?:"(\w+)"|\(([^)]*)\))', query)
    events = {event for one, several in groups for event in ([one] if one else re.findall(r'"(\w+)"', several))}
    yield from (f"no event {event}" for event in sorted(events - known.keys()))
    alternatives = re.split(r"\bOR\b(?![^(]*\))", query)
    for part in alternatives if len(groups) > 1 else [query]:
        here = set(re.findall(r'"(\w+)"', part)) & known.keys()
        for field in re.findall(r"jsonPayload\.(\w+)", part):
            yield from (f"{event} has no {field}" for event in here if field not in known[event])


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_counts_lines_that_exist(name: str) -> None:
    assert "jsonPayload.event=" in METRICS[name]["filter"]
    assert not list(strangers(METRICS[name]["filter"], logged()))


def test_the_runbook_asks_the_log_for_lines_that_exist() -> None:
    queries = re.findall(r"^    (.*jsonPayload\.event=.*)$", (ROOT / "deploy/runbook.md").read_text(), re.MULTILINE)
    assert len(queries) >= 5
    assert not [stranger for query in queries for stranger in strangers(query, logged())]


@pytest.mark.parametrize(
    ("query", "stranger"),
    [
        ('jsonPayload.event="step_claimd"', "no event step_claimd"),
        ('jsonPayload.event="step_claimed" AND jsonPayload.conflict>0', "step_claimed has no conflict"),
        ('jsonPayload.event=("step_failed" OR "step_lost")', "no event step_lost"),
        ('jsonPayload.event="step_claimed" AND jsonPayload.attempt>1', None),
    ],
)
def test_a_query_for_what_nobody_writes_is_noticed(query: str, stranger: str | None) -> None:
    found = list(strangers(query, logged()))
    assert stranger in found if stranger else not found


# --- alerts and the dashboard -----------------------------------------------------------------------------


def queries() -> list[str]:
    board = json.loads(dict(files(DEV))["dashboard.json"])
    tiles = [tile["widget"]["xyChart"]["dataSets"] for tile in board["mosaicLayout"]["tiles"]]
    drawn = [data["timeSeriesQuery"]["prometheusQuery"] for sets in tiles for data in sets]
    return [*drawn, *(with_names(DEV, about["query"]) for about in ALERTS.values())]


def test_every_query_asks_for_metrics_that_are_counted() -> None:
    counted = {f"logging_googleapis_com:user_dev_flow_{name}" for name in METRICS}
    for query in queries():
        asked = set(re.findall(r"\w+_googleapis_com:\w+", query))
        assert asked, query
        assert asked <= counted | PLATFORM_METRICS, query
        assert query.count("(") == query.count(")")
        assert "ENVIRONMENT" not in query


def test_every_metric_is_looked_at_by_somebody() -> None:
    everything = "\n".join(queries())
    assert not [name for name in METRICS if f"user_dev_flow_{name}{{" not in everything]


def test_the_alerts_that_are_owed_are_there_with_their_thresholds() -> None:
    assert {"stuck_leases", "failure_rate", "retry_rate", "conflict_rate", "dead_letters"} <= ALERTS.keys()
    assert ALERTS["failure_rate"]["query"].endswith("> 0.05")
    assert "[1h]" in ALERTS["failure_rate"]["query"]
    assert ALERTS["retry_rate"]["query"].endswith("> 0.30")


@pytest.mark.parametrize("alert", ALERTS)
def test_every_alert_has_a_page_that_says_what_where_and_what_to_do(alert: str) -> None:
    text = page(alert)
    assert [sign for sign in ("**Symptom.**", "**Query.**", "**Action.**") if sign not in text] == []
    policy = json.loads(dict(files(DEV))[f"alert-{alert}.json"])
    assert policy["documentation"]["content"] == text
    assert len(text.encode()) < 8_192, "Cloud Monitoring takes no more"


def test_the_runbook_has_no_page_for_an_alert_that_is_gone() -> None:
    chapters = set(re.findall(r"^## (\w+)$", (ROOT / "deploy/runbook.md").read_text(), re.MULTILINE))
    assert chapters == set(ALERTS)


def test_the_tiles_of_the_dashboard_do_not_overlap_and_fit() -> None:
    tiles = json.loads((FOLDER / "dashboard.json").read_text())["mosaicLayout"]["tiles"]
    cells = [
        (column, row)
        for tile in tiles
        for column in range(tile["xPos"], tile["xPos"] + tile["width"])
        for row in range(tile["yPos"], tile["yPos"] + tile["height"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(column for column, _ in cells) < 48


# --- Firestore --------------------------------------------------------------------------------------------


def test_no_client_may_read_or_write() -> None:
    text = re.sub(r"//.*", "", RULES.read_text())
    assert re.findall(r"allow ([^;]*);", text) == ["read, write: if false"]
    assert "match /{document=**}" in text
    assert text.count("{") == text.count("}")


def test_what_a_query_asks_for_keeps_its_index_and_the_rest_has_none() -> None:
    wished = json.loads(INDEXES.read_text())
    assert wished["indexes"] == [], "every query asks by one field"
    exempt = {override["fieldPath"] for override in wished["fieldOverrides"] if not override["indexes"]}
    adapters = (ROOT / "flowcore/adapters/firestore.py").read_text() + (ROOT / "flowcore/cli/listing.py").read_text()
    asked = set(re.findall(r'(?:_where|order_by|FieldFilter)\("(\w+)"', adapters))
    assert asked >= {"wakeAt", "status", "createdAt"}
    assert not asked & exempt
    assert {"steps", "updatedAt", "finishedAt"} <= exempt


class Rules:
    """The service of the rules, as far as it goes."""

    def __init__(self) -> None:
        self.rulesets: list[Any] = []
        self.releases: dict[str, str] = {}

    def call(self, method: str, path: str, body: Any) -> Any:
        match method, path.removeprefix("v1/projects/p/").split("/", 1):
            case "POST", ["rulesets"]:
                self.rulesets.append(body)
                return {"name": f"projects/p/rulesets/{len(self.rulesets)}"}
            case "POST", ["releases"]:
                self.releases[body["name"]] = body["rulesetName"]
                return body
            case "GET", ["releases", _]:
                ruleset = self.releases.get(path.removeprefix("v1/"))
                return {"rulesetName": ruleset} if ruleset else None
            case "GET", ["rulesets", number]:
                return self.rulesets[int(number) - 1]
        raise AssertionError(f"{method} {path}")


@pytest.mark.parametrize("database", ["(default)", "runs"])
def test_rules_that_were_released_are_shown(database: str) -> None:
    service = Rules()
    assert rules.show(service.call, "p", database) == {"ruleset": None, "rules": None}
    rules.release(service.call, "p", database)
    assert rules.show(service.call, "p", database) == {
        "ruleset": "projects/p/rulesets/1", "rules": RULES.read_text(),
    }  # fmt: skip


# --- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("environment", ["dev", "staging", "prod"])
def test_a_function_accepts_what_it_will_be_told(environment: str) -> None:
    where = target(environment, "my-project", "europe-west1")
    made = plan(where, deployables(), dict.fromkeys([each.name for each in deployables()], ""))
    told = [json.loads(content) for path, content in made.files.items() if path.endswith(".env.yaml")]
    assert len(told) == len(deployables())
    for variables in told:
        config = Config.from_env(variables)
        assert (config.artifacts_bucket, config.flow_runs_collection) == (where.bucket, where.runs_collection)
        assert CandlesConfig.from_env(variables).table == where.candles_table
        assert ChartsConfig.from_env(variables).renderer == where.charts_renderer
        assert variables.keys() - VARIABLES.keys() == {"GOOGLE_CLOUD_PROJECT", "THREADS"}


def test_scheduled_flows_exist_and_take_their_parameters() -> None:
    for about in tomllib.loads(ENVIRONMENTS.read_text()).values():
        for each in about.get("flows", []):
            definition = json.loads((ROOT / f"spec/flows/{each['flow']}.json").read_text())
            assert instantiate(definition, each["parameters"], run_id="r", now=T0, trigger={})
            assert len(each["schedule"].split()) == 5


# --- the smoke test's flow --------------------------------------------------------------------------------


def test_the_smoke_flow_is_a_run_that_pays_for_nothing() -> None:
    run: Any = run_document(DEV, json.loads(FLOW.read_text()), "smoke-1", T0)
    parsed = parse_run(Snapshot("smoke-1", run, T0))
    assert {step.step_type for step in parsed.steps.values()} == {"OHLCV_EXPORT", "CHART_EXPORT"}
    assert run["steps"]["candles"]["inputs"]["source"] == "file"


def test_a_run_that_a_smoke_test_leaves_behind_goes_when_its_objects_do() -> None:
    """The field is the one that the policy watches, and holds a Timestamp: Firestore takes notice of nothing else."""
    run = run_document(DEV, json.loads(FLOW.read_text()), "smoke-1", T0)
    (watched,) = [each["fieldPath"] for each in json.loads(INDEXES.read_text())["fieldOverrides"] if each.get("ttl")]
    assert run[watched] == T0 + timedelta(days=DEV.artifacts_days)
    assert parse_run(Snapshot("smoke-1", run, T0)).defect is None


def test_the_smoke_test_says_what_failed_and_where_the_rest_is() -> None:
    done = {"status": "SUCCEEDED", "outputs": {"gcs_uri": "gs://b/x"}}
    failed = {"status": "FAILED", "error": {"code": "INTERNAL", "message": "oh"}}
    told = account({"status": "FAILED", "steps": {"b": failed, "a": done}})
    assert told == ["  SUCCEEDED  a → gs://b/x", "  FAILED     b: INTERNAL: oh", "FAILED"]
