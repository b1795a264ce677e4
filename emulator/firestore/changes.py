"""The change feed: every change of a document, old and new, in the order in which the changes were committed.

It is what events are made of, what listeners wait for, and how the past is read: to see the documents as they were,
undo the changes that came later. Only the recent past is kept.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from emulator.firestore import paths, values
from emulator.firestore.paths import FieldPath
from emulator.firestore.wire import Document

KEPT_COMMITS: Final = 10_000


@dataclass(frozen=True, slots=True)
class Change:
    """One document before and after a commit; none where it does not exist."""

    sequence: int
    time: int
    name: str
    before: Document | None
    after: Document | None

    @property
    def mask(self) -> list[str]:
        """The paths of the fields that differ; empty unless the document was there before and after."""
        if self.before is None or self.after is None:
            return []
        return [paths.spell_field(path) for path in _differences(self.before.fields, self.after.fields, ())]


@dataclass(frozen=True, slots=True)
class Commit:
    """The changes that happened at once. Sequence numbers grow by one with each change, across all databases."""

    database: str
    time: int
    changes: tuple[Change, ...]

    @property
    def last_sequence(self) -> int:
        return self.changes[-1].sequence


Subscriber = Callable[[Commit], None]


class TooOld(LookupError):
    """Changes that somebody asks for are no longer kept."""


class Feed:
    """Commits in order, to whoever subscribes. Used under the store's lock."""

    def __init__(self, kept_commits: int = KEPT_COMMITS) -> None:
        self.sequence = 0
        self.lost_through = 0  # the last change that is no longer kept
        self.kept_since = 0  # a time: from here on the past can be read
        self.has_dropped = False  # whether the past was longer once
        self._kept_commits = kept_commits
        self._recent: deque[Commit] = deque()
        self._subscribers: list[Subscriber] = []

    @property
    def recent(self) -> list[Commit]:
        """The commits that are kept, oldest first."""
        return list(self._recent)

    def subscribe(self, callback: Subscriber, after: int | None = None) -> Callable[[], None]:
        """Call back for each commit, before its writer hears of it; with `after`, first for those that followed it.

        The callback holds up every writer, so it is quick: it puts the commit on a queue. Returns how to stop.
        """
        if after is not None:
            for commit in self.since(after):
                callback(commit)
        self._subscribers.append(callback)
        return lambda: self._subscribers.remove(callback)

    def since(self, sequence: int) -> list[Commit]:
        """The commits with a change after this one."""
        if sequence < self.lost_through:
            raise TooOld(f"changes {sequence + 1} to {self.lost_through} are no longer kept")
        return [commit for commit in self._recent if commit.last_sequence > sequence]

    def later_than(self, time: int) -> list[Commit]:
        """The commits after a moment, newest first: what to undo in order to be there."""
        if time < self.kept_since:
            raise TooOld("the past is not kept that long")
        later: list[Commit] = []
        for commit in reversed(self._recent):
            if commit.time <= time:
                break
            later.append(commit)
        return later

    def publish(self, commit: Commit) -> None:
        """Keep a commit, and tell everybody."""
        self.keep(commit)
        for callback in tuple(self._subscribers):
            callback(commit)

    def keep(self, commit: Commit) -> None:
        self.sequence = max(self.sequence, commit.last_sequence)
        self._recent.append(commit)
        if len(self._recent) > self._kept_commits:
            oldest = self._recent.popleft()
            self.lost_through, self.kept_since = oldest.last_sequence, oldest.time
            self.has_dropped = True

    def begin(self, lost_through: int, time: int, sequence: int) -> None:
        """Go on where an earlier life stopped counting and keeping."""
        self.lost_through, self.kept_since, self.sequence = lost_through, time, sequence

    def forget(self, database: str) -> None:
        """As though nothing had ever happened there: its past is empty, and that of the others is as it was."""
        self._recent = deque(commit for commit in self._recent if commit.database != database)
        self.has_dropped = True


def _differences(before: values.Fields, after: values.Fields, prefix: FieldPath) -> list[FieldPath]:
    found: list[FieldPath] = []
    for name in sorted({*before, *after}):
        path = (*prefix, name)
        if name not in before or name not in after:
            found.append(path)
        elif all(values.type_of(side[name]) == "map_value" for side in (before, after)):
            found += _differences(before[name].map_value.fields, after[name].map_value.fields, path)
        elif not values.identical(before[name], after[name]):
            found.append(path)
    return found
