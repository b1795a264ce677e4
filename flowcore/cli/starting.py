"""A run from the command line: the same id with the same content is the same run, with other content it is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.contracts.flows import instantiate
from flowcore.domain.artifacts import canonical_json, sha256
from flowcore.domain.model import RUN_ID
from flowcore.ports import Conflict

TRIGGER = {"type": "USER", "source": "flow run"}


@dataclass(frozen=True, slots=True)
class Begun:
    run_id: str
    created: bool


def begin(
    world: World,
    definition: Mapping[str, Any],
    parameters: Mapping[str, object],
    run_id: str,
    now: datetime,
) -> Begun:
    if not RUN_ID.fullmatch(run_id):
        raise Problem(
            f"--id {run_id}: a run's id is made of letters, digits, _ and -, 128 at most; choose such a one",
            Exit.MISUSED,
        )
    wish = sha256(canonical_json({"definition": definition, "parameters": parameters}))
    run = instantiate(definition, parameters, run_id=run_id, now=now, trigger=TRIGGER)
    path = f"{world.collection}/{run_id}"
    try:
        world.documents.create(path, {**run, "requestSha256": wish})
    except Conflict:
        there = world.documents.find(path)
        if there is None or there.fields.get("requestSha256") != wish:
            raise Problem(
                f"{run_id} is there already, with other content; leave --id out, or choose another", Exit.REFUSED
            ) from None
        return Begun(run_id, created=False)
    return Begun(run_id, created=True)


def fresh_id(definition: Mapping[str, Any], parameters: Mapping[str, object], now: datetime, suffix: str) -> str:
    declared = definition.get("parameters")
    about = declared.get("symbol") if isinstance(declared, Mapping) else None
    default = about.get("default") if isinstance(about, Mapping) else None
    return id_for(str(parameters.get("symbol") or default or definition.get("flowKey") or "run"), now, suffix)


def id_for(subject: str, now: datetime, suffix: str) -> str:
    """`20251224-120000_BTCUSDT_a1b2c`: people sort and recognise runs by it."""
    return f"{now:%Y%m%d-%H%M%S}_{re.sub(r'[^A-Za-z0-9-]', '-', subject)[:40]}_{suffix[:5]}"
