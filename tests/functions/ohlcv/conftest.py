"""The functions read a table of the test's own; long forms of tests run when asked for."""

from collections.abc import Iterator

import pytest

from tests.functions.ohlcv.market import TABLE, Market
from tests.functions.system import System


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "long: takes minutes; runs only when asked for with `-m long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "long" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: pytest -m long"))


@pytest.fixture
def market(system: System) -> Iterator[Market]:
    with system.configured(CANDLES_TABLE=TABLE):
        yield Market(system)


@pytest.fixture
def seeded(system: System) -> Market:
    """The table that the platform brings along."""
    return Market(system)
