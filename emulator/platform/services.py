"""The services that speak HTTP, and what the host has to know of each: where it listens, and how clients find it.

Another one is a line in this table; it takes `port` and `faults`, and extends `emulator.service.HttpService`. Its class
is named by text and imported when it starts: some bring a database or fonts along, and whoever only wants to read the
help of a program, or to write a test without the platform, does not wait for them.
"""

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emulator.faults import Faults
from emulator.platform import ports
from emulator.service import HttpService


@dataclass(frozen=True, slots=True)
class Service:
    """`key_variable`: it asks for an API key, `key=`; `keeps`: it has something to keep, in `data_dir=`."""

    name: str
    kind: str
    place: int
    variable: str
    key_variable: str | None = None
    keeps: bool = False

    def make(self, *, port: int, faults: Faults, key: str, folder: Path | None) -> HttpService:
        kind = pkgutil.resolve_name(self.kind)
        more: dict[str, Any] = {"data_dir": folder} if self.keeps else {}
        if self.key_variable:
            more["key"] = key
        service: HttpService = kind(port=port, faults=faults, **more)
        return service

    def exports(self, url: str, key: str) -> dict[str, str]:
        return {self.variable: url} | ({self.key_variable: key} if self.key_variable else {})


SERVICES: Final = (
    # Storage comes first: it locks its folder, so that two platforms never share one.
    Service("storage", "emulator.storage:StorageServer", ports.STORAGE, "STORAGE_EMULATOR_HOST", keeps=True),
    Service("gemini", "emulator.gemini:GeminiServer", ports.GEMINI, "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    Service("bigquery", "emulator.bigquery:BigQueryServer", ports.BIGQUERY, "BIGQUERY_EMULATOR_HOST"),
    Service("chart_img", "emulator.chart_img:ChartImgServer", ports.CHART_IMG, "CHART_IMG_BASE_URL"),
)
