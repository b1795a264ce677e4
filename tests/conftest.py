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


# It comes first, so that at the end nobody waits for it.
LONGEST = "test_readme.py"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "acceptance(*rows): the rows of the acceptance list that this test shows")
    config.addinivalue_line("markers", "long: takes minutes; runs only when asked for with `-m long`")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name != LONGEST)
    if "long" not in str(config.getoption("-m")):
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: pytest -m long"))
