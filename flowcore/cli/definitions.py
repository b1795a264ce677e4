"""Flow definitions as people name them: a file, or the key of one that is in Firestore."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import World
from flowcore.contracts.flows import FLOW_KEY
from flowcore.engine.start import DEFINITIONS


def definition_of(flow: str, world: World) -> Mapping[str, Any]:
    if _is_file(flow):
        return read_file(Path(flow))
    found = world.documents.find(f"{DEFINITIONS}/{flow}") if FLOW_KEY.fullmatch(flow) else None
    if found is None:
        known = [snapshot.id for snapshot in world.firestore.collection(DEFINITIONS).list_documents()]
        close = difflib.get_close_matches(flow, known, n=1)
        seed = f"{world.command('seed')} brings the shipped flows; a file is named by its path"
        hint = f"did you mean {close[0]}?" if close else seed
        raise Problem(f"{flow}: there is no such flow in {world}; {hint}", Exit.MISSING)
    return {**found.fields, "flowKey": flow}


def read_file(path: Path) -> Mapping[str, Any]:
    """As `flow validate` would have it: a misspelt `dependsOn` must not start a step too early."""
    from flowcore.cli.checking import check

    text = text_of(path)
    document = parse_file(path, text)
    errors = [finding for finding in check(text, document) if finding.severity == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise Problem(f"{path}:{errors[0]}{more}; flow validate {path} shows all there is to correct", Exit.REFUSED)
    return document


def text_of(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except FileNotFoundError:
        raise Problem(f"{path}: there is no such file; flow validate and flow run take a path", Exit.MISSING) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Problem(f"{path}: cannot be read ({type(error).__name__}); is it a text file?", Exit.MISSING) from None


def parse_file(path: Path, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise Problem(
            f"{path}:{error.lineno}:{error.colno}: this is not JSON: {error.msg}; correct it there", Exit.REFUSED
        ) from None
    except RecursionError:
        raise Problem(f"{path}: is nested too deeply to be a flow; simplify it", Exit.REFUSED) from None
    if not isinstance(value, dict):
        raise Problem(f"{path}:1:1: is {_kind(value)}, but a flow is a JSON object; see spec/flows", Exit.REFUSED)
    return value


def _kind(value: object) -> str:
    return {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")


def _is_file(flow: str) -> bool:
    return flow.endswith(".json") or "/" in flow or Path(flow).is_file()
