"""The whole outside world in one place: stores, events, Gemini, and the functions under the real functions-framework.

    with Platform(functions=[Function.parse("count=./toy:count@runs/{id}:written")]) as platform:
        os.environ.update(platform.exports)

or, in a shell, `python -m emulator.platform`. `host` starts and stops the parts: the `services`, a Firestore (`stores`:
ours, or the `official` one), the functions, the events. `functions` says what a function is, `framework` and `together`
how it is run, `fleet` runs them all, `holding` finds the one that calls, `process` keeps one alive, `reloading` renews
it, and `guardian` ends them when the host cannot. `log` is the one stream that all speak in, `transitions` what is told
of a change, `foreground` the program.
"""

from emulator.platform.errors import PlatformFailed
from emulator.platform.functions import Function, Schedule
from emulator.platform.host import Platform
from emulator.platform.log import Log
from emulator.platform.stores import Firestore

__all__ = ["Firestore", "Function", "Log", "Platform", "PlatformFailed", "Schedule"]
