"""What is kept: all databases, one clock, one order of commits.

Everything happens under one lock, one commit after the other; each is a few dictionary operations, so nobody waits
for long. Only the disk is slow: a writer waits for it after it has let go of the lock, together with the others.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from emulator.firestore import journal, paths, writes
from emulator.firestore.changes import KEPT_COMMITS, Change, Commit, Feed, TooOld
from emulator.firestore.documents import Documents
from emulator.firestore.errors import Code, Refused, invalid
from emulator.firestore.journal import Cleared, Committed, Folded, Journal, Kept, Record
from emulator.firestore.wire import Document, Write, WriteResult

MICROSECOND: Final = 1_000  # in nanoseconds


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a writer is told: when it happened, and the result of each write."""

    time: int
    results: list[WriteResult]


class Store:
    """All databases of all projects; one is made when it is first spoken of."""

    def __init__(
        self,
        kept: Journal | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        kept_commits: int = KEPT_COMMITS,
    ) -> None:
        self.lock: Final = threading.RLock()
        self.feed: Final = Feed(kept_commits)
        self._databases: dict[str, Documents] = {}
        self._clock = clock
        self._last_time = 0
        self._journal = kept
        if kept:
            self._restore(kept)

    # --- reading ---------------------------------------------------------------------------------------------

    def now(self) -> int:
        """A time in microseconds that no commit has yet, and that none will have from now on."""
        with self.lock:
            self._last_time = max(self._clock() // MICROSECOND, self._last_time + 1)
            return self._last_time

    @property
    def databases(self) -> tuple[str, ...]:
        """The names of those that were spoken of and not forgotten since."""
        with self.lock:
            return tuple(self._databases)

    def documents(self, database: str, at: int | None = None) -> Documents:
        """The documents now, or as they were; to be read under the lock."""
        current = self._databases.setdefault(database, Documents())
        if at is None:
            return current
        if at > self._clock() // MICROSECOND and at > self._last_time:
            raise invalid("The requested 'read_time' cannot be in the future.")
        try:
            later = [commit for commit in self.feed.later_than(at) if commit.database == database]
        except TooOld as error:
            raise Refused(Code.FAILED_PRECONDITION, "The requested 'read_time' is too old.") from error
        return current.without(later) if later else current

    # --- writing ---------------------------------------------------------------------------------------------

    def commit(self, database: str, asked: Sequence[Write], admit: Callable[[], None] = lambda: None) -> Receipt:
        """Carry out all writes or none; `admit` may refuse them at the last moment, under the lock."""
        with self.lock:
            admit()
            moment = self.now()
            results, left_behind = self._tried(database, asked, moment)
            number = self._installed(database, moment, left_behind)
        self._sync(number)
        return Receipt(moment, results)

    def clear(self, database: str) -> None:
        """Forget a database: no change is reported, as though it had never been there."""
        with self.lock:
            self._forget(database)
            number = self._journal.append(Cleared(database)) if self._journal else 0
        self._sync(number)

    def _tried(
        self, database: str, asked: Iterable[Write], moment: int
    ) -> tuple[list[WriteResult], dict[str, Document | None]]:
        """Each write sees what the ones before it would leave behind."""
        stored = self.documents(database)
        results: list[WriteResult] = []
        left_behind: dict[str, Document | None] = {}
        for write in asked:
            name = writes.target(write)
            if paths.database_of(name) != database:
                raise invalid(f'Document name "{name}" is not in the database "{database}".')
            before = left_behind[name] if name in left_behind else stored.get(name)
            left_behind[name], result = writes.apply(write, before, moment)
            results.append(result)
        return results, left_behind

    def _installed(self, database: str, moment: int, left_behind: dict[str, Document | None]) -> int:
        stored = self.documents(database)
        changed = {name: after for name, after in left_behind.items() if after is not stored.get(name)}
        if not changed:
            return 0
        commit = self._commit(database, moment, self.feed.sequence + 1, changed.items())
        number = self._journal.append(journal.committed(commit)) if self._journal else 0
        self._put(commit)
        self.feed.publish(commit)
        return number

    def _commit(
        self, database: str, moment: int, first: int, left_behind: Iterable[tuple[str, Document | None]]
    ) -> Commit:
        stored = self.documents(database)
        return Commit(
            database,
            moment,
            tuple(
                Change(sequence, moment, name, stored.get(name), after)
                for sequence, (name, after) in enumerate(left_behind, first)
            ),
        )

    def _put(self, commit: Commit) -> None:
        stored = self.documents(commit.database)
        for change in commit.changes:
            stored.put(change.name, change.after)

    def _forget(self, database: str) -> None:
        self._databases.pop(database, None)
        self.feed.forget(database)

    def _sync(self, number: int) -> None:
        if self._journal and number:
            self._journal.sync(number)

    # --- coming back -----------------------------------------------------------------------------------------

    def _restore(self, kept: Journal) -> None:
        for record in kept.records():
            self._replay(record)
        if self.feed.has_dropped:
            kept.rewrite(self._records())

    def _replay(self, record: Record) -> None:
        match record:
            case Kept(document):
                self.documents(paths.database_of(document.name)).put(document.name, document)
            case Folded(lost_through, moment, sequence):
                self._last_time = max(self._last_time, moment)
                self.feed.begin(lost_through, moment, sequence)
            case Committed(sequence, moment, database, left_behind):
                self._last_time = max(self._last_time, moment)
                commit = self._commit(database, moment, sequence - len(left_behind) + 1, left_behind)
                self._put(commit)
                self.feed.keep(commit)
            case Cleared(database):
                self._forget(database)

    def _records(self) -> Iterator[Record]:
        """The shortest journal that leads here: documents before the kept commits, then these commits."""
        recent = self.feed.recent
        for database, documents in self._databases.items():
            later = [commit for commit in reversed(recent) if commit.database == database]
            yield from (Kept(document) for document in documents.without(later))
        yield Folded(self.feed.lost_through, self.feed.kept_since, self.feed.sequence)
        yield from (journal.committed(commit) for commit in recent)

    def close(self) -> None:
        if self._journal:
            self._journal.close()
