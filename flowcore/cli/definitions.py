"""Flow definitions as people name them: a file, or the key of one that is in Firestore."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.engine.start import DEFINITIONS


def definition_of(flow: str, world: World) -> Mapping[str, Any]:
    if _is_file(flow):
        return read_file(Path(flow))
    found = world.documents.find(f"{DEFINITIONS}/{flow}")
    if found is None:
        known = [snapshot.id for snapshot in world.firestore.collection(DEFINITIONS).list_documents()]
        close = difflib.get_close_matches(flow, known, n=1)
        hint = (
            f"did you mean {close[0]}?" if close else "flow seed brings the shipped flows; a file is named by its path"
        )
        raise Problem(f"{flow}: there is no such flow in {world}; {hint}", Exit.MISSING)
    return {**found.fields, "flowKey": flow}


def read_file(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise Problem(f"{path}: there is no such file", Exit.MISSING) from None
    except json.JSONDecodeError as error:
        raise Problem(f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}", Exit.REFUSED) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{path}: cannot be read: {type(error).__name__}", Exit.MISSING) from None
    if not isinstance(value, dict):
        raise Problem(f"{path}: a flow is a JSON object", Exit.REFUSED)
    return value


def settings(given: list[str]) -> dict[str, object]:
    """`symbol=ETHUSDT` or `scope.symbol=ETHUSDT`; what is JSON is taken as JSON: `timeframes=["1d"]`."""
    found: dict[str, object] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Problem(f"--set {text}: write name=value", Exit.MISUSED)
        try:
            found[name.removeprefix("scope.")] = json.loads(value)
        except ValueError:
            found[name.removeprefix("scope.")] = value
    return found


def _is_file(flow: str) -> bool:
    return flow.endswith(".json") or "/" in flow or Path(flow).is_file()
