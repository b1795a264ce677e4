"""The answer, wrapped up as the service does it, whole or spoiled in one of the ways that models are known for."""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from emulator.gemini.prompt import TOKEN_CHARACTERS, Prompt, tokens


@dataclass(frozen=True, slots=True)
class Answer:
    """One generated text, and how it ended."""

    prompt: Prompt
    model: str
    text: str | None
    finish: str | None = "STOP"
    blocked: str | None = None
    empty: bool = False

    def body(self) -> dict[str, Any]:
        return next(iter(self.pieces(1)))

    def pieces(self, count: int) -> list[dict[str, Any]]:
        """The reply in that many parts; the last one tells how it ended and what it cost."""
        identity = uuid.uuid4().hex[:22]
        text = self.text or ""
        size = max(1, -(-len(text) // count))
        texts: list[str | None] = [text[start : start + size] for start in range(0, len(text), size)]
        return [
            {
                **self._content(piece, last=number >= len(texts)),
                "usageMetadata": self.usage(),
                "modelVersion": self.model,
                "responseId": identity,
            }
            for number, piece in enumerate(texts or [None], 1)
        ]

    def usage(self) -> dict[str, Any]:
        asked = self.prompt.text_tokens + self.prompt.image_tokens
        told = tokens(self.text or "")
        details = [{"modality": "TEXT", "tokenCount": self.prompt.text_tokens}]
        if self.prompt.images:
            details.append({"modality": "IMAGE", "tokenCount": self.prompt.image_tokens})
        counts = {"promptTokenCount": asked, "candidatesTokenCount": told, "totalTokenCount": asked + told}
        return {**counts, "promptTokensDetails": details}

    def _content(self, text: str | None, *, last: bool) -> dict[str, Any]:
        if self.blocked:
            return {"promptFeedback": {"blockReason": self.blocked, "safetyRatings": RATINGS}}
        if self.empty:
            return {"candidates": []}
        candidate: dict[str, Any] = {"index": 0}
        if text is not None:
            candidate["content"] = {"parts": [{"text": text}], "role": "model"}
        if last:
            candidate["finishReason"] = self.finish
        if self.finish == "SAFETY":
            candidate["safetyRatings"] = RATINGS
        return {"candidates": [candidate]}


RATINGS: Final = [{"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}]


def limited(answer: Answer) -> Answer:
    """Cut where the caller's own limit ends it."""
    limit = answer.prompt.token_limit
    if limit is None or answer.text is None or tokens(answer.text) <= limit:
        return answer
    return replace(answer, text=answer.text[: limit * TOKEN_CHARACTERS] or None, finish="MAX_TOKENS")


# --- spoiled answers --------------------------------------------------------------------------------------


def _of_json(change: Callable[[Any], Any]) -> Callable[[Answer], Answer]:
    def spoil(answer: Answer) -> Answer:
        try:
            value = json.loads(answer.text or "")
        except ValueError:
            value = answer.text
        return replace(answer, text=json.dumps(change(value), ensure_ascii=False))

    return spoil


def _other_type(value: Any) -> Any:
    match value:
        case {**fields} if fields:
            first = next(iter(fields))
            return {**fields, first: _other_type(fields[first])}
        case str():
            return 42
        case _:
            return "forty-two"


def _less(value: Any) -> Any:
    return dict(list(value.items())[1:]) if isinstance(value, dict) else {}


SPOILED: Final[Mapping[str, Callable[[Answer], Answer]]] = {
    "truncated_json": lambda answer: replace(answer, text=(answer.text or "")[: len(answer.text or "") * 2 // 3]),
    "wrong_type": _of_json(_other_type),
    "missing_fields": _of_json(_less),
    "empty_candidates": lambda answer: replace(answer, text=None, empty=True),
    "safety": lambda answer: replace(answer, text=None, finish="SAFETY"),
    "blocked_prompt": lambda answer: replace(answer, text=None, blocked="SAFETY"),
    "max_tokens": lambda answer: replace(
        answer, text=(answer.text or "")[: len(answer.text or "") // 2], finish="MAX_TOKENS"
    ),
    "max_tokens_without_text": lambda answer: replace(answer, text=None, finish="MAX_TOKENS"),
    "code_fence": lambda answer: replace(answer, text=f"```json\n{answer.text}\n```"),
}


def spoiled(answer: Answer, shape: str | None) -> Answer:
    """The answer in that shape; as it is, when the shape is none of those."""
    change = SPOILED.get(shape or "")
    return change(answer) if change else answer
