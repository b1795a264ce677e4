"""Most events are for others: a process that has no report to write does not load what writing one takes."""

import os
import subprocess
import sys

HEAVY = ("google.genai", "httpx2", "jsonschema", "flowcore.adapters.gemini", "functions.worker_llm_report.writing")


def test_opening_the_function_loads_nothing_that_only_a_report_needs() -> None:
    script = f"import functions.worker_llm_report.main, sys; print([name for name in {HEAVY} if name in sys.modules])"
    environ = {**os.environ, "ARTIFACTS_BUCKET": "artifacts", "GEMINI_API_KEY": "x"}
    process = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert (process.stdout.strip(), process.returncode) == ("[]", 0), process.stderr


def test_without_a_key_the_process_does_not_start() -> None:
    environ = {**os.environ, "ARTIFACTS_BUCKET": "artifacts", "GEMINI_API_KEY": ""}
    start = [sys.executable, "-c", "import functions.worker_llm_report.main"]
    process = subprocess.run(start, env=environ, capture_output=True, text=True, check=False)
    assert process.returncode != 0
    assert "GEMINI_API_KEY is not set" in process.stderr
