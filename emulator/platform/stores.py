"""Which Firestore the platform has, and what it asks of either: ours, or the official emulator."""

from enum import StrEnum
from typing import Protocol, Self

from emulator.eventarc.server import Source


class Firestore(StrEnum):
    """Which one is the store: `official.py` says what the other one cannot do."""

    OURS = "ours"
    OFFICIAL = "official"


class FirestoreLike(Source, Protocol):
    """What the host asks of a Firestore."""

    @property
    def host(self) -> str: ...
    def start(self) -> Self: ...
    def stop(self) -> None: ...
    def clear_all(self) -> None: ...
