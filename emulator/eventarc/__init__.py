"""Eventarc on a laptop: every committed change of a document becomes the CloudEvents of the functions that asked.

It promises what the cloud promises, and no more: at least once, in no order, several at a time, again and again after
a failure. So a function that works here has met duplicates, overtaking and its own death.

From the inside out: `triggers` (who wants what), `events` (what is sent) and `retrying` (when again) are values;
`ledger` knows what became of each event, and `journal` keeps what is still open; `lane` is one function's queue, `post`
the wire; `broker` ties them together, and `server` shows what it does.
"""

from emulator.eventarc.server import EventarcServer
from emulator.eventarc.triggers import Kind, Subscription

__all__ = ["EventarcServer", "Kind", "Subscription"]
