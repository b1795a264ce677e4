"""A cold start is latency that somebody waits for: what is not needed at once is not imported at once.

Seconds depend on the machine (`make bench-coldstart` measures them, beside a floor); what is imported does not.
"""

import os
import subprocess
import sys

import pytest

from tests.reading.sources import ROOT, files_of, module_name

ENVIRONMENT = {"ARTIFACTS_BUCKET": "artifacts", "GEMINI_API_KEY": "none"}
HEAVY = {
    "google.cloud.bigquery",
    "google.cloud.storage",
    "google.genai",
    "jsonschema",
    "numpy",
    "PIL",
    "pyarrow",
    "pydantic",
    "requests",
}
FUNCTIONS = sorted(path.parent.name for path in (ROOT / "functions").glob("*/main.py"))


def modules_after(script: str) -> set[str]:
    """What a fresh interpreter has imported after the script."""
    script += "; import sys; print(*sys.modules)"
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return set(process.stdout.split())


@pytest.mark.parametrize("function", FUNCTIONS)
def test_function_starts_with_no_more_than_it_needs(function: str) -> None:
    imported = modules_after(f"import functions.{function}.main")
    assert not (found := imported & HEAVY), f"imported too early: {', '.join(sorted(found))}"


def test_function_that_starts_with_too_much_is_noticed() -> None:
    assert "PIL" in modules_after("import functions.worker_charts.main, PIL")


def test_domain_needs_little_of_the_standard_library() -> None:
    domain = ", ".join(module_name(path, ROOT) for path in files_of(ROOT / "flowcore/domain"))
    heavy = {"asyncio", "concurrent", "decimal", "email", "http", "logging", "socket", "ssl", "subprocess", "urllib"}
    assert not (found := modules_after(f"import {domain}") & heavy), ", ".join(sorted(found))
