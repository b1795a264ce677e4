"""Nothing outlives a host that was killed, not even what it had only just begun to start."""

import subprocess
import sys
from pathlib import Path

PROGRAM = ["sh", "-c", "touch begun; exec sleep 60"]
# A host that is killed when its program has begun, before it could do anything more about it.
HOST = f"""
import os, signal, subprocess
from emulator.platform.guardian import Guardian
guard, start = Guardian(), subprocess.Popen
def started_and_killed(*arguments, **options):
    start(*arguments, **options)
    while not os.path.exists("begun"):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
subprocess.Popen = started_and_killed
guard.spawn({PROGRAM!r})
"""


def test_a_program_does_not_outlive_the_host_that_died_starting_it(tmp_path: Path) -> None:
    # Their output is heard to its end, and that comes when the last of them is gone.
    host = subprocess.run([sys.executable, "-c", HOST], cwd=tmp_path, capture_output=True, check=False, timeout=30)
    assert host.returncode == -9
    assert (tmp_path / "begun").exists()
