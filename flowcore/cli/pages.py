"""A run's report as a file, with every artifact beside it, so that all its links work from the disk."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from flowcore.cli.looking import run_of
from flowcore.cli.report import render
from flowcore.cli.saving import save
from flowcore.cli.world import World
from flowcore.domain.errors import DataNotFoundError, ValidationError


def save_page(there: World, run_id: str, folder: Path) -> Path:
    """Returns where the page is."""
    found = run_of(there, run_id)
    kept: dict[str, str] = {}

    @cache
    def read(uri: str) -> bytes:
        content = there.artifacts.read(uri)
        kept[uri] = save(folder, uri, content).relative_to(folder).as_posix()
        return content

    def link(uri: str) -> str | None:
        """Where its file is, beside the page; None: somebody has removed it, and the page says so in its place."""
        with suppress(DataNotFoundError, ValidationError):
            read(uri)
        return kept.get(uri)

    html = render(
        found.document,
        read,
        now=datetime.now(UTC),
        run_id=run_id,
        link=link,
        provenance=_provenance(found.run.scope) if there.local else None,
        stand_in=there.local,
    )
    page = folder / f"{run_id}.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(html, "utf-8")
    return page


def _provenance(scope: Mapping[str, object]) -> str | None:
    from flowcore.cli import numbers  # here, because it takes a quarter of a second to import

    return numbers.origin(scope.get("symbol"))
