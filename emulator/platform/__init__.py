"""The whole outside world in one place: stores, events, Gemini, and the functions under the real functions-framework.

    with Platform(functions=[Function.parse("count=./toy:count@runs/{id}:written")]) as platform:
        os.environ.update(platform.exports)

or, in a shell, `python -m emulator.platform`. `host` starts and stops the parts; `functions` says what a function is,
`framework` and `together` how it is run, `process` keeps it alive, and `guardian` ends them all when the host cannot;
`log` is the one stream that all speak in.
"""

from emulator.platform.functions import Function
from emulator.platform.host import Platform, PlatformFailed
from emulator.platform.log import Log

__all__ = ["Function", "Log", "Platform", "PlatformFailed"]
