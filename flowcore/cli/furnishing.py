"""What a platform on this machine needs before a run: the bucket and the seeds, where they are missing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from emulator.platform import Platform
from flowcore.cli.seeding import seeds, sow
from flowcore.cli.world import AT_HOME, World, world


@contextmanager
def at_home(platform: Platform) -> Iterator[World]:
    """Its variables hold meanwhile: the clients of Google look for them."""
    before = dict(os.environ)
    os.environ.update({**platform.exports, **AT_HOME})
    try:
        yield world()
    finally:
        os.environ.clear()
        os.environ.update(before)


def furnished(there: World) -> str:
    """Says what is there now. What somebody has changed stays."""
    if not there.storage.bucket(there.bucket).exists():
        there.storage.create_bucket(there.bucket)
    outcomes = Counter(sow(there.documents, seed, replace=False).outcome for seed in seeds())
    told = ", ".join(f"{count} {outcome}" for outcome, count in outcomes.items())
    return f"the bucket {there.bucket} and the seeds are there ({told})"
