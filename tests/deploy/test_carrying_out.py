"""How a plan is carried out: look, do what is missing, stop at what goes wrong. gcloud is a function here."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from deploy.carrying_out import Answer, Crew, Failed, start
from deploy.commands import Change, Command, Refused, Step, joined
from deploy.plan import Plan

LIST: Command = ("cloud", "list")


class Cloud:
    """A cloud of things with a colour: `make x red`, `paint x red`, `list`. It counts what it is asked."""

    def __init__(self, **things: str) -> None:
        self.things = things
        self.asked: list[list[str]] = []
        self.heard: list[str | None] = []
        self.refusals: list[str] = []

    def run(self, argv: list[str], stdin: str | None) -> Answer:
        self.asked.append(argv)
        self.heard.append(stdin)
        if self.refusals and argv[1] != "list":
            return Answer(1, "", self.refusals.pop(0))
        match argv[1:]:
            case ["make" | "paint", name, colour]:
                self.things[name] = colour
            case ["unmake", name]:
                del self.things[name]
        return Answer(0, json.dumps(self.things), "")

    @property
    def writes(self) -> list[str]:
        return [" ".join(argv[1:]) for argv in self.asked if argv[1] != "list"]


def thing(name: str, colour: str = "red") -> Step:
    return Step(
        f"the {colour} {name}",
        ("cloud", "make", name, colour),
        LIST,
        lambda found: found.get(name) == colour,
        Change(lambda found: name in found, ("cloud", "paint", name, colour)),
    )


def carried_out(cloud: Cloud, *steps: Step, root: Path, rests: list[float] | None = None, **environ: str) -> list[str]:
    rest: Callable[[float], None] = (rests if rests is not None else []).append
    return Crew(cloud.run, lambda _: None, rest, environ).carry_out(Plan({}, steps), root).done


def test_what_is_missing_is_made_what_differs_is_changed_and_the_rest_is_left_alone(tmp_path: Path) -> None:
    cloud = Cloud(b="blue", c="red")
    carried_out(cloud, thing("a"), thing("b"), thing("c"), root=tmp_path)
    assert cloud.writes == ["make a red", "paint b red"]


def test_the_second_time_nothing_is_done_and_each_question_is_asked_once(tmp_path: Path) -> None:
    cloud = Cloud()
    steps = [thing(name) for name in "abc"]
    assert len(carried_out(cloud, *steps, root=tmp_path)) == 3
    cloud.asked.clear()
    assert carried_out(cloud, *steps, root=tmp_path) == []
    assert cloud.asked == [["cloud", "list"]]


def test_a_plan_that_broke_off_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    cloud = Cloud()
    cloud.refusals = ["quota exceeded"]
    with pytest.raises(Failed, match="cloud make a red\nquota exceeded"):
        carried_out(cloud, thing("a"), thing("b"), root=tmp_path)
    assert cloud.things == {}, "nothing after the failure is tried"
    assert carried_out(cloud, thing("a"), thing("b"), root=tmp_path) == ["the red a", "the red b"]


def test_what_is_not_known_everywhere_yet_is_waited_for_but_not_for_ever(tmp_path: Path) -> None:
    cloud, rests = Cloud(), list[float]()
    cloud.refusals = ["Service account x does not exist.", "unable to queue the operation"]
    carried_out(cloud, thing("a"), root=tmp_path, rests=rests)
    assert rests == [5.0, 10.0]
    cloud.refusals = ["x does not exist"] * 20
    with pytest.raises(Failed, match="does not exist"):
        carried_out(cloud, thing("b"), root=tmp_path, rests=rests)
    assert sum(rests) < 200


def test_a_refusal_stops_everything_before_anything_is_done(tmp_path: Path) -> None:
    def refuse(_: object) -> bool:
        raise Refused("not so")

    cloud = Cloud()
    with pytest.raises(Refused):
        carried_out(cloud, Step("x", ("cloud", "make", "x", "red"), LIST, refuse), thing("a"), root=tmp_path)
    assert cloud.writes == []


def test_an_argument_that_is_an_answer_is_asked_for_when_it_is_needed(tmp_path: Path) -> None:
    cloud = Cloud()
    url: Command = ("cloud", "list", "a")
    carried_out(cloud, thing("a"), Step("b", ("cloud", "make", "b", joined("uri=", url, "?x"))), root=tmp_path)
    assert cloud.things["b"] == 'uri={"a": "red"}?x'


def test_what_was_seen_before_something_is_taken_away_is_forgotten(tmp_path: Path) -> None:
    cloud = Cloud(a="red")
    away = Step("a gives way", ("cloud", "unmake", "a"), LIST, lambda found: "a" not in found, forget=True)
    carried_out(cloud, away, thing("a"), root=tmp_path)
    assert cloud.writes == ["unmake a", "make a red"]


def test_a_secret_goes_through_standard_input_only(tmp_path: Path) -> None:
    cloud = Cloud()
    step = Step("its value", ("cloud", "make", "key", "-"), LIST, lambda found: "key" in found, secret="KEY")
    carried_out(cloud, step, root=tmp_path, KEY="hush\n")
    assert cloud.heard[-1] == "hush"
    assert all("hush" not in word for argv in cloud.asked for word in argv)


def test_a_secret_that_is_not_set_is_asked_for_by_its_variable(tmp_path: Path) -> None:
    step = Step("its value", ("cloud", "make", "key", "-"), LIST, lambda found: "key" in found, secret="KEY")
    with pytest.raises(Failed, match="KEY is not set"):
        carried_out(Cloud(), step, root=tmp_path)


def test_the_files_that_commands_read_are_there_before_the_first_command(tmp_path: Path) -> None:
    seen = []

    def run(argv: list[str], stdin: str | None) -> Answer:
        seen.append((tmp_path / "build/x.json").read_text())
        return Answer(0, "{}", "")

    crew = Crew(run, lambda _: None, lambda _: None, {})
    crew.carry_out(Plan({"build/x.json": "{}"}, [Step("x", ("cloud", "make"))]), tmp_path)
    assert seen == ["{}"]


def test_a_program_that_is_missing_is_named() -> None:
    with pytest.raises(Failed, match="no-such-program is not installed"):
        start(["no-such-program"], None)


def test_a_program_is_given_its_words_and_its_input_as_they_are() -> None:
    script = "import sys; print(sys.argv[1:], sys.stdin.read())"
    assert start(["python", "-c", script, "a b", "$HOME"], "hush").out == "['a b', '$HOME'] hush\n"
