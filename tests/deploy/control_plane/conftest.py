"""One cloud for the session, and the gcloud of this machine, which knows no other."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator

import pytest

from emulator.control_plane import Cloud
from emulator.platform import Platform
from tests.emulator.control_plane.asking import Asking

Ended = subprocess.CompletedProcess[str]
Gcloud = Callable[..., Ended]


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: nothing is deployed with the real one")
    with Cloud(Platform(time_scale=1000.0), install=False) as cloud:
        Asking(cloud.control_plane.url).prepare()
        yield cloud


@pytest.fixture(scope="session")
def gcloud(cloud: Cloud) -> Gcloud:
    others = {name: value for name, value in os.environ.items() if not name.startswith("CLOUDSDK_")}

    def run(*words: str, stdin: str = "") -> Ended:
        return subprocess.run(
            ["gcloud", *words],
            input=stdin,
            env=others | cloud.exports,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run


def answered(ended: Ended) -> str:
    """What it said, when it went well."""
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()
