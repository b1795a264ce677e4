"""`flow demo`: from nothing to a page, and what is left of it when somebody ends it."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.program import ATTENTIVE, flow


def test_a_program_gets_the_outcome_and_people_look_on_beside_it(folder: Path) -> None:
    said = flow(folder, "demo", "--symbol", "IBM", "--output", "shown", "--json")
    assert said.returncode == 0, said.stderr
    outcome = json.loads(said.stdout)
    assert outcome["status"] == "SUCCEEDED"
    assert outcome["numbers"].startswith("real bars from")
    assert outcome["analyst"] == "the local stand-in for Gemini"
    assert "llm_report_1M_summary_v1 RUNNING → SUCCEEDED" in said.stderr
    page = Path(outcome["page"].removeprefix("file://"))
    assert page == folder / "shown" / f"{outcome['runId']}.html"
    assert outcome["numbers"] in page.read_text("utf-8")


def test_ctrl_c_leaves_nothing_running_and_says_how_to_go_on(folder: Path) -> None:
    command = [sys.executable, "-c", ATTENTIVE, "demo"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as shown:
        assert shown.stdout
        for line in shown.stdout:
            if "READY → RUNNING" in line:  # the candles are made now, which is when it is hardest to end
                break
        shown.send_signal(signal.SIGINT)
        _, err = shown.communicate(timeout=60)
    assert shown.returncode == 130
    assert err == "flow: ended, and nothing is left running; flow demo begins anew\n"
