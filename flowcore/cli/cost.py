"""`flow cost`: what runs cost, and what it costs to have none."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import Json


def cost(
    flow: Annotated[str, typer.Argument(help="A flow whose operations were counted.")] = "market_report_v1",
    *,
    runs: Annotated[int, typer.Option(min=1, help="For so many runs.")] = 1_000,
    work_seconds: Annotated[float, typer.Option(min=0.0, help="How long the steps of one run work, together.")] = 0.0,
    prices: Annotated[Path | None, typer.Option(help="A table of prices of your own.")] = None,
    as_json: Json = False,
) -> None:
    """Price runs from counted operations, beside other orchestrators, and a month without any. Asks nobody."""
    from flowcore.cli.costing import Line, bill, flows, price_table, sweeps, total

    counted = flows()
    if flow not in counted:
        raise Problem(f"nobody has counted {flow}; there are: {', '.join(counted)}", Exit.MISSING)
    if prices is not None and not prices.is_file():
        raise Problem(f"{prices}: no such file; deploy/costs/prices.json is an example", Exit.MISSING)
    try:
        table = price_table(prices) if prices else price_table()
        made = bill(counted[flow], sweeps(), table, runs, work_seconds)
    except (ValueError, LookupError, TypeError) as error:
        what = f"{prices}: cannot be used as a table of prices ({type(error).__name__})"
        raise Problem(f"{what}; deploy/costs/prices.json is an example", Exit.REFUSED) from None
    if as_json:
        about = {"flow": flow, "runs": runs, "asOf": table.as_of, "unverified": table.unverified}
        typer.echo(json.dumps({**about, **asdict(made)}))
        return

    def told(title: str, lines: list[Line], *, summed: bool = True) -> None:
        typer.echo(f"\n{title}")
        for line in lines:
            typer.echo(f"  {line.what:<42} {line.amount:>16,.0f} {line.usd:>10,.3f}")
        if summed:
            typer.echo(f"  {'together':<42} {'':>16} {total(lines):>10,.3f}")

    typer.echo(f"{flow}, {runs:,} runs, US dollars at list prices of {table.as_of}, no free tier subtracted")
    told("orchestration", made.orchestration)
    told("the steps' own work" + ("" if work_seconds else " (without their seconds: --work-seconds)"), made.work)
    told("the same flow elsewhere, orchestration alone", made.elsewhere, summed=False)
    told("at rest, a month without a run", made.at_rest)
    if table.unverified:
        typer.echo(f"\nprices that nobody could verify: {', '.join(table.unverified)}")
