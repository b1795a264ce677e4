"""What functions find outside: the twins, their own clock, a provider that is paid; and a book of what happened.

A call is handed over with its effect to whoever decides what becomes of it (`simulation`). The effect writes the
records that an auditor reads: the same that the platform writes, plus the token of whoever did it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any, NamedTuple

from flowcore.domain.errors import NetworkError
from flowcore.domain.model import Snapshot
from flowcore.domain.patch import Patch
from flowcore.engine.update import Contended
from flowcore.ports import StoredObject
from flowcore.testing.stores import MemoryArtifacts, MemoryRuns
from flowcore.testing.world import T0

_T0 = T0.timestamp()
DOCUMENT_CALL, OBJECT_CALL, PROVIDER_CALL = 10.0, 60.0, 100.0


@dataclass(slots=True)
class Call:
    """What a function is about to do, on which resource, and for how long it would wait."""

    method: str
    resource: str
    effect: Callable[[], Any]
    timeout: float = 0.0
    service: str = ""  # whom it pays


class Unforeseen(Exception):
    """What a provider's library may raise, and no adapter knows."""


class Record(NamedTuple):
    time: float
    kind: str
    service: str
    method: str
    resource: str
    detail: Mapping[str, Any]


@dataclass(slots=True)
class World:
    chance: Random
    now: float = 0.0  # seconds of true time since the beginning
    runs: MemoryRuns = field(default_factory=MemoryRuns)
    artifacts: MemoryArtifacts = field(default_factory=MemoryArtifacts)
    book: list[Record] = field(default_factory=list)
    tokens: int = 0
    crashes: list[str] = field(default_factory=list)  # exceptions that no trouble of ours explains

    def hear(self, where: str, raised: object) -> None:
        """An exception that ended something. To be told nothing, or to lose a race, is what must be expected."""
        if isinstance(raised, Exception) and not isinstance(raised, (NetworkError, Contended, Unforeseen)):
            self.crashes.append(f"{where}: {raised!r}")

    def record(self, kind: str, service: str, method: str, resource: str, **detail: Any) -> None:
        self.book.append(Record(_T0 + self.now, kind, service, method, resource, detail))

    def put(self, run_id: str, document: Mapping[str, object]) -> Snapshot:
        """What somebody writes by hand, without a precondition."""
        stored = self.runs.put(run_id, document)
        self.note_write(None, by_hand=True)
        return stored

    def note_write(self, token: str | None, *, by_hand: bool = False) -> None:
        """The latest change, as an auditor wants it."""
        change = self.runs.changes[-1]
        assert change.new is not None
        detail = {"before": change.old.document if change.old else None, "after": change.new.document}
        method, resource = "update" if change.old else "create", f"flow_runs/{change.new.run_id}"
        self.record("write", "firestore", method, resource, **detail, token=token, by_hand=by_hand)

    def time(self, skew: float = 0.0) -> datetime:
        return T0 + timedelta(seconds=self.now + skew)


@dataclass(slots=True)
class Outside:
    """Every port of one invocation at once."""

    world: World
    skew: float
    ask: Callable[[Call], Any]
    token_taken: str | None = None

    # --- clock, chance, log ----------------------------------------------------------------------------------

    def now(self) -> datetime:
        return self.world.time(self.skew)

    def monotonic(self) -> float:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self.ask(Call("sleep", "", lambda: None, seconds))

    def token(self) -> str:
        self.world.tokens += 1
        self.token_taken = f"token-{self.world.tokens}"
        return self.token_taken

    def luck(self) -> float:
        return self.world.chance.random()

    # --- runs ------------------------------------------------------------------------------------------------

    def get(self, run_id: str, timeout: float = DOCUMENT_CALL) -> Snapshot | None:
        return self._ask("get", run_id, lambda: self.world.runs.get(run_id), min(timeout, DOCUMENT_CALL))  # type: ignore[no-any-return]

    def update(self, run_id: str, patch: Patch, update_time: datetime, timeout: float = DOCUMENT_CALL) -> datetime:
        def effect() -> datetime:
            runs = self.world.runs
            known = len(runs.changes)
            written = runs.update(run_id, patch, update_time)
            if len(runs.changes) > known:
                self.world.note_write(self.token_taken)
            return written

        return self._ask("update", _told(patch), effect, min(timeout, DOCUMENT_CALL))  # type: ignore[no-any-return]

    def due(self, now: datetime) -> Iterator[Snapshot]:
        return self._ask("query", "due", lambda: self.world.runs.due(now), DOCUMENT_CALL)  # type: ignore[no-any-return]

    def unfinished(self) -> Iterator[Snapshot]:
        return self._ask("query", "unfinished", self.world.runs.unfinished, DOCUMENT_CALL)  # type: ignore[no-any-return]

    # --- the provider ----------------------------------------------------------------------------------------

    def pay(self, seconds: float, service: str, method: str, resource: str, *, repair: bool = False) -> str:
        def effect() -> str:
            self.world.record("call", service, method, resource, token=self.token_taken, repair=repair)
            return "an answer"

        return self.ask(Call("pay", resource, effect, min(seconds, PROVIDER_CALL), service))  # type: ignore[no-any-return]

    def _ask(self, method: str, resource: str, effect: Callable[[], Any], timeout: float) -> Any:
        return self.ask(Call(method, resource, effect, timeout))


@dataclass(slots=True)
class OutsideObjects:
    """Artifacts of one invocation; apart, because two ports have a `create` and an `update`."""

    outside: Outside

    def uri(self, name: str) -> str:
        return self.outside.world.artifacts.uri(name)

    def find(self, name: str, timeout: float = OBJECT_CALL) -> StoredObject | None:
        def effect() -> StoredObject | None:
            world = self.outside.world
            world.record("call", "storage", "objects.get", f"artifacts/{name}", token=self.outside.token_taken)
            return world.artifacts.find(name)

        return self._ask("find", name, effect, timeout)  # type: ignore[no-any-return]

    def create(
        self,
        name: str,
        content: bytes | Iterable[bytes],
        content_type: str,
        metadata: Mapping[str, str],
        timeout: float = OBJECT_CALL,
    ) -> StoredObject:
        def effect() -> StoredObject:
            world = self.outside.world
            stored = world.artifacts.create(name, content, content_type, metadata)
            about = {"token": self.outside.token_taken, "content_type": content_type}
            world.record("object", "storage", "objects.insert", f"artifacts/{name}", **about)
            return stored

        return self._ask("create", name, effect, timeout)  # type: ignore[no-any-return]

    def annotate(self, name: str, metadata: Mapping[str, str], timeout: float = OBJECT_CALL) -> StoredObject:
        raise AssertionError("no step of the twins makes an object in pieces")

    def read(self, uri: str, timeout: float = OBJECT_CALL) -> bytes:
        return self._ask("read", uri, lambda: self.outside.world.artifacts.read(uri), timeout)  # type: ignore[no-any-return]

    def _ask(self, method: str, resource: str, effect: Callable[[], Any], timeout: float) -> Any:
        return self.outside.ask(Call(method, resource, effect, min(timeout, OBJECT_CALL)))


@dataclass(frozen=True, slots=True)
class Log:
    """Of a log only the exceptions are read; the book has all else that is judged."""

    hear: Callable[[str, object], None]

    def bind(self, **fields: object) -> Log:
        return self

    def info(self, event: str, **fields: object) -> None: ...

    def warning(self, event: str, **fields: object) -> None: ...

    def error(self, event: str, **fields: object) -> None:
        self.hear(event, fields.get("exc_info"))


def _told(patch: Patch) -> str:
    """What a patch moves, as a name for the write: the statuses in it."""
    moved = [f"{path.split('.')[1]} {value}" for path, value in patch.changes.items() if path.endswith(".status")]
    run = [f"run {patch.changes['status']}"] if "status" in patch.changes else []
    return ", ".join(moved + run) or "alarm"
