"""Which world is meant: environments beside each other in one project, variables, and the platform of a folder."""

import tomllib

import pytest

from deploy.target import ENVIRONMENTS, target
from flowcore.cli import checkup, state
from flowcore.cli.world import COLLECTION, world
from flowcore.testing.builders import OHLCV, RUN_ID, a_run
from tests.cli.conftest import PROJECT, Desk
from tests.cli.typing_it import Said, typed

STAGING = "staging_flow_runs"
DEFINITION = {"steps": {"boil": {"stepType": "BOIL"}}}


@pytest.fixture
def staging(desk: Desk) -> Desk:
    """One run, in the collection of an environment; the usual collection is empty."""
    desk.db.document(f"{STAGING}/{RUN_ID}").set(a_run(ohlcv="RUNNING"))
    desk.db.document("flow_definitions/tea_v1").set(DEFINITION)
    return desk


def listed(said: Said) -> list[str]:
    return [run["runId"] for run in said.data]


@pytest.mark.parametrize("environment", list(tomllib.loads(ENVIRONMENTS.read_text("utf-8"))))
def test_an_environment_has_the_names_that_its_deployment_gave_it(desk: Desk, environment: str) -> None:
    deployed = target(environment, "my-project", "europe-west1")
    there = world("my-project", environment)
    assert (there.collection, there.bucket) == (deployed.runs_collection, deployed.bucket)
    named = {deployed.named(name).replace("-", "_") for name in ("advance_flow", "worker_llm_report")}
    found = {name: {checkup.KEY} for name in named}
    verdicts = checkup.complete(["advance_flow", "worker_llm_report"], found, environment)
    assert [check.verdict for check in verdicts] == ["ok", "ok"]


def test_every_command_means_the_environment_that_is_named(staging: Desk) -> None:
    assert listed(typed("runs", "--json")) == []
    assert listed(typed("runs", "--env", "staging", "--json")) == [RUN_ID]
    assert typed("show", RUN_ID).code == 3
    assert typed("show", RUN_ID, "--env", "staging").code == 0
    assert typed("run", "tea_v1", "--id", "r1", "--env", "staging").code == 0
    assert typed("cancel", RUN_ID, "--env", "staging", "--json").data["status"] == "CANCELLED"
    new = typed("rerun", RUN_ID, "--env", "staging", "--json").data["runId"]
    assert {each.id for each in staging.db.collection(STAGING).list_documents()} == {RUN_ID, "r1", new}
    assert list(staging.db.collection(COLLECTION).list_documents()) == []


def test_a_watch_listens_to_the_environment_that_is_named(staging: Desk) -> None:
    done = a_run("SUCCEEDED", ohlcv="SUCCEEDED", charts="SUCCEEDED", report="SUCCEEDED")
    staging.db.document(f"{STAGING}/{RUN_ID}").set(done)
    assert typed("watch", RUN_ID, "--env", "staging").code == 0


def test_the_variable_of_the_functions_is_the_commands_too(staging: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOW_RUNS_COLLECTION", STAGING)
    said = typed("runs", "--json")
    assert listed(said) == [RUN_ID]
    assert f"runs in {STAGING}" in said.err
    assert listed(typed("runs", "--env", "dev", "--json")) == [], "an option comes before a variable"


def test_the_database_may_be_a_variable(staging: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTORE_DATABASE", "other")
    said = typed("show", RUN_ID, "--env", "staging")
    assert said.code == 3
    assert "database other" in said.complaint
    assert typed("show", RUN_ID, "--env", "staging", "--database", "(default)").code == 0


def test_what_to_do_next_is_in_the_same_world(staging: Desk) -> None:
    options = f"--project {PROJECT} --env staging"
    said = typed("show", RUN_ID, *options.split())
    assert f"next: flow watch {RUN_ID} {options}" in said.out
    assert f"flow runs {options} lists them" in typed("show", "r0", *options.split()).complaint
    assert f"flow watch r1 {options}" in typed("run", "tea_v1", "--id", "r1", *options.split()).out


def test_the_platform_of_a_folder_is_what_flow_up_made_it(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell in which somebody works on the cloud may have set anything."""
    desk.put(a_run(ohlcv="RUNNING"))
    with state.claimed(desk.folder) as ready:
        ready(state.here({**desk.platform.exports, "GOOGLE_CLOUD_PROJECT": PROJECT}, {}, desk.folder))
        monkeypatch.delenv("FIRESTORE_EMULATOR_HOST")
        for name in ("FLOW_RUNS_COLLECTION", "FIRESTORE_DATABASE", "ARTIFACTS_BUCKET"):
            monkeypatch.setenv(name, "of-the-cloud")
        assert listed(typed("runs", "--json")) == [RUN_ID]
        assert world().bucket == "artifacts"


def test_the_doctor_names_the_environments_that_it_finds() -> None:
    found: dict[str, set[str]] = {"prod_advance_flow": set(), "staging_advance_flow": set(), "other": set()}
    (check,) = checkup.complete(["advance_flow"], found, None)
    assert (check.verdict, check.fix) == ("fail", "name what you mean with --env: prod, staging")
    (check,) = checkup.complete(["advance_flow"], {}, "staging")
    assert check.says == "staging_advance_flow: not deployed"


def test_a_step_is_retried_where_it_failed(staging: Desk) -> None:
    staging.db.document(f"{STAGING}/{RUN_ID}").set(a_run("FAILED", ohlcv="FAILED", charts="SKIPPED", report="SKIPPED"))
    assert typed("retry", RUN_ID, OHLCV, "--env", "staging").code == 0
