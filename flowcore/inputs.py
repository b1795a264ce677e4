"""A step's inputs, parsed at the door: a bad document fails there, with the path of what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from pydantic import BaseModel, ConfigDict
from pydantic import ValidationError as Misfit
from pydantic.alias_generators import to_camel

from flowcore.domain.errors import Code, ValidationError


class StepInputs(BaseModel):
    """Fields are snake_case here and camelCase in documents. Nothing is converted: `"2"` and `true` are no numbers."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)

    @classmethod
    def read(cls, inputs: Mapping[str, object]) -> Self:
        try:
            return cls.model_validate(dict(inputs))
        except Misfit as misfit:
            first = misfit.errors(include_url=False, include_input=False)[0]
            path = ".".join(("inputs", *map(str, first["loc"])))
            raise ValidationError(
                Code.INVALID_STEP_INPUTS, f"{path}: {first['msg']}", details={"path": path}
            ) from None  # the misfit quotes the input
