"""A run's report as a file, with every artifact beside it, so that all its links work from the disk."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from flowcore.cli.problems import Exit, Problem
from flowcore.cli.report import render
from flowcore.cli.world import COLLECTION, World


def save_page(there: World, run_id: str, folder: Path, provenance: str | None = None) -> Path:
    """Returns where the page is."""
    found = there.documents.find(f"{COLLECTION}/{run_id}")
    if found is None:
        raise Problem(f"{run_id}: there is no such run in {there}", Exit.MISSING)
    kept: dict[str, str] = {}

    def read(uri: str) -> bytes:
        content = there.artifacts.read(uri)
        name = uri.split("/", 3)[3]
        file = folder / "artifacts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        kept[uri] = f"artifacts/{name}"
        return content

    for step in (found.fields.get("steps") or {}).values():  # type: ignore[attr-defined]
        uri = (step.get("outputs") or {}).get("gcs_uri")
        if uri:
            read(uri)
    html = render(
        found.fields,
        read,
        now=datetime.now(UTC),
        run_id=run_id,
        link=kept.get,
        provenance=provenance,
        stand_in=there.local,
    )
    page = folder / f"{run_id}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html, "utf-8")
    return page
