"""What a report needs from a language model: one question, one answer, and all the time there is.

The words are ours and not an SDK's, so that a step can be tested without one, and another provider can take its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from flowcore.domain.artifacts import PNG
from flowcore.domain.model import no_values

# What a model reports when a filter, not the model, ended its answer.
_FILTERS = frozenset({"SAFETY", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "IMAGE_SAFETY"})


@dataclass(frozen=True, slots=True)
class Picture:
    content: bytes = field(repr=False)
    mime_type: str = PNG


@dataclass(frozen=True, slots=True)
class Question:
    """`settings` are the profile's own, spelled as documents spell them: sent as they are, joined by no default."""

    model: str
    system_instruction: str = field(repr=False)
    parts: tuple[str | Picture, ...] = field(repr=False)
    schema: Mapping[str, object]
    settings: Mapping[str, object] = field(default_factory=no_values)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, before anybody has looked whether it can be used. No text is an answer, too."""

    text: str | None = field(repr=False)
    finish_reason: str | None = None
    block_reason: str | None = None
    usage: Mapping[str, object] = field(default_factory=no_values)
    model_version: str | None = None
    request_id: str | None = None

    @property
    def filtered_by(self) -> str | None:
        """The filter that stopped the question or its answer, if one did."""
        return self.block_reason or (self.finish_reason if self.finish_reason in _FILTERS else None)


class Model(Protocol):
    def ask(self, question: Question, timeout: float) -> Answer:
        """Returns or raises within `timeout` seconds, whatever the other side does.

        A `NetworkError` when there was no answer (`RATE_LIMITED`: not now), a `ConfigurationError` with
        `LLM_PROFILE_INVALID` when the question was refused.
        """
