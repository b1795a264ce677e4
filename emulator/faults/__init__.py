"""Bad weather on demand, counted: one mechanism for every service of the local platform.

A test that claims to survive a lost reply must be able to lose exactly that reply, and to prove that it was lost. So
each service asks once per call whether something is planned for it, and everything that is asked, and everything that
goes wrong, is counted.

    faults = Faults()
    lost = faults.add(service="storage", method="objects.insert", resource="reports/*", action=drop_after(), times=1)
    ...
    assert lost.fired == 1

A service that works call by call wraps the effect; what the fault raises goes up to the place where replies are sent:

    with faults.call("storage", "objects.insert", "reports/r1") as fault:
        reply = insert(...)

and one that cannot (because it waits without threads, or reshapes its reply) asks `decide` and reads the `Fault`.
"""

from emulator.faults.actions import (
    AFTER,
    BEFORE,
    SHAPES,
    Disconnected,
    Fault,
    Moment,
    Status,
    StatusReturned,
    delay,
    drop,
    drop_after,
    hang,
    kill,
    refuse,
    shape,
    status,
)
from emulator.faults.book import Faults, Handle
from emulator.faults.calls import Call, Calls

__all__ = [
    "AFTER",
    "BEFORE",
    "SHAPES",
    "Call",
    "Calls",
    "Disconnected",
    "Fault",
    "Faults",
    "Handle",
    "Moment",
    "Status",
    "StatusReturned",
    "delay",
    "drop",
    "drop_after",
    "hang",
    "kill",
    "refuse",
    "shape",
    "status",
]
