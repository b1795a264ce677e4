"""The picture: its size, its bytes, and the pixels where something must be."""

import io
import json
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from flowcore.contracts.candles import Candle
from flowcore.domain.errors import Code, ValidationError
from functions.worker_charts.drawing.figure import HEIGHT, SHOWN, WIDTH, Headline, draw
from functions.worker_charts.drawing.themes import THEMES, Colour
from tests.functions.charts.market import candle, walk

TEMPLATES = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in sorted((Path(__file__).parents[3] / "spec/chart_templates").glob("*.json"))
}
LARGEST = 262_144  # what the report's worker takes
HEADLINE = Headline("BTCUSDT", "1d", "what it shows")
DARK = THEMES["dark"]
SITUATIONS = {
    "one": walk(1),
    "two": walk(2),
    "ten": walk(10),
    "many": walk(200),
    "more than fit": walk(5_000, step=timedelta(hours=4)),
    "flat": [candle(number, 5.0, volume=0.0) for number in range(60)],
    "all zero": [candle(number, 0.0, volume=0.0) for number in range(30)],
    "tiny": walk(150, price=0.00001234, step=timedelta(minutes=15)),
    "huge": walk(150, price=9.3e12, step=timedelta(days=7)),
    "gap": [*walk(90), *(candle(400 + number, 90_000.0, 91_000.0, 88_000.0, 90_500.0) for number in range(30))],
    "below zero": [candle(number, -3.0, -1.0, -40.0, -37.0) for number in range(30)],
}


def drawn(candles: Sequence[Candle], **request: Any) -> bytes:
    return draw(HEADLINE, {"theme": "dark", **request}, candles, known=len(candles), zone=UTC, where="t.request")


def pixels(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    image.load()
    return image.convert("RGB")


def count(image: Image.Image, colour: Colour) -> int:
    """Pixels of that colour, or of the one that stands for it in the palette."""
    return sum(
        times
        for times, found in image.getcolors(2**20) or []
        if isinstance(found, tuple) and all(abs(a - b) <= 6 for a, b in zip(found, colour, strict=True))
    )


def test_five_templates_ship() -> None:
    assert list(TEMPLATES) == [
        "ctpl_price_ma1226_bb_macd1226_v1",
        "ctpl_price_ma1226_vol_v1",
        "ctpl_price_psar_adi_v1",
        "ctpl_price_rsi14_stochrsi_v1",
        "ctpl_price_vpvr_obv_v1",
    ]
    assert all(template["id"] == name for name, template in TEMPLATES.items())


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_template_draws_every_market(template: str, situation: str) -> None:
    png = drawn(SITUATIONS[situation], **TEMPLATES[template]["request"])
    assert pixels(png).size == (WIDTH, HEIGHT) == (1200, 800)
    assert 8_000 < len(png) < LARGEST


@pytest.mark.parametrize("theme", THEMES)
def test_same_candles_same_bytes(theme: str) -> None:
    request = TEMPLATES["ctpl_price_ma1226_bb_macd1226_v1"]["request"] | {"theme": theme}
    assert drawn(walk(200), **request) == drawn(walk(200), **request)
    assert drawn(walk(200), **request) != drawn(walk(200, seed=8), **request)


@pytest.mark.parametrize("theme", THEMES)
def test_paper_has_the_colour_of_the_theme(theme: str) -> None:
    image = pixels(drawn(walk(40), theme=theme))
    assert image.getpixel((2, 2)) == THEMES[theme].paper


def test_a_candle_stands_where_its_prices_are() -> None:
    """Two candles share the width; the first fell from 30 to 10, the second rose back."""
    image = pixels(drawn([candle(0, 30.0, 30.0, 10.0, 10.0), candle(1, 10.0, 30.0, 10.0, 30.0)]))
    left, right = image.crop((0, 70, 560, 766)), image.crop((560, 70, 1100, 766))
    body = 25 * (766 - 96) * 20 / 22.4  # as wide as a body may be, and without the air above and below
    assert count(left, DARK.falling) == pytest.approx(body, rel=0.02)
    # The line of the last price crosses both halves, in the colour of the last candle.
    assert count(right, DARK.rising) == pytest.approx(body, rel=0.03)
    assert count(left, DARK.rising) < 600


def test_higher_is_up() -> None:
    def height(price: float) -> float:
        candles = [candle(0, 10.0), candle(1, price, price, price, price), candle(2, 30.0)]
        image = pixels(drawn(candles, theme="dark"))
        middle = (14 + (1200 - 78)) // 2
        rows = [y for y in range(100, 760) if image.getpixel((middle - 9, y)) == DARK.rising]
        return statistics.mean(row for row in rows)

    assert height(28.0) < height(20.0) < height(12.0)


def test_only_the_newest_are_shown() -> None:
    """A price of long ago would flatten all others if it were on the chart."""
    old = [candle(-1, 1e9), *walk(SHOWN)]
    recent = drawn(walk(SHOWN))
    assert count(pixels(drawn(old)), DARK.rising) == pytest.approx(count(pixels(recent), DARK.rising), rel=0.05)


def test_averages_know_what_came_before_the_first_candle() -> None:
    average = [{"name": "Moving Average", "input": {"length": 50}}]
    ink = DARK.curves[0]
    known = pixels(drawn(walk(SHOWN + 100), studies=average)).crop((14, 96, 120, 766))
    unknown = pixels(drawn(walk(SHOWN + 100)[100:], studies=average)).crop((14, 96, 120, 766))
    assert count(known, ink) > 50
    assert count(unknown, ink) == 0


@pytest.mark.parametrize(
    ("study", "ink"),
    [
        ("Moving Average", DARK.curves[0]),
        ("Moving Average Exponential", DARK.curves[0]),
        ("Bollinger Bands", DARK.curves[0]),
        ("Parabolic SAR", DARK.curves[0]),
        ("Volume Profile Visible Range", DARK.washed(DARK.curves[1], 0.28)),
        ("Volume", DARK.washed(DARK.rising, 0.76)),
        ("Relative Strength Index", DARK.curves[2]),
        ("Stochastic RSI", DARK.curves[1]),
        ("MACD", DARK.curves[1]),
        ("Accumulation/Distribution", DARK.curves[3]),
        ("On Balance Volume", DARK.curves[3]),
    ],
)
def test_every_study_leaves_its_ink(study: str, ink: Colour) -> None:
    plain = count(pixels(drawn(walk(200))), ink)
    assert count(pixels(drawn(walk(200), studies=[{"name": study}])), ink) > plain + 150


def test_no_curve_runs_through_the_words_of_a_legend() -> None:
    """An average that comes down from long ago, steeply, where the other one has its name."""
    fallen = [*(candle(number, 1_000.0) for number in range(-120, 0)), *walk(SHOWN, price=10.0)]
    averages = [{"name": "Moving Average", "input": {"length": length}} for length in (110, 9)]
    image = pixels(drawn(fallen, studies=averages))
    assert count(image.crop((24, 71, 110, 76)), DARK.curves[1]) >= 5  # above the words
    assert count(image.crop((24, 91, 110, 96)), DARK.curves[1]) >= 5  # and below
    assert count(image.crop((24, 78, 110, 90)), DARK.curves[1]) == 0


def test_volume_may_stand_at_the_foot_of_the_price() -> None:
    ink = DARK.washed(DARK.rising, 0.4)
    overlay = pixels(drawn(walk(200), studies=[{"name": "Volume", "forceOverlay": True}]))
    assert count(overlay.crop((14, 640, 1100, 766)), ink) > 1_000
    assert count(overlay.crop((14, 96, 1100, 600)), ink) == 0


@pytest.mark.parametrize(
    ("request_", "place"),
    [
        ({"theme": "sepia"}, "t.request.theme"),
        ({"style": "heikinAshi"}, "t.request.style"),
        ({"studies": {"name": "MACD"}}, "t.request.studies"),
        ({"studies": ["MACD"]}, "t.request.studies.0"),
        ({"studies": [{"name": "MACD"}, {"name": "Moon Phase"}]}, "t.request.studies.1.name: 'Moon Phase'"),
        ({"studies": [{"name": "MACD", "input": [1]}]}, "t.request.studies.0"),
        ({"studies": [{"name": "Moving Average", "input": {"length": 0}}]}, "t.request.studies.0.input.length"),
        ({"studies": [{"name": "Moving Average", "input": {"length": True}}]}, "t.request.studies.0.input.length"),
        ({"studies": [{"name": "Moving Average", "input": {"length": 10**6}}]}, "t.request.studies.0.input.length"),
        ({"studies": [{"name": "Bollinger Bands", "input": {"in_1": "2"}}]}, "t.request.studies.0.input.in_1"),
        ({"studies": [{"name": "Bollinger Bands", "input": {"in_1": -2}}]}, "t.request.studies.0.input.in_1"),
    ],
)
def test_what_cannot_be_drawn_is_named(request_: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        drawn(walk(5), **request_)
    error = refusal.value.error
    assert (error.code, error.details) == (Code.INVALID_STEP_INPUTS, {"reason": "template_invalid"})
    assert error.message.startswith(place)


def test_a_chart_is_quick() -> None:
    """Far above what it takes (about forty milliseconds), so that a busy machine does not fail it."""
    request, candles = TEMPLATES["ctpl_price_ma1226_bb_macd1226_v1"]["request"], walk(5_000)
    drawn(candles, **request)
    start = time.process_time()
    drawn(candles, **request)
    assert time.process_time() - start < 0.5
