"""Transactions that finish: optimistic, except on documents that are fought over.

A transaction reads a snapshot, and its commit is aborted when anything that it read has changed since: the first to
commit wins, and nobody waits. Under contention that alone would starve the slow, and the client library gives up after
five attempts. So a document that has cost somebody a commit is locked, for a while, by each transaction that reads it;
everybody else who wants to write there waits for the end of that transaction. The library tries again only when a
*commit* is aborted: so a read is never refused. One that would wait for ever goes on without the lock, and the commit
decides.
"""

import itertools
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from emulator.firestore import paths, values, writes
from emulator.firestore.errors import Code, Refused, invalid
from emulator.firestore.store import Receipt, Store
from emulator.firestore.wire import Document, TransactionOptions, Write

LOCK_TIMEOUT: Final = 5.0
IDLE_TIMEOUT: Final = 60.0
CONTENDED_FOR: Final = 10.0

Versions = tuple[tuple[str, int], ...]  # of the results of a query: names and update times, in order
Look = Callable[[], Versions]


@dataclass(eq=False, slots=True)
class Transaction:
    """What a transaction has seen, and what it holds."""

    id: bytes
    database: str
    read_only: bool
    snapshot: int | None  # none: it holds locks, and reads what is there now
    locked: set[str] = field(default_factory=set)
    waiting_for: "Transaction | None" = None
    seen: dict[str, int] = field(default_factory=dict)
    looks: list[tuple[Look, Versions]] = field(default_factory=list)
    touched: float = field(default_factory=time.monotonic)


class Transactions:
    """All transactions that have begun and not ended."""

    def __init__(self, store: Store) -> None:
        self.store: Final = store
        self._released = threading.Condition(store.lock)
        self._open: dict[bytes, Transaction] = {}
        self._owners: dict[str, Transaction] = {}
        self._contended: dict[str, float] = {}  # until when
        self._numbers = itertools.count(1)

    def begin(self, database: str, options: TransactionOptions) -> Transaction:
        """Start a transaction. Whether it was tried before makes no difference."""
        with self.store.lock:
            read_only = options.WhichOneof("mode") == "read_only"
            past = read_only and options.read_only.HasField("read_time")
            snapshot = values.microseconds(options.read_only.read_time) if past else self.store.now()
            transaction = Transaction(b"t%d" % next(self._numbers), database, read_only, snapshot)
            self._open[transaction.id] = transaction
            return transaction

    def find(self, identity: bytes, database: str) -> Transaction:
        with self.store.lock:
            self._end_idle()
            transaction = self._open.get(identity)
            if transaction is None or transaction.database != database:
                known = identity.startswith(b"t") and identity[1:].isdigit()
                raise invalid("Transaction is invalid or closed." if known else "Invalid transaction.")
            transaction.touched = time.monotonic()
            return transaction

    def clear(self, database: str) -> None:
        """Forget a database, and with it whoever is at work there: nobody holds a document that is gone."""
        with self.store.lock:
            for transaction in [held for held in self._open.values() if held.database == database]:
                self._end(transaction)
            self._contended = {
                name: until for name, until in self._contended.items() if paths.database_of(name) != database
            }
            self.store.clear(database)

    @property
    def databases(self) -> tuple[str, ...]:
        """Those with something in them, or with somebody at work there."""
        with self.store.lock:
            at_work = (transaction.database for transaction in self._open.values())
            return tuple(dict.fromkeys([*self.store.databases, *at_work]))

    # --- reading ---------------------------------------------------------------------------------------------

    def hold(self, transaction: Transaction, names: Iterable[str]) -> None:
        """Before reading: lock what is fought over. From then on the transaction reads what is there now."""
        now = time.monotonic()
        contended = {name for name in names if self._contended.get(name, 0.0) > now}
        if transaction.read_only or not contended:
            return
        try:
            self._wait_for(contended, transaction)
        except Refused:
            return
        transaction.snapshot = None
        transaction.locked |= contended
        self._owners.update(dict.fromkeys(contended, transaction))

    def saw(self, transaction: Transaction, name: str, document: Document | None) -> None:
        """After reading a document: remember its version."""
        if not transaction.read_only:
            transaction.seen.setdefault(name, _version(document))

    def looked(self, transaction: Transaction, look: Look, found: Versions) -> None:
        """After a query: remember how to ask again, and what it found."""
        if not transaction.read_only:
            transaction.looks.append((look, found))

    # --- ending ----------------------------------------------------------------------------------------------

    def commit(self, database: str, asked: Sequence[Write], transaction: Transaction | None) -> Receipt:
        """Write as soon as nobody else holds the documents; within a transaction, if it saw what is still true."""
        if transaction and transaction.read_only and asked:
            raise invalid("Cannot modify entities in a read-only transaction.")
        names = {writes.target(write) for write in asked}

        def admit() -> None:
            self._wait_for(names, transaction)
            if transaction:
                self._check_still_true(transaction)

        try:
            return self.store.commit(database, asked, admit)
        finally:
            with self.store.lock:
                self._end(transaction)

    def rollback(self, identity: bytes) -> None:
        """Let go. Of what has ended already, too: a client may not know that its commit went through."""
        with self.store.lock:
            self._end(self._open.get(identity))

    def _check_still_true(self, transaction: Transaction) -> None:
        stored = self.store.documents(transaction.database)
        moved = [name for name, version in transaction.seen.items() if _version(stored.get(name)) != version]
        moved += [name for look, found in transaction.looks for name, _ in set(look()) ^ set(found)]
        if moved:
            self._contended.update(dict.fromkeys(moved, time.monotonic() + CONTENDED_FOR))
            raise Refused(Code.ABORTED, "The transaction read documents that have changed since. Please try again.")

    def _end(self, transaction: Transaction | None) -> None:
        if transaction and self._open.pop(transaction.id, None):
            for name in transaction.locked:
                del self._owners[name]
            self._released.notify_all()

    def _end_idle(self) -> None:
        """A client that died in the middle must not hold its locks for ever, nor an old quarrel slow us down."""
        now = time.monotonic()
        self._contended = {name: until for name, until in self._contended.items() if until > now}
        horizon = now - IDLE_TIMEOUT
        for transaction in [held for held in self._open.values() if held.touched < horizon]:
            self._end(transaction)

    # --- waiting ---------------------------------------------------------------------------------------------

    def _wait_for(self, names: Iterable[str], waiter: Transaction | None) -> None:
        """Until nobody else holds these documents."""
        self._end_idle()
        deadline = time.monotonic() + LOCK_TIMEOUT
        while owner := self._owner_other_than(waiter, names):
            if waiter and _waits_for(owner, waiter):
                raise Refused(Code.ABORTED, "Transactions wait for each other. Please try again.")
            if waiter:
                waiter.waiting_for = owner
            in_time = self._released.wait(deadline - time.monotonic())
            if waiter:
                waiter.waiting_for = None
            if not in_time:
                raise Refused(Code.ABORTED, "Transaction lock timeout.")
        if waiter and waiter.id not in self._open:
            raise invalid("Transaction is invalid or closed.")

    def _owner_other_than(self, waiter: Transaction | None, names: Iterable[str]) -> Transaction | None:
        owners = (self._owners.get(name) for name in names)
        return next((owner for owner in owners if owner is not None and owner is not waiter), None)


def _waits_for(waiting: Transaction | None, other: Transaction) -> bool:
    while waiting is not None and waiting is not other:
        waiting = waiting.waiting_for
    return waiting is other


def _version(document: Document | None) -> int:
    return values.microseconds(document.update_time) if document else 0
