"""One system for all tests of the functions, clean for each of them."""

import logging
from collections.abc import Iterator

import pytest

from emulator.platform import Platform
from tests.functions.system import System, hosted


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "acceptance(*rows): the rows of the acceptance list that this test shows")


@pytest.fixture(scope="session")
def hosted_system(platform: Platform) -> Iterator[System]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with hosted(platform) as system:
        yield system


@pytest.fixture
def system(hosted_system: System) -> System:
    hosted_system.renew()
    return hosted_system
