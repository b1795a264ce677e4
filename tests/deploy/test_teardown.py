"""What a teardown takes away, and what it leaves."""

import pytest

from deploy import teardown
from deploy.carrying_out import Answer
from deploy.commands import shell
from deploy.plan import plan
from deploy.target import target
from deploy.undoing import removals
from functions.catalogue import deployables
from tests.deploy import grammar

WHERE = ["--env", "dev", "--project", "my-project", "--region", "europe-west1"]
DATA = ("storage rm", "secrets delete", "bulk-delete", "pubsub")


class Gcloud:
    def __init__(self, said: str = "") -> None:
        self.asked: list[str] = []
        self.said = said

    def run(self, argv: list[str], stdin: str | None) -> Answer:
        self.asked.append(" ".join(argv[1:]))
        return Answer(1, "", self.said) if self.said and "list" not in argv else Answer(0, "found", "")


def took_down(gcloud: Gcloud, *more: str, typed: str = "dev") -> int:
    return teardown.main([*WHERE, *more], gcloud.run, lambda _: typed)


def test_it_asks_first_and_another_answer_than_the_name_does_nothing() -> None:
    gcloud = Gcloud()
    assert took_down(gcloud, typed="yes") == 1
    assert gcloud.asked == []


def test_data_stays_unless_its_end_is_asked_for_in_so_many_words(capsys: pytest.CaptureFixture[str]) -> None:
    gcloud = Gcloud()
    assert took_down(gcloud) == 0
    assert not [command for command in gcloud.asked if any(sign in command for sign in DATA)]
    assert "Data stays." in capsys.readouterr().out
    assert took_down(gcloud, "--delete-data") == 0
    assert all(any(sign in command for command in gcloud.asked) for sign in DATA)
    assert "DATA GOES, TOO." in capsys.readouterr().out


def test_the_database_and_the_services_always_stay() -> None:
    gcloud = Gcloud()
    took_down(gcloud, "--delete-data")
    assert not [command for command in gcloud.asked if "databases" in command or command.startswith("services")]


def test_whatever_is_made_is_taken_away() -> None:
    """Every step that makes a thing has an opposite; settings go with their thing."""
    where = target("prod", "my-project", "us-central1", "nam5", grammar.FILE.parent / "everything.toml")
    functions = deployables()
    steps = plan(where, functions, dict.fromkeys([each.name for each in functions], "")).steps
    made = [step for step in steps if {"create", "deploy"} & set(step.command) and "databases" not in step.command]
    gone = [shell(removal.command) for removal in removals(where, steps, data=True)]
    deletions = [command for command in gone if " delete " in command or "storage rm" in command]
    assert len(deletions) == len(made)


def test_what_is_gone_already_is_no_problem_and_anything_else_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert took_down(Gcloud("ERROR: NOT_FOUND: Requested entity was not found.")) == 0
    assert "was gone" in capsys.readouterr().out
    assert took_down(Gcloud("PERMISSION_DENIED")) == 1
    assert "PERMISSION_DENIED" in capsys.readouterr().err


def test_a_dry_run_prints_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    gcloud = Gcloud()
    assert took_down(gcloud, "--dry-run") == 0
    assert gcloud.asked == []
    assert "gcloud functions delete dev-sweep" in capsys.readouterr().out
