"""One system for all tests of the functions, clean for each of them."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator.platform import Platform
from tests.functions.hosting import Guest, hosted
from tests.functions.probe.provider import Provider, serving
from tests.functions.system import System

PROBE = Guest(Path(__file__).parent / "probe", runs="probe*")


@pytest.fixture(scope="session")
def hosted_system(platform: Platform) -> Iterator[System]:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with hosted(platform, guests=[PROBE]) as system:
        yield system


@pytest.fixture
def system(hosted_system: System) -> System:
    hosted_system.renew()
    return hosted_system


@pytest.fixture(scope="session")
def provider_at_work() -> Iterator[Provider]:
    with serving() as provider:
        yield provider


@pytest.fixture
def provider(provider_at_work: Provider) -> Provider:
    """Whom the probe pays."""
    provider_at_work.renew()
    return provider_at_work
