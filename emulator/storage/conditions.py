"""Preconditions: what must be true of a resource at the very moment of the operation, or it does not happen.

A `…Match` that fails is 412, a `…NotMatch` that fails is 304: one says "not what you think", the other "nothing new".
Generation 0 stands for "no live object", which makes `ifGenerationMatch=0` the create-only write.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from typing import Protocol

from emulator.storage.errors import condition_not_met, invalid, not_modified


class Versioned(Protocol):
    @property
    def generation(self) -> int: ...
    @property
    def metageneration(self) -> int: ...
    @property
    def etag(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Conditions:
    """All that a request demands; nothing, when it demands nothing."""

    generation: int | None = None
    not_generation: int | None = None
    metageneration: int | None = None
    not_metageneration: int | None = None
    etag: str | None = None
    not_etag: str | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], headers: Message | None = None, *, source: bool = False) -> "Conditions":
        prefix = "ifSource" if source else "if"
        return cls(
            generation=_number(query, f"{prefix}GenerationMatch"),
            not_generation=_number(query, f"{prefix}GenerationNotMatch"),
            metageneration=_number(query, f"{prefix}MetagenerationMatch"),
            not_metageneration=_number(query, f"{prefix}MetagenerationNotMatch"),
            etag=headers["If-Match"] if headers else None,
            not_etag=headers["If-None-Match"] if headers else None,
        )

    def check(self, current: Versioned | None) -> None:
        """Raise unless the resource is as demanded; None: there is no live one."""
        generation = current.generation if current else 0
        metageneration = current.metageneration if current else 0
        if self.generation is not None and self.generation != generation:
            raise condition_not_met()
        if self.metageneration is not None and self.metageneration != metageneration:
            raise condition_not_met()
        if self.etag is not None and (current is None or current.etag not in _etags(self.etag)):
            raise condition_not_met()
        if self.not_generation is not None and (current is None or self.not_generation == generation):
            raise not_modified()
        if self.not_metageneration is not None and (current is None or self.not_metageneration == metageneration):
            raise not_modified()
        if self.not_etag is not None and current is not None and current.etag in _etags(self.not_etag):
            raise not_modified()


ALWAYS = Conditions()


def _number(query: Mapping[str, str], name: str) -> int | None:
    if name not in query:
        return None
    try:
        return int(query[name])
    except ValueError:
        raise invalid(f"Invalid value for {name}: {query[name]!r} is not an integer.") from None


def _etags(header: str) -> set[str]:
    return {part.strip().strip('"') for part in header.split(",")}
