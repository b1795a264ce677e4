"""For any project's tests: where the emulator is installed, pytest finds this, and each test may have a clean platform.

It costs nothing to those who do not ask for it; `-p no:emulator.pytest_plugin` leaves it out altogether.

    def test_my_function(platform, faults, calls):
        firestore.Client().document("runs/r1").set({"v": 1})
        assert platform.settled()

The platform starts with the first test that asks for it, and the variables of `platform.exports` are set from then on.
Override the session fixture `platform_options` to give it functions, a time scale, a project: the arguments of
`Platform`. An HTTP function is called at `platform.url_of(name)`. A test that fails shows what the platform said
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:  # the platform takes a second to import, and pytest loads this module for everybody
    from emulator.faults import Calls, Faults
    from emulator.platform import Platform

TIME_SCALE: Final = 1000.0  # ten seconds of waiting are ten milliseconds
SAID: Final = pytest.StashKey[Callable[[], list[str]]]()


@pytest.fixture(scope="session")
def platform_options() -> dict[str, Any]:
    """What the platform is made with."""
    return {}


@pytest.fixture(scope="session")
def platform(platform_options: dict[str, Any]) -> Iterator[Platform]:
    """Stores, events, Gemini and the functions, on free ports, for the whole session."""
    from emulator.platform import Platform  # noqa: PLC0415 - see above

    with Platform(**{"time_scale": TIME_SCALE} | platform_options) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        yield platform


@pytest.fixture(autouse=True)
def _clean_platform(request: pytest.FixtureRequest) -> None:
    if "platform" in request.fixturenames:
        platform: Platform = request.getfixturevalue("platform")
        platform.reset()
        before = platform.log.told
        request.node.stash[SAID] = lambda: platform.log.lines(after=before)


@pytest.fixture
def faults(platform: Platform) -> Faults:
    """Bad weather for this test; the next one begins with a clear sky."""
    return platform.faults


@pytest.fixture
def calls(platform: Platform) -> Calls:
    """How often each call was made in this test."""
    return platform.faults.calls


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    if call.when == "call" and SAID in item.stash:
        item.add_report_section("call", "platform", "\n".join(item.stash[SAID]()))
    return (yield)
