"""A desk to draw at, with a clean system behind it."""

import pytest

from tests.functions.charts.desk import Desk
from tests.functions.system import System


@pytest.fixture
def desk(system: System) -> Desk:
    desk = Desk(system)
    desk.load("one", "two", "three")
    return desk
