"""Long-running operations: what takes its time is answered with a promise, and the promise can be asked.

An operation is never done in the answer that announces it, not even a quick one: a client that forgets to ask again
has a bug here, too.
"""

import itertools
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.control_plane.errors import Refused, not_found
from emulator.control_plane.resources import Json

Tell = Callable[[str], None]
PATIENCE: Final = 10.0  # seconds for which `settle` waits for the work of a server that ends


@dataclass(slots=True)
class _Operation:
    name: str
    metadata: Json
    thread: threading.Thread | None = None
    result: Json = field(default_factory=dict)


class Operations:
    """All of them, of all APIs; each does its work in a thread."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._numbers = itertools.count(1)
        self._operations: dict[str, _Operation] = {}

    def begin(self, parent: str, work: Callable[[], Json], metadata: Mapping[str, Any]) -> Json:
        """`parent` is what the operation's name begins with; the work returns the response."""
        prefix = f"{parent}/" if parent else ""
        operation = _Operation(f"{prefix}operations/operation-{next(self._numbers):06d}", dict(metadata))
        operation.thread = threading.Thread(target=self._do, args=(operation, work), daemon=True)
        self._operations[operation.name] = operation
        operation.thread.start()
        return {"name": operation.name, "metadata": operation.metadata, "done": False}

    def get(self, name: str) -> Json:
        operation = self._operations.get(name)
        if operation is None or operation.thread is None:
            raise not_found(name)
        done = not operation.thread.is_alive()
        return {"name": name, "metadata": operation.metadata, "done": done} | (operation.result if done else {})

    def settle(self) -> None:
        for operation in list(self._operations.values()):
            if operation.thread:
                operation.thread.join(PATIENCE)

    def _do(self, operation: _Operation, work: Callable[[], Json]) -> None:
        try:
            operation.result = {"response": work()}
        except Refused as refused:
            operation.result = {"error": refused.as_rpc_status()}
            self._tell(f"{operation.name} failed: {refused.message}")
        except Exception as bug:  # noqa: BLE001 - whoever waits for the operation must hear of it
            operation.result = {"error": {"code": 13, "message": f"a bug here: {type(bug).__name__}: {bug}"}}
            self._tell(f"{operation.name} failed: {traceback.format_exc()}")
