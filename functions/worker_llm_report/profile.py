"""The model's settings, as the step's author wrote them: checked before anything is paid, then sent as they are.

Nothing is merged with defaults and nothing is tuned: two runs with the same profile ask in the same way. So a setting
that is not known is refused, because leaving it out silently would be tuning, too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field
from pydantic import ValidationError as Misfit
from pydantic.alias_generators import to_camel

from flowcore.domain.errors import Code, ConfigurationError, shown

PLACE = "inputs.llm.llmProfile"
SCHEMA_ID = re.compile(r"llm_report_output_v([1-9][0-9]{0,8})")
# The rest of a profile is about the schema, which is sent from the registry, and the model, which is in the address.
_SENT = (
    "temperature",
    "topP",
    "topK",
    "maxOutputTokens",
    "stopSequences",
    "candidateCount",
    "responseMimeType",
    "thinkingConfig",
)


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", alias_generator=to_camel)


class _StructuredOutput(_Settings):
    schema_id: Annotated[str, Field(pattern=f"^{SCHEMA_ID.pattern}$")]
    schema_sha256: str | None = None
    kind: Literal["LLM_REPORT_OUTPUT"] = "LLM_REPORT_OUTPUT"


class _ThinkingConfig(_Settings):
    include_thoughts: bool | None = None
    thinking_level: Annotated[str, Field(pattern=r"^[A-Za-z_]{1,40}$")] | None = None


class Profile(_Settings):
    model_name: Annotated[
        # It becomes part of an address.
        str, Field(validation_alias=AliasChoices("modelName", "model"), pattern=r"^(models/)?[A-Za-z0-9][\w.-]{0,99}$")
    ]
    response_mime_type: Literal["application/json"]
    structured_output: _StructuredOutput
    candidate_count: Annotated[int, Field(ge=1, le=1)] = 1
    temperature: float | None = None
    top_p: float | None = None
    top_k: Annotated[float, Field(ge=0)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    stop_sequences: list[str] | None = None
    thinking_config: _ThinkingConfig | None = None
    # Older profiles carry a schema of their own. The registry's is the only one that counts.
    response_schema: Any = None
    json_schema: Any = None

    @property
    def schema_id(self) -> str:
        return self.structured_output.schema_id

    def settings(self) -> dict[str, object]:
        """What is sent, in the words of the document."""
        given = self.model_dump(by_alias=True, exclude_unset=True)
        return {name: given[name] for name in _SENT if name in given} | {"candidateCount": self.candidate_count}


def read_profile(fields: object, allowed_models: Collection[str]) -> Profile:
    if not isinstance(fields, Mapping):
        raise _invalid(f"{PLACE}: {shown(fields)} is no map of settings")
    try:
        profile = Profile.model_validate(dict(fields))
    except Misfit as misfit:
        first = misfit.errors(include_url=False, include_input=False)[0]
        place = ".".join((PLACE, *map(str, first["loc"])))
        raise _invalid(f"{place}: {first['msg']}") from None  # the misfit quotes the profile
    if allowed_models and profile.model_name.removeprefix("models/") not in allowed_models:
        raise _invalid(
            f"{PLACE}.modelName: {shown(profile.model_name)} is not one of GEMINI_ALLOWED_MODELS", "model_not_allowed"
        )
    return profile


def _invalid(message: str, reason: str = "profile_malformed") -> ConfigurationError:
    return ConfigurationError(Code.LLM_PROFILE_INVALID, message, details={"reason": reason})
