"""Flows at random: one to eight steps, forks and joins, several of one type, optional ones, some with few retries.

And a fan: so many steps of one type at once that most of them have to wait behind the others.
"""

from __future__ import annotations

from random import Random

from flowcore.testing.builders import CHARTS, OHLCV, REPORT, a_run, a_step

TYPES = ("OHLCV_EXPORT", "CHART_EXPORT", "LLM_REPORT", "A", "B")
# Most trouble shows in small flows, and a schedule costs what its flow weighs.
SIZES = (1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6, 7, 8)


def a_flow(chance: Random, run_id: str) -> dict[str, object]:
    names = [f"s{number}" for number in range(chance.choice(SIZES))]
    steps = {name: _a_step(chance, names[:number], number) for number, name in enumerate(names)}
    return a_run("PENDING", run_id=run_id, steps=steps)


def a_fan(chance: Random, run_id: str) -> dict[str, object]:
    steps = {f"s{number}": a_step("A", timeframe=f"{number}h") for number in range(chance.randint(7, 20))}
    return a_run("PENDING", run_id=run_id, steps=steps)


def the_market_flow(run_id: str) -> dict[str, object]:
    """Candles → charts → report, as `flow demo` runs it."""
    steps = {
        OHLCV: a_step("OHLCV_EXPORT", timeframe="1M"),
        CHARTS: a_step("CHART_EXPORT", depends_on=[OHLCV], timeframe="1M", inputs=_images(2, 2)),
        REPORT: a_step("LLM_REPORT", depends_on=[OHLCV, CHARTS], timeframe="1M"),
    }
    return a_run("PENDING", run_id=run_id, steps=steps)


def functions_for(document: dict[str, object]) -> tuple[str, ...]:
    steps: dict[str, dict[str, str]] = document["steps"]  # type: ignore[assignment]
    return ("advance", *sorted({step["stepType"] for step in steps.values()}))


def _a_step(chance: Random, earlier: list[str], number: int) -> dict[str, object]:
    kind = chance.choice(TYPES)
    needs = chance.sample(earlier, min(len(earlier), chance.choice((0, 1, 1, 1, 2, 3))))
    images = chance.randint(1, 3)
    return a_step(
        kind,
        depends_on=sorted(needs),
        timeframe=f"{number}h",
        optional=True if chance.random() < 0.2 else None,
        retry={"maxAttempts": chance.randint(1, 3)} if chance.random() < 0.5 else None,
        inputs=_images(images, chance.randint(1, images)) if kind == "CHART_EXPORT" else {},
    )


def _images(number: int, needed: int) -> dict[str, object]:
    return {"requests": [{"chartTemplateId": f"chart{each}"} for each in range(number)], "minImages": needed}
