"""The platform as a program: it says what to export, runs until Ctrl-C, and leaves nothing behind."""

import time
from collections.abc import Callable

from emulator import shell
from emulator.platform.host import Platform
from emulator.service import asked_to_end


def run(platform: Platform, say: Callable[[str], object], ready: Callable[[], None] = lambda: None) -> None:
    """Raises PlatformFailed when it cannot be; `ready` is called when it is."""
    began = time.monotonic()
    with platform:
        ended = asked_to_end()
        say(shell.exports(platform.exports))
        for name in platform.functions:
            platform.log.tell("platform", f"{name} is at {platform.url_of(name)}")
        ready()
        platform.log.tell("platform", f"ready in {time.monotonic() - began:.1f} s; Ctrl-C ends it")
        ended.wait()
        platform.log.tell("platform", "ending")
