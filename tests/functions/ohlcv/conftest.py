"""The functions read a table of the test's own."""

from collections.abc import Iterator

import pytest

from tests.functions.ohlcv.market import TABLE, Market
from tests.functions.system import System


@pytest.fixture
def market(system: System) -> Iterator[Market]:
    with system.configured(CANDLES_TABLE=TABLE):
        yield Market(system)


@pytest.fixture
def seeded(system: System) -> Market:
    """The table that the platform brings along."""
    return Market(system)
