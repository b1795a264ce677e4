"""Settings for the whole suite: chance is repeatable, a slow machine is no failure, long tests run when asked for."""

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "repeatable",
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=False,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "acceptance(*rows): the rows of the acceptance list that this test shows")
    config.addinivalue_line("markers", "long: takes minutes; runs only when asked for with `-m long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "long" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: pytest -m long"))
