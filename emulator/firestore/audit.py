"""Every change, for auditors: who looks at the history sees each document before and after.

A change is noted while its writer holds the store's lock, so it is put into plain words only when somebody reads it.
"""

from functools import partial
from typing import Any

from emulator.firestore import paths, plain
from emulator.firestore.changes import Change, Commit, Feed, TooOld
from emulator.firestore.service import SERVICE
from emulator.history import History


def follow(feed: Feed, history: History) -> None:
    """From now on; first the commit, if there is one, that a killed platform had stored and not told."""
    note = partial(record, history=history)
    try:
        feed.subscribe(note, after=history.told_before("write").get("sequence"))
    except TooOld:
        feed.subscribe(note)


def record(commit: Commit, history: History) -> None:
    for change in commit.changes:
        kind = "create" if change.before is None else "delete" if change.after is None else "update"
        size = sum(document.ByteSize() for document in (change.before, change.after) if document is not None)
        tell = partial(_told, commit.database, change)
        history.record_large("write", SERVICE, kind, paths.relative(change.name), size, tell)


def _told(database: str, change: Change) -> dict[str, Any]:
    return {
        "database": database,
        "sequence": change.sequence,
        "time": change.time,
        "before": plain.document(change.before),
        "after": plain.document(change.after),
    }
