"""What can be promised without a browser: colours that can be read, by day and by night, and words for people."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

import flowcore.cli.report
from flowcore.cli.report import words
from flowcore.cli.report.prose import LONGEST, as_html
from flowcore.domain.model import RunStatus, StepStatus

STYLE = (Path(flowcore.cli.report.__file__).parent / "page.css").read_text()
PALETTES = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
LIGHT, DARK = (dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", palette)) for palette in PALETTES)

READ_ON = [
    *[(ink, "paper") for ink in ("ink", "soft", "link", "good", "bad", "busy", "still")],
    *[(ink, "panel") for ink in ("ink", "soft", "link")],
    ("ink", "bad-tint"),
    *[(ink, f"{ink}-tint") for ink in ("good", "bad", "busy", "still")],
]


def luminance(colour: str) -> float:
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_can_be_read_on_its_ground(colours: dict[str, str]) -> None:
    poor = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in READ_ON}
    assert not {pair: round(value, 2) for pair, value in poor.items() if value < 4.5}
    assert contrast(colours["wait"], colours["paper"]) >= 3


def test_light_and_dark_name_the_same_colours() -> None:
    assert LIGHT.keys() == DARK.keys()
    assert set(re.findall(r"var\(--([a-z-]+)\)", STYLE)) <= LIGHT.keys()


def test_every_status_has_its_own_word() -> None:
    statuses = {*RunStatus, *StepStatus}
    assert len({words.badge(status).word for status in statuses}) == len({str(status) for status in statuses})


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0 ms"),
        (0.0004, "0 ms"),
        (0.3404, "340 ms"),
        (0.9999, "1.0 s"),
        (4.24, "4.2 s"),
        (9.97, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (185, "3 min 5 s"),
        (3_600, "1 h"),
        (7_500, "2 h 5 min"),
        (180_000, "2 d 2 h"),
    ],
)
def test_a_duration_is_said_in_two_units_at_most(seconds: float, said: str) -> None:
    assert words.duration(timedelta(seconds=seconds)) == said


@pytest.mark.parametrize(
    ("key", "said"),
    [("volatilityPercent", "Volatility percent"), ("key_levels", "Key levels"), ("RSI", "RSI"), ("", ""), ("_", "_")],
)
def test_a_key_becomes_a_heading(key: str, said: str) -> None:
    assert words.label(key) == said


@pytest.mark.parametrize("markdown", ["# one\n## two", "## one\n### two", "##### one\n###### two"])
def test_headings_of_a_text_continue_those_of_the_page(markdown: str) -> None:
    assert as_html(markdown, headings_below=3).replace("\n", "") == "<h4>one</h4><h5>two</h5>"


def test_a_table_keeps_its_alignment_and_may_scroll_by_itself() -> None:
    html = as_html("| a | b |\n|--:|:-:|\n| 1 | 2 |", headings_below=3)
    assert html.replace("\n", "").startswith('<div class="scroll"><table>')
    assert '<td class="right">1</td>' in html
    assert '<td class="center">2</td>' in html


def test_a_text_without_end_is_cut_and_says_so() -> None:
    assert len(as_html("word " * LONGEST, headings_below=3)) < LONGEST + 200
    assert "the file has all of it" in as_html("a" * (LONGEST + 1), headings_below=3)
    assert "the file has all of it" not in as_html("a" * LONGEST, headings_below=3)
