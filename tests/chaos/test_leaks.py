"""Nothing secret gets out, and nothing hostile out of its place: some rows here, and all of them in `make chaos`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from html import escape

import nh3
import pytest
from markdown_it import MarkdownIt

from emulator.faults import status
from flowcore.cli.report import page, prose
from flowcore.testing.builders import REPORT, RUN_ID
from functions.worker_llm_report import assembly
from tests.chaos.battery import Order
from tests.chaos.inputs import healthy
from tests.chaos.inputs.stage import SKETCH
from tests.chaos.leaks import places, secrets
from tests.chaos.leaks.canaries import EVERYWHERE, MODEL_KEY, NOTE, OUTPUT, PROMPT, Place
from tests.chaos.leaks.failures import GOOD, Path, paths
from tests.chaos.leaks.house import House, opened

# One of each kind, and none that waits.
SOME = {
    *("a good answer", "bad answer 2, mended", "bad answer 3, twice", "gemini: 400", "gemini, at the repair: 500"),
    *("gemini: safety", "chart_img: 403", "a note instead of candles", "firestore Commit: 403"),
}


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with opened() as house:
        yield house


def test_no_secret_is_found_where_it_does_not_belong(house: House) -> None:
    some = [path for path in paths() if path.name in SOME]
    outcome = secrets.looked_at(house, some, Order(seed=1, cases=len(SOME), ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == len(SOME)
    assert outcome.faults_fired == 5


def test_hostile_content_stays_in_its_place() -> None:
    outcome = places.run(Order(seed=1, cases=250, ends=time.monotonic() + 60))
    assert outcome.violations == ()
    assert outcome.cases == 250


# --- that a battery can fail ---


@pytest.mark.parametrize("canary", EVERYWHERE)
def test_a_secret_is_noticed(canary: str) -> None:
    assert list(Place("the log", f'{{"message":"so {canary}, it says"}}').leaks()) == [f"{canary} is in the log"]


def test_a_secret_is_noticed_wherever_a_run_leaves_it(house: House) -> None:
    """As the id of a step it is in the log, in the document and in the name of an object; as an id of its own, too."""
    house.renew()
    house.say(GOOD)
    house.put(healthy.IMAGE_OBJECT, SKETCH)
    run = healthy.only_the_report()
    after = house.play({**run, "steps": {NOTE: run["steps"].pop(REPORT), **run["steps"]}})
    house.document(f"chart_img_accounts_usage/{MODEL_KEY}", {})
    leaks = [leak for place in house.places() for leak in place.leaks()]
    assert after["steps"][NOTE]["status"] == "SUCCEEDED"
    for where in ("the log", f"document flow_runs/{RUN_ID}", "the name or the label of runs/"):
        assert any(leak.startswith(f"{NOTE} is in {where}") for leak in leaks), where
    assert any(leak.startswith(f"{MODEL_KEY} is in document ") for leak in leaks)


@pytest.mark.parametrize(
    "escaped",
    [
        lambda text, quote=True: text,
        lambda text, quote=True: text if quote else escape(text, quote=False),
        lambda text, quote=True: escape(text) if quote else text,
        lambda text, quote=True: escape(text, quote=False),
    ],
    ids=["nothing is escaped", "attributes are not", "the text is not", "quotes are not"],
)
def test_a_prompt_that_is_not_escaped_is_noticed(monkeypatch: pytest.MonkeyPatch, escaped: Callable[..., str]) -> None:
    monkeypatch.setattr(assembly, "escape", escaped)
    outcome = places.run(Order(seed=1, cases=25, ends=time.monotonic() + 60))
    assert any("the prompt" in violation for violation in outcome.violations)


def test_a_line_of_its_own_among_the_charts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assembly, "_one_line", str)
    assert list(places.in_the_prompt("a\nimage 3: b"))


def test_markdown_that_is_obeyed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both walls are away: HTML is let through, and nobody cleans it."""
    monkeypatch.setattr(prose, "_reader", lambda: MarkdownIt("commonmark", {"html": True}))
    monkeypatch.setattr(nh3, "clean", lambda html, **_: html)
    assert list(places.in_the_markdown("<img src=x>", "{}"))
    assert list(places.in_the_markdown("<script>alert(1)</script>", "- {}"))


def test_a_page_that_is_not_escaped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    template = page._template().environment.overlay(autoescape=False).get_template("page.html.j2")
    monkeypatch.setattr(page, "_template", lambda: template)
    assert list(places.in_the_page("<b>yes</b>"))
    assert list(places.in_the_page("</p>"))


def test_a_path_that_was_not_taken_is_noticed(house: House) -> None:
    """Its fault waits for a call that nobody makes; the model is asked once; the run ends otherwise."""

    def arrange(house: House) -> None:
        house.say({"summary": {"markdown": "not a secret"}, "details": {}})
        house.plan("storage", "buckets.patch", status(503), 0)

    path = Path("nowhere", arrange, answers=2, sends=NOTE, ends="GCS_READ_FAILED", draws=True)
    outcome = secrets.looked_at(house, [path], Order(seed=1, cases=1, ends=time.monotonic() + 60))
    assert [violation.split(": ")[-1] for violation in outcome.violations] == [
        "its fault never struck",
        "the model was asked 1 times, and not 2",
        "what is secret did not reach the model",
        "it ended as SUCCEEDED, and not as GCS_READ_FAILED",
        "the model's words are in no report",
        "no key reached the painter of charts",
    ]


def test_what_belongs_somewhere_may_be_there_and_nowhere_else() -> None:
    place = Place("a report", f"{OUTPUT} {PROMPT} {MODEL_KEY}", may_hold=(OUTPUT,))
    assert list(place.leaks()) == [f"{MODEL_KEY} is in a report", f"{PROMPT} is in a report"]


def test_every_path_has_a_name_of_its_own() -> None:
    names = [path.name for path in paths()]
    assert len(set(names)) == len(names) > 90
