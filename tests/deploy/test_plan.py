"""What a plan says, without carrying it out: flag by flag, function by function."""

import json
import re
import shutil
import subprocess

import pytest

from deploy.commands import Joined, gcloud, joined, shell
from deploy.dead_letters import ATTEMPTS, LONGEST_REST, tried_for
from deploy.plan import Wishes, plan
from deploy.rollout import in_order
from deploy.script import script
from deploy.target import InvalidTarget, Target, target
from tests.deploy import grammar
from tests.deploy.plans import DEV, DIGESTS, EVERYTHING, FUNCTIONS, deploys, only, planned, texts

# --- the grammar of gcloud --------------------------------------------------------------------------------


def test_gcloud_knows_every_command_and_every_flag() -> None:
    commands = grammar.gclouds(grammar.all_commands())
    found = [complaint for command in commands for complaint in grammar.complaints(command, grammar.recorded())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("functions deplay x", "no such command"),
        ("functions deploy x --trigger-retry", "--trigger-retry is unknown"),
        ("functions deploy x --retry=true", "--retry takes no value"),
        ("functions deploy x --memory", "--memory needs a value"),
        ("functions deploy x --ingress-settings=inside", "--ingress-settings is one of all"),
        ("functions deploy x --no-allow-unauthenticated --project=p", None),
    ],
)
def test_a_word_that_gcloud_would_refuse_is_noticed(words: str, complaint: str | None) -> None:
    found = "\n".join(grammar.complaints(("gcloud", *words.split()), grammar.recorded()))
    assert complaint in found if complaint else not found


def test_the_recorded_grammar_is_that_of_this_machines_gcloud() -> None:
    found = shutil.which("gcloud")
    if not found:
        pytest.skip("no gcloud here: the plan was checked against the recorded grammar only")
    ours = grammar.of_this_machine(found)
    assert ours == grammar.recorded(), "gcloud accepts other flags now: python -m tests.deploy.grammar"


# --- the functions ----------------------------------------------------------------------------------------


def test_who_takes_work_is_deployed_before_who_offers_it_and_who_starts_runs_comes_last() -> None:
    order = [each.name for each in in_order(FUNCTIONS)]
    assert order == [
        "worker_charts", "worker_llm_report", "worker_ohlcv_export", "advance_flow", "sweep", "start_flow",
    ]  # fmt: skip
    assert [each.name for each in in_order(FUNCTIONS, rollback=True)] == order[::-1]
    steps = planned().steps
    assert list(deploys(steps)) == [f"dev-{name.replace('_', '-')}" for name in order]
    assert texts(steps[-1].command)[:2] == ["flow", "seed"], "flows come when everything can run them"


def test_a_rollback_goes_backwards_and_sows_nothing() -> None:
    steps = planned(wishes=Wishes(rollback=True)).steps
    assert list(deploys(steps)) == list(deploys(planned().steps))[::-1]
    assert not [step for step in steps if step.command[0] == "flow"]


def test_every_limit_of_a_function_is_explicit() -> None:
    for function in FUNCTIONS:
        words = deploys(planned().steps)[DEV.named(function.name)]
        for flag in ("timeout", "memory", "cpu", "concurrency", "max-instances", "min-instances", "runtime"):
            assert [word for word in words if word.startswith(f"--{flag}=")], f"{function.name}: --{flag}"
        assert function.concurrency == 1 or function.cpu >= 1, "several events at once need a whole CPU"


def test_an_event_driven_function_listens_to_every_write_and_is_retried_within_the_platforms_cap() -> None:
    commands = deploys(planned().steps)
    for function in FUNCTIONS:
        words = commands[DEV.named(function.name)]
        assert ("--retry" in words) == function.run_triggered
        if function.run_triggered:
            assert function.timeout <= 540
            assert "--trigger-event-filters=type=google.cloud.firestore.document.v1.written" in words
            assert "--trigger-event-filters-path-pattern=document=dev_flow_runs/{runId}" in words


def test_what_a_function_is_told_of_its_time_is_what_it_gets() -> None:
    made = planned()
    for function in FUNCTIONS:
        variables = json.loads(made.files[f"build/deploy/my-project/dev/{function.name}.env.yaml"])
        assert f"--timeout={variables['INVOCATION_TIMEOUT_SECONDS']}s" in deploys(made.steps)[DEV.named(function.name)]
        assert variables["FLOW_RUNS_COLLECTION"] == "dev_flow_runs"


def test_changed_sources_settings_or_variables_change_the_label_and_nothing_else_does() -> None:
    def label(where: Target, digest: str) -> str:
        steps = plan(where, FUNCTIONS, {**DIGESTS, "sweep": digest}, Wishes()).steps
        return next(word for word in deploys(steps)[where.named("sweep")] if word.startswith("--update-labels="))

    assert label(DEV, "0") == label(DEV, "0")
    assert label(DEV, "0") != label(DEV, "1")
    assert label(target("staging", "my-project", "europe-west1"), "0") != label(DEV, "0")
    assert re.fullmatch(r"--update-labels=flow-digest=[a-z0-9_-]{1,63}", label(DEV, "0"))


# --- what else there is -----------------------------------------------------------------------------------


def test_jobs_call_with_a_token_that_is_made_out_to_the_function_they_call() -> None:
    where = target("prod", "my-project", "europe-west1")
    steps = [step for step in planned(where).steps if texts(step.command)[1:3] == ["scheduler", "jobs"]]
    jobs = {texts(step.command)[5]: step.command for step in steps}
    assert {name: texts(command)[7] for name, command in jobs.items()} == {
        "prod-sweep": "--schedule=* * * * *",
        "prod-sweep-every-run": "--schedule=0 * * * *",
        "prod-market-report-v1": "--schedule=0 */4 * * *",
    }
    for name, command in jobs.items():
        called = "prod-start-flow" if name.startswith("prod-market") else "prod-sweep"
        uri, audience = (each for each in command if isinstance(each, Joined))
        assert (uri.parts[0], audience.parts) == ("--uri=", ("--oidc-token-audience=", uri.parts[1]))
        assert called in uri.parts[1], "the address is asked for when the function is there"
        assert f"--oidc-service-account-email={where.email('flow_scheduler')}" in command


def test_the_bucket_is_closed_and_where_the_functions_are() -> None:
    step = only("the bucket my-project-dev-artifacts")
    closed = {"--uniform-bucket-level-access", "--public-access-prevention"}
    assert {*closed, "--location=europe-west1"} < set(step.command)
    assert step.change
    assert closed < set(step.change.command), "and it is closed again if somebody has opened it"
    rules = json.loads(planned().files["build/deploy/my-project/dev/lifecycle.json"])["rule"]
    assert {"action": {"type": "Delete"}, "condition": {"age": DEV.artifacts_days}} in rules


def test_indexes_and_times_to_live_are_those_of_the_environments_own_runs() -> None:
    commands = [texts(step.command) for step in planned().steps if texts(step.command)[1] == "firestore"]
    fields = {words[5]: words[2:5] for words in commands if words[2:4] == ["fields", "ttls"]}
    assert fields == {"expireAt": ["fields", "ttls", "update"]}
    exempt = [words[5] for words in commands if words[2:4] == ["indexes", "fields"] and "--disable-indexes" in words]
    assert exempt == ["steps", "scope", "updatedAt", "finishedAt", "expireAt"]
    assert all("--collection-group=dev_flow_runs" in words for words in commands if words[2] != "databases")


# --- environments -----------------------------------------------------------------------------------------


def test_environments_share_no_name() -> None:
    """Except for the project, its database and its services, everything that a plan makes is its own."""
    made = [
        {shell(step.command) for step in planned(where).steps if texts(step.command)[1] != "services"}
        for where in grammar.targets()
    ]
    shared = set.intersection(*made)
    assert {" ".join(command.split()[:3]) for command in shared} == {
        "gcloud firestore databases", "python -m deploy.rules", "flow seed --project=my-project",
    }  # fmt: skip


def test_plans_share_no_file() -> None:
    """Who deploys to one place leaves what another deployment reads alone, also half-way."""
    places = [*grammar.targets(), target("dev", "my-other-project", "europe-west1")]
    files = [set(planned(where).files) for where in places]
    assert sum(map(len, files)) == len(set.union(*files))
    for where in places:
        commands = "\n".join(shell(step.command) for step in planned(where).steps)
        read = set(re.findall(r"-file=(\S+)", commands)) - {"-"}
        assert read == set(planned(where).files)


@pytest.mark.parametrize("where", grammar.targets(), ids=["dev", "staging", "prod"])
def test_names_fit_the_platforms_limits(where: Target) -> None:
    for step in planned(where).steps:
        words = texts(step.command)
        if words[1:4] == ["iam", "service-accounts", "create"]:
            assert re.fullmatch(r"[a-z][a-z0-9-]{4,28}[a-z0-9]", words[4])
        if words[1:3] == ["functions", "deploy"]:
            assert re.fullmatch(r"[a-z][a-z0-9-]{0,61}[a-z0-9]", words[3])
        if words[1:4] == ["storage", "buckets", "create"]:
            assert re.fullmatch(r"gs://[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]", words[4])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("test", "my-project", "europe-west1"), "--env test"),
        (("dev", "My Project", "europe-west1"), "--project My Project"),
        (("dev", "my-project; rm -rf /", "europe-west1"), "--project my-project;"),
        (("dev", "my-project", "Europe"), "--region Europe"),
    ],
)
def test_a_target_that_cannot_be_is_refused_by_name(asked: tuple[str, str, str], said: str) -> None:
    with pytest.raises(InvalidTarget, match=re.escape(said)):
        target(*asked)


# --- dead letters -----------------------------------------------------------------------------------------


def test_no_limit_that_pubsub_allows_would_keep_an_event_longer() -> None:
    assert (ATTEMPTS, LONGEST_REST) == (100, 600)  # both are the highest that Pub/Sub takes
    assert 15.5 * 3600 < tried_for() < 16 * 3600
    assert tried_for(attempts=5) < 300, "the default limit would give an event five minutes"


# --- as a script ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [DEV, EVERYTHING], ids=["dev", "everything"])
def test_a_dry_run_is_a_script_that_a_shell_understands(where: Target) -> None:
    text = "\n".join(script(planned(where)))
    checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


def test_a_shell_reads_back_exactly_the_words_that_were_meant() -> None:
    odd = ("printf", "%s\n", 'O\'Neil & "Sons" $HOME', "a b", "(default)", "{runId}", "", "*")
    out = subprocess.run(["sh", "-c", shell(odd)], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == list(odd[2:])


def test_an_answer_inside_a_command_is_one_word_whatever_it_holds() -> None:
    command = ("printf", "%s\n", joined("--uri=", ("echo", "a b;'c'"), "?x=$y"))
    out = subprocess.run(["sh", "-c", shell(command)], capture_output=True, text=True, check=True).stdout
    assert out.splitlines() == ["--uri=a b;'c'?x=$y"]


def test_every_gcloud_command_names_its_project_and_asks_nothing() -> None:
    for command in grammar.gclouds(step.command for step in planned().steps):
        assert "--project=my-project" in command
        assert "--quiet" in command
    assert gcloud("x", project="p") == ("gcloud", "x", "--project=p", "--quiet")
