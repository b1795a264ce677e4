"""Listening: a stream on which a client names targets, and hears of every commit that changes what they show.

Each target remembers what it has shown. After a commit the difference is sent, then the time up to which the client is
now consistent; in between it may be wrong, and it knows that. A client that comes back with a token is not trusted to
have seen what it says: its target is reset, and shown anew.
"""

import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Final

from emulator.firestore import paths, queries, values
from emulator.firestore.changes import Change, Commit
from emulator.firestore.documents import Documents
from emulator.firestore.errors import invalid
from emulator.firestore.queries import Query
from emulator.firestore.store import Store
from emulator.firestore.wire import (
    Document,
    DocumentChange,
    DocumentDelete,
    DocumentRemove,
    ListenRequest,
    ListenResponse,
    Target,
    TargetChange,
)

Shown = dict[str, Document]
END: Final = None


@dataclass(frozen=True, slots=True)
class Named:
    """Documents by name."""

    names: tuple[str, ...]

    def find(self, documents: Documents) -> Shown:
        return {name: document for name in self.names if (document := documents.get(name))}

    def wants(self, document: Document) -> bool:
        return document.name in self.names

    def present(self, document: Document) -> Document:
        return document

    is_window: Final = False


Selection = Named | Query


@dataclass(slots=True)
class Watch:
    """A target: what it selects, and what of it the client has been shown."""

    id: int
    database: str
    selection: Selection
    seen_through: int = 0  # the last change that the client's first picture contains
    shown: Shown = field(default_factory=dict)

    def after(self, commit: Commit, documents: Documents) -> Shown:
        """What there is to show after a commit; `documents` as they were right then."""
        if self.selection.is_window:
            return _found(self.selection, documents) if any(map(self._concerns, commit.changes)) else self.shown
        shown = dict(self.shown)
        for change in commit.changes:
            if change.after is not None and _wants(self.selection, change.after):
                shown[change.name] = change.after
            else:
                shown.pop(change.name, None)
        return shown

    def _concerns(self, change: Change) -> bool:
        return any(side is not None and _wants(self.selection, side) for side in (change.before, change.after))


class Listener:
    """One stream: requests come in, commits happen, responses go out, in one order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._inbox: SimpleQueue[bytes | Commit | None] = SimpleQueue()
        self._watches: dict[int, Watch] = {}

    def close(self) -> None:
        """End the stream, from any thread."""
        self._inbox.put(END)

    def messages(self, requests: Iterator[bytes]) -> Iterator[bytes | Commit]:
        """What there is to answer, as it comes, until either side ends the stream."""
        with self._store.lock:
            unsubscribe = self._store.feed.subscribe(self._inbox.put)
        threading.Thread(target=self._receive, args=(requests,), daemon=True).start()
        try:
            while (message := self._inbox.get()) is not END:
                yield message
        finally:
            with self._store.lock:
                unsubscribe()

    def _receive(self, requests: Iterator[bytes]) -> None:
        with suppress(Exception):  # grpc raises a bare one when the stream breaks: it has ended, that is all
            for request in requests:
                self._inbox.put(request)
        self.close()

    # --- answers ---------------------------------------------------------------------------------------------

    def add(self, request: ListenRequest) -> list[ListenResponse]:
        """Begin to watch: the first picture."""
        target = request.add_target
        selection = _selection(target)
        if target.target_id in self._watches:
            raise invalid(f"Target id {target.target_id} is already in use.")
        identity = target.target_id or max(self._watches, default=0) + 1
        watch = Watch(identity, paths.database_of(request.database), selection)
        with self._store.lock:
            now = self._store.now()
            documents = self._store.documents(watch.database)
            watch.seen_through = self._store.feed.sequence
            watch.shown = _found(selection, documents)
        responses = [_target_change(TargetChange.ADD, [identity])]
        if target.WhichOneof("resume_type"):
            responses.append(_target_change(TargetChange.RESET, [identity], now))
        responses += [_changed(watch, document) for document in watch.shown.values()]
        responses += [_deleted(watch, name, now) for name in _absent(watch)]
        responses += [_target_change(TargetChange.CURRENT, [identity], now), _consistent(now)]
        if target.once:
            responses.append(_target_change(TargetChange.REMOVE, [identity]))
        else:
            self._watches[identity] = watch
        return responses

    def remove(self, request: ListenRequest) -> list[ListenResponse]:
        """Stop watching a target."""
        watch = self._watches.pop(request.remove_target, None)
        return [_target_change(TargetChange.REMOVE, [watch.id])] if watch else []

    def committed(self, commit: Commit) -> list[ListenResponse]:
        """What the commit means for each target; nothing when it means nothing to any."""
        responses: list[ListenResponse] = []
        for watch in self._watches.values():
            if watch.database == commit.database and commit.last_sequence > watch.seen_through:
                responses += self._news(watch, commit)
        return [*responses, _consistent(commit.time)] if responses else []

    def _news(self, watch: Watch, commit: Commit) -> Iterator[ListenResponse]:
        with self._store.lock:
            documents = self._store.documents(watch.database, commit.time)
            shown, before = watch.after(commit, documents), watch.shown
            watch.shown = shown
            for name in before.keys() - shown.keys():
                gone = documents.get(name) is None
                yield _deleted(watch, name, commit.time) if gone else _removed(watch, name, commit.time)
        for name, document in shown.items():
            if before.get(name) is not document:
                yield _changed(watch, document)


def _selection(target: Target) -> Selection:
    match target.WhichOneof("target_type"):
        case "documents":
            for name in target.documents.documents:
                paths.check_document(name)
            return Named(tuple(target.documents.documents))
        case "query":
            return queries.compiled(target.query.parent, target.query.structured_query)
        case _:
            raise invalid("A target must have documents or a query.")


def _found(selection: Selection, documents: Documents) -> Shown:
    if isinstance(selection, Named):
        return selection.find(documents)
    return {document.name: document for document in selection.run(documents)}


def _wants(selection: Selection, document: Document) -> bool:
    return selection.wants(document) if isinstance(selection, Named) else selection.matches(document)


def _absent(watch: Watch) -> list[str]:
    if isinstance(watch.selection, Named):
        return [name for name in watch.selection.names if name not in watch.shown]
    return []


# --- responses -----------------------------------------------------------------------------------------------


def _target_change(kind: int, targets: list[int], time: int | None = None) -> ListenResponse:
    change = TargetChange(target_change_type=kind, target_ids=targets)
    if time is not None:
        change.read_time.CopyFrom(values.timestamp(time))
        change.resume_token = str(time).encode()
    return ListenResponse(target_change=change)


def _consistent(time: int) -> ListenResponse:
    return _target_change(TargetChange.NO_CHANGE, [], time)


def _changed(watch: Watch, document: Document) -> ListenResponse:
    shown = watch.selection.present(document)
    return ListenResponse(document_change=DocumentChange(document=shown, target_ids=[watch.id]))


def _deleted(watch: Watch, name: str, time: int) -> ListenResponse:
    read_time = values.timestamp(time)
    gone = DocumentDelete(document=name, removed_target_ids=[watch.id], read_time=read_time)
    return ListenResponse(document_delete=gone)


def _removed(watch: Watch, name: str, time: int) -> ListenResponse:
    read_time = values.timestamp(time)
    out = DocumentRemove(document=name, removed_target_ids=[watch.id], read_time=read_time)
    return ListenResponse(document_remove=out)
