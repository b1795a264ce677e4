"""Who gets what: nobody more than its function needs, and a secret is seen by nobody on its way."""

import re
from collections.abc import Iterable

import pytest

from deploy.commands import Command
from deploy.script import script
from deploy.target import Target
from tests.deploy.plans import DEV, EVERYTHING, FUNCTIONS, deploys, planned, texts

# --- least privilege --------------------------------------------------------------------------------------

# A role that is granted on less than a project is bounded by what it is granted on; these cannot be.
PROJECT_WIDE = {"roles/datastore.user", "roles/bigquery.jobUser", "roles/eventarc.eventReceiver"}
WITH_A_CONDITION = {"roles/bigquery.dataViewer"}  # on a project, but only for the dataset that the condition names
SMALLER = (
    "storage",
    "secrets",
    "run",
    "pubsub",
)  # what a grant on a bucket, a secret, a service or a topic begins with


def excesses(commands: Iterable[Command]) -> list[str]:
    """Grants that reach further than they must."""
    found = []
    for command in commands:
        words = texts(command)
        if "add-iam-policy-binding" not in words and "set-iam-policy" not in words:
            continue
        role = next((word.removeprefix("--role=") for word in words if word.startswith("--role=")), "?")
        bounded = any(word.startswith("--condition=") and word != "--condition=None" for word in words)
        public = any("allUsers" in word or "allAuthenticatedUsers" in word for word in words)
        if public or role in ("?", "roles/owner", "roles/editor", "roles/viewer") or re.search("[aA]dmin", role):
            found.append(f"{role}: {' '.join(words[1:4])}")
        elif words[1] == "projects" and role not in PROJECT_WIDE | (WITH_A_CONDITION if bounded else set()):
            found.append(f"{role} on the whole project")
        elif words[1] not in ("projects", *SMALLER):
            found.append(f"{role} on more than a project: {' '.join(words[1:4])}")
    return found


@pytest.mark.parametrize("where", [DEV, EVERYTHING], ids=["dev", "everything"])
def test_no_account_gets_more_than_it_needs(where: Target) -> None:
    assert not excesses(step.command for step in planned(where).steps)


@pytest.mark.parametrize(
    "grant",
    [
        "projects add-iam-policy-binding p --member=m --role=roles/editor",
        "projects add-iam-policy-binding p --member=m --role=roles/owner",
        "projects add-iam-policy-binding p --member=m --role=roles/storage.objectViewer --condition=None",
        "projects add-iam-policy-binding p --member=m --role=roles/secretmanager.secretAccessor",
        "projects add-iam-policy-binding p --member=m --role=roles/run.invoker",
        "storage buckets add-iam-policy-binding gs://b --member=m --role=roles/storage.objectAdmin",
        "storage buckets add-iam-policy-binding gs://b --member=allUsers --role=roles/storage.objectViewer",
        "projects set-iam-policy p policy.json",
        "projects add-iam-policy-binding p --member=m --role=roles/storage.objectViewer --condition=expression=true",
        "projects add-iam-policy-binding p --member=m --role=roles/secretmanager.secretAccessor --condition=title=x",
        "organizations add-iam-policy-binding 1 --member=m --role=roles/datastore.user",
        "resource-manager folders add-iam-policy-binding 1 --member=m --role=roles/datastore.user",
    ],
)
def test_a_grant_that_goes_too_far_is_noticed(grant: str) -> None:
    assert excesses([("gcloud", *grant.split())])


def test_every_function_has_an_account_of_its_own_and_only_its_own_secret() -> None:
    commands = deploys(planned(EVERYTHING).steps)
    accounts = [next(word for word in words if word.startswith("--service-account=")) for words in commands.values()]
    assert len(set(accounts)) == len(FUNCTIONS)
    secrets = {name: [word for word in words if "secrets" in word] for name, words in commands.items()}
    assert secrets.pop("prod-worker-llm-report") == ["--set-secrets=GEMINI_API_KEY=prod-gemini-api-key:latest"]
    assert secrets.pop("prod-worker-charts") == ["--set-secrets=CHART_IMG_ACCOUNTS_JSON=prod-chart-img-accounts:latest"]
    assert set(map(tuple, secrets.values())) == {("--clear-secrets",)}


def test_who_writes_objects_is_who_may() -> None:
    """An account is granted the bucket if, and only if, its function asks for the library that writes objects."""
    needing = {
        each.name for each in FUNCTIONS if "google-cloud-storage" in (each.folder / "requirements.txt").read_text()
    }
    granted = {
        word.partition("@")[0].removeprefix("--member=serviceAccount:dev-").replace("-", "_")
        for step in planned().steps
        if texts(step.command)[1:4] == ["storage", "buckets", "add-iam-policy-binding"]
        for word in texts(step.command)
        if word.startswith("--member=")
    }
    assert granted == needing


def test_who_stores_more_than_it_holds_may_describe_it_afterwards_and_nobody_may_replace_or_delete() -> None:
    """Cloud Storage takes an object's metadata at its beginning; of content in pieces the hash is known at its end."""
    grants = [texts(step.command) for step in planned().steps]
    roles = {
        (words[5].partition("@")[0].removeprefix("--member=serviceAccount:dev-"), words[6].removeprefix("--role="))
        for words in grants
        if words[1:4] == ["storage", "buckets", "add-iam-policy-binding"]
    }
    assert {role for _, role in roles} == {
        "roles/storage.objectCreator",
        "roles/storage.objectViewer",
        "roles/storage.legacyObjectOwner",
    }
    describing = {name for name, role in roles if role == "roles/storage.legacyObjectOwner"}
    assert describing == {"worker-ohlcv-export"}


def test_nobody_calls_a_function_without_a_token_and_only_one_can_be_reached_from_outside() -> None:
    commands = deploys(planned().steps)
    assert all("--no-allow-unauthenticated" in words for words in commands.values())
    assert [name for name, words in commands.items() if "--ingress-settings=all" in words] == ["dev-start-flow"]


# --- secrets ----------------------------------------------------------------------------------------------


def test_a_secret_is_in_no_command_and_in_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "the-key-itself")
    monkeypatch.setenv("CHART_IMG_ACCOUNTS_JSON", "the-key-itself")
    made = planned(EVERYTHING)
    assert "the-key-itself" not in "\n".join(script(made)) + "\n".join(made.files.values())
    assert {step.secret for step in made.steps} == {None, "GEMINI_API_KEY", "CHART_IMG_ACCOUNTS_JSON"}
    assert all("--data-file=-" in step.command for step in made.steps if step.secret)
