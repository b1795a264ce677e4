"""The prompt that a step names: a document of the operators', used word for word."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from flowcore.domain.errors import Code, DataNotFoundError, ValidationError, shown
from flowcore.engine.context import StepContext
from flowcore.ports import Documents

COLLECTION = "llm_prompts"
# What Firestore takes for the id of one document, and no control characters; anything else names none.
_DOCUMENT_ID = re.compile(r"(?!\.{1,2}$)(?!__.*__$)[^/\x00-\x1f\ud800-\udfff]{1,300}")


@dataclass(frozen=True, slots=True)
class Prompt:
    system_instruction: str = field(repr=False)
    user_prompt: str = field(repr=False)


def find_prompt(ctx: StepContext, documents: Documents, prompt_id: str) -> Prompt:
    found = None
    if _DOCUMENT_ID.fullmatch(prompt_id):
        found = ctx.patiently("firestore", lambda timeout: documents.find(f"{COLLECTION}/{prompt_id}", timeout))
    if found is None:
        raise DataNotFoundError(
            Code.PROMPT_NOT_FOUND,
            f"inputs.llm.promptId: {shown(prompt_id)} is not in {COLLECTION}; seed it, or name another",
        )
    version = found.fields.get("schemaVersion")
    if version != 1 or isinstance(version, bool):
        raise _malformed(prompt_id, "schemaVersion", "must be 1")
    texts = []
    for name in ("systemInstruction", "userPrompt"):
        text = found.fields.get(name)
        if not isinstance(text, str) or not text.strip():
            raise _malformed(prompt_id, name, "must be a text")
        texts.append(text)
    return Prompt(*texts)


def _malformed(prompt_id: str, name: str, demand: str) -> ValidationError:
    return ValidationError(
        Code.PROMPT_NOT_FOUND, f"{COLLECTION}/{prompt_id}.{name} {demand}", details={"reason": "malformed"}
    )
