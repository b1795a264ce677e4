"""One control plane for the session, with everything in place that a function needs."""

from collections.abc import Iterator

import pytest

from emulator.control_plane import Cloud
from emulator.platform import Platform
from tests.emulator.control_plane.asking import Asking


@pytest.fixture(scope="session")
def cloud() -> Iterator[Cloud]:
    with Cloud(Platform(time_scale=1000.0), install=False) as cloud:
        Asking(cloud.control_plane.url).prepare()
        yield cloud


@pytest.fixture
def ask(cloud: Cloud) -> Asking:
    return Asking(cloud.control_plane.url)
