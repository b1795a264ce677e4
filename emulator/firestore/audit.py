"""Every change, for auditors: who looks at the history sees each document before and after."""

from emulator.firestore import paths, plain
from emulator.firestore.changes import Commit
from emulator.firestore.service import SERVICE
from emulator.history import History


def record(commit: Commit, history: History) -> None:
    for change in commit.changes:
        kind = "create" if change.before is None else "delete" if change.after is None else "update"
        history.record(
            "write",
            SERVICE,
            kind,
            paths.relative(change.name),
            database=commit.database,
            sequence=change.sequence,
            time=change.time,
            before=plain.document(change.before),
            after=plain.document(change.after),
        )
