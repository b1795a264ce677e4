"""The platform with real functions in a process of their own, secrets in their environment, and all places open."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pytest
from google.cloud import firestore
from google.cloud.storage import Client as StorageClient  # type: ignore[import-untyped]

from emulator.faults import Fault, Handle
from emulator.gemini.prompt import Prompt
from emulator.platform import Platform
from flowcore.cli.project import functions
from flowcore.testing.builders import REPORT, RUN_ID
from tests.chaos.inputs import healthy
from tests.chaos.inputs.stage import SKETCH
from tests.chaos.leaks.canaries import CHART_KEYS, MODEL_KEY, OUTPUT, PROMPT, SYSTEM, Place, as_text

ENVIRONMENT: Final = {
    "CHARTS_RENDERER": "chart_img",
    "CHART_IMG_ACCOUNTS_JSON": json.dumps([{"id": name, "apiKey": key} for name, key in CHART_KEYS.items()]),
    "INVOCATION_TIMEOUT_SECONDS": "60",
    "GEMINI_TIMEOUT_SECONDS": "1",
    "FINALIZE_BUDGET_SECONDS": "20",
}
_REPORTS: Final = re.compile(r"runs/[^/]+/reports/")


@contextmanager
def opened() -> Iterator[House]:
    hosted = [replace(function, environment={**function.environment, **ENVIRONMENT}) for function in functions()]
    with (
        Platform(functions=hosted, single_process=True, key=MODEL_KEY, time_scale=1000.0) as platform,
        pytest.MonkeyPatch.context() as patch,
    ):
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        yield House(platform, firestore.Client(), StorageClient())


@dataclass
class House:
    platform: Platform
    db: firestore.Client
    storage: Any
    fault: Handle | None = None
    said_before: int = 0
    settled: bool = False  # whether every event of the last run came to its end
    brought: set[str] = field(default_factory=set)
    asked: list[Prompt] = field(default_factory=list)  # what the model was asked before it said a line of the script

    def renew(self) -> None:
        """A healthy market, with secrets in it."""
        self.platform.reset()
        self.fault = None
        self.asked.clear()
        self.brought.clear()
        self.storage.create_bucket(healthy.BUCKET)
        prompt = {"schemaVersion": 1, "systemInstruction": SYSTEM, "userPrompt": PROMPT}
        self.document(healthy.PROMPT_PATH, prompt)
        self.document(healthy.SCHEMA_PATH, healthy.SCHEMA_FIELDS)
        self.document(healthy.TEMPLATE_PATH, healthy.TEMPLATE_FIELDS)
        self.put(healthy.CANDLES_OBJECT, healthy.as_bytes(healthy.candle_file(3)))
        self.put(healthy.MANIFEST_OBJECT, healthy.as_bytes(healthy.manifest_file()))
        self.put(healthy.EARLIER_OBJECT, healthy.as_bytes(healthy.earlier_report()))
        self.put("charts/other/x.png", SKETCH)
        self.platform.settled()
        self.platform.faults.history.clear()
        self.said_before = self.platform.log.told

    # --- what is arranged ---

    def say(self, line: Any, times: int = 1) -> None:
        spoken = line if isinstance(line, str) else json.dumps(line)

        def said(prompt: Prompt) -> str:
            self.asked.append(prompt)
            return spoken

        self.platform.gemini.script.say(said, times=times)

    def plan(self, service: str, method: str, fault: Fault, skip: int) -> None:
        self.fault = self.platform.faults.add(service=service, method=method, action=fault, times=1, skip=skip)

    def put(self, name: str, content: bytes) -> None:
        self.brought.add(name)
        self.storage.bucket(healthy.BUCKET).blob(name).upload_from_string(content, "application/json")

    def document(self, path: str, fields: dict[str, Any]) -> None:
        self.db.document(path).set(fields)

    def play(self, run: dict[str, Any]) -> dict[str, Any]:
        for step in run["steps"].values():
            step["retry"] = {"maxAttempts": 1}
        if REPORT in run["steps"] and healthy.IMAGE_OBJECT not in self.brought:
            self.put(healthy.IMAGE_OBJECT, SKETCH)
        self.db.document(f"flow_runs/{RUN_ID}").set(run)
        self.settled = self.platform.settled(20.0)
        found: dict[str, Any] = self.db.document(f"flow_runs/{RUN_ID}").get().to_dict() or {}
        return found

    # --- what is looked at ---

    def reports(self) -> list[str]:
        blobs = self.storage.bucket(healthy.BUCKET).list_blobs()
        return [blob.download_as_bytes().decode() for blob in blobs if _REPORTS.match(blob.name)]

    def places(self) -> Iterator[Place]:
        """Everywhere, except for the prompt's own document and the files that the case itself has brought."""
        yield Place("the log", "\n".join(self.platform.log.lines(after=self.said_before)))
        for record in self.platform.faults.history.of("write", service="firestore"):
            if not record.resource.startswith("llm_prompts/"):
                yield Place(f"document {record.resource}", as_text([record.resource, record.detail["after"]]))
        for blob in self.storage.bucket(healthy.BUCKET).list_blobs():
            yield Place(f"the name or the label of {blob.name}", as_text([blob.name, blob.metadata, blob.content_type]))
            if not blob.name.startswith("in/"):
                may_hold = (OUTPUT,) if _REPORTS.match(blob.name) else ()
                yield Place(f"object {blob.name}", blob.download_as_bytes().decode("utf-8", "replace"), may_hold)

    def said(self) -> list[str]:
        return self.platform.log.lines("functions", after=self.said_before)

    def structured(self) -> Iterator[str]:
        """Every line that the functions say in JSON stays one line of JSON."""
        for line in self.said():
            if line.startswith("{"):
                try:
                    json.loads(line)
                except ValueError:
                    yield f"half a line in the log: {line[:80]}"
