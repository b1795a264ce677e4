"""What people want to see of a change: which `status` went from what to what.

    flow_runs/r1 steps.candles.status READY → RUNNING

Of a document that is new or gone only its own status is told, not that of all its parts.
"""

import queue
import threading
from collections.abc import Callable, Iterator

from emulator.firestore import paths, values
from emulator.firestore.changes import Change, Commit
from emulator.firestore.paths import FieldPath
from emulator.firestore.wire import Document

FIELD = "status"
NONE = "(none)"


class Narrator:
    """Tells the transitions of each commit, in a thread of its own: a slow terminal holds up no writer."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._commits: queue.Queue[Commit | None] = queue.Queue()
        self._thread = threading.Thread(target=self._narrate, name="transitions", daemon=True)
        self._thread.start()

    def hear(self, commit: Commit) -> None:
        self._commits.put(commit)

    def stop(self) -> None:
        self._commits.put(None)
        self._thread.join()

    def _narrate(self) -> None:
        while commit := self._commits.get():
            for change in commit.changes:
                for transition in transitions(change):
                    self._tell(transition)


def transitions(change: Change) -> Iterator[str]:
    before, after = _statuses(change.before), _statuses(change.after)
    whole = change.before is not None and change.after is not None
    for path in sorted({*before, *after}):
        old, new = before.get(path, NONE), after.get(path, NONE)
        if old != new and (whole or len(path) == 1):
            yield f"{paths.relative(change.name)} {paths.spell_field(path)} {old} → {new}"


def _statuses(document: Document | None) -> dict[FieldPath, str]:
    return dict(_found(document.fields, ())) if document is not None else {}


def _found(fields: values.Fields, prefix: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    for name, value in fields.items():
        match values.type_of(value):
            case "map_value":
                yield from _found(value.map_value.fields, (*prefix, name))
            case "string_value" if name == FIELD:
                yield (*prefix, name), value.string_value
