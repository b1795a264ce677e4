"""The official emulator, where gcloud has it: what it does is right, unless DIFFERENCES.md says otherwise."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from emulator.history import History
from emulator.platform import Log, PlatformFailed
from emulator.platform.guardian import Guardian
from emulator.platform.official import OfficialFirestore, program
from emulator.platform.ports import Ports


@cache
def why_absent() -> str | None:
    """Why the official emulator cannot be asked; none when it can."""
    try:
        program()
    except PlatformFailed as failure:
        return f"the official Firestore emulator is not asked: {failure}"
    return None


@contextmanager
def official() -> Iterator[str]:
    """The official emulator on a free port, as host:port."""
    guard, port = Guardian(), Ports(None).for_process(0, "firestore")
    store = OfficialFirestore("nobody", port, History(), Log(), guard)
    try:
        yield store.start().host
    finally:
        store.stop()
        guard.dismiss()
