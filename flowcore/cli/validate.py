"""`flow validate`: what is wrong with a flow in a file, before anybody runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.world import Json


def validate(
    file: Annotated[Path, typer.Argument(help="A flow definition, or a run document, as JSON.")],
    *,
    as_json: Json = False,
) -> None:
    """Check a flow definition or a run document in a file. Talks to nobody; fails if there is an error."""
    from flowcore.cli.checking import check, is_run
    from flowcore.cli.definitions import parse_file, text_of

    text = text_of(file)
    document = parse_file(file, text)
    found = check(text, document)
    errors = [finding for finding in found if finding.severity == "error"]
    if as_json:
        told = [
            {
                "severity": each.severity,
                "path": each.path,
                "message": each.message,
                "line": each.position.line,
                "column": each.position.column,
            }
            for each in found
        ]
        typer.echo(json.dumps({"file": str(file), "valid": not errors, "findings": told}))
    else:
        for each in found:
            typer.echo(f"{file}:{each}")
    if errors:
        first, count = errors[0], f"{len(errors)} error{'s' if len(errors) > 1 else ''}"
        what = f" ({first.path})" if first.path else ""
        place = f"{file}:{first.position.line}:{first.position.column}{what}"
        raise Problem(f"{file}: {count}, so it cannot run; begin at {place}", Exit.FAILED)
    if not as_json:
        typer.echo(f"{file}: a sound {'run document' if is_run(document) else 'flow definition'}")
