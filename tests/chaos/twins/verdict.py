"""What is said of a world when nothing moves any more: by the auditor, by the objects of themselves, and by crashes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256

from tests.chaos.auditor import Auditor
from tests.chaos.twins.world import World

MARGIN = timedelta(seconds=60)  # how far clocks may differ


def verdict(world: World, *, skew: timedelta | None = MARGIN, over: bool = True) -> list[str]:
    """`over`: whether every run should have ended."""
    objects = world.artifacts.objects
    found = Auditor(skew).hear(world.book).verdict(over=over, read=lambda name: objects[name][1])
    return [*found, *_false_hashes(world), *world.crashes]


def _false_hashes(world: World) -> Iterator[str]:
    for name, (stored, content) in world.artifacts.objects.items():
        if stored.metadata.get("sha256") != sha256(content).hexdigest():
            yield f"{name}: its content is not what its sha256 says"
