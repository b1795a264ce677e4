"""Reports: written by LLM_REPORT, read by later reports of the same market and by people's tools.

A file has two owners. `output` is the model's, in the shape of the schema that was asked for; `metadata` is ours: where
it came from, what it was made of, and what it cost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from flowcore.domain.times import to_text


@dataclass(frozen=True, slots=True)
class Report:
    """`schema_version` is the number in the schema's id: it says which shape `output` has."""

    schema_version: int
    run_id: str
    step_id: str
    symbol: str
    timeframe: str
    created_at: datetime
    finished_at: datetime
    llm: Mapping[str, object]
    inputs: Mapping[str, object]
    output: Mapping[str, object]

    def as_json(self) -> dict[str, object]:
        return {
            "metadata": {
                "schemaVersion": self.schema_version,
                "runId": self.run_id,
                "stepId": self.step_id,
                "symbol": self.symbol,
                "timeframe": self.timeframe,
                "createdAt": to_text(self.created_at),
                "finishedAt": to_text(self.finished_at),
                "llm": dict(self.llm),
                "inputs": dict(self.inputs),
            },
            "output": dict(self.output),
        }


def read_output(content: bytes) -> Mapping[str, object]:
    """What the model said in a report, old or new. A `ValueError` says what is wrong with the file."""
    try:
        output = json.loads(content.decode())["output"]
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"this is no report ({type(error).__name__})") from error
    if not isinstance(output, Mapping):
        raise ValueError("this is no report (its output is not a map)")
    return output
