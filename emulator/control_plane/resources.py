"""Everything that was created: JSON by name, each with its policy, and an ETag that moves with every change.

The names are Google's own (`projects/p/secrets/s`), under the API that they belong to. A write that changes nothing
is no change: that is what lets a test say that a second deployment has changed nothing.
"""

import base64
import copy
import datetime as dt
import fnmatch
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.control_plane.errors import already_exists, changed_meanwhile, not_found
from emulator.history import History

Json = dict[str, Any]
SERVICE: Final = "control_plane"


@dataclass(frozen=True, slots=True, order=True)
class Name:
    """A resource of an API: `Name("secretmanager", "projects/p/secrets/s")`."""

    api: str
    path: str

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0].rpartition("/")[0]

    @property
    def project(self) -> str:
        return self.path.split("/")[1]

    def __str__(self) -> str:
        return self.path


@dataclass(slots=True)
class _Record:
    content: Json
    version: int
    policy: Json = field(default_factory=dict)
    policy_version: int = 0


class Resources:
    """One change at a time. What is returned is a copy: nobody changes a resource by the way."""

    def __init__(self, history: History | None = None) -> None:
        self._history = history if history is not None else History()
        self._lock = threading.RLock()
        self._records: dict[Name, _Record] = {}
        self._version = 0

    # --- resources -------------------------------------------------------------------------------------------

    def create(self, name: Name, content: Json) -> Json:
        with self._lock:
            if name in self._records:
                raise already_exists(str(name))
            self._records[name] = _Record(copy.deepcopy(content), self._next())
            self._note("create", name)
            return self.get(name)

    def get(self, name: Name) -> Json:
        with self._lock:
            return copy.deepcopy(self._record(name).content)

    def find(self, name: Name) -> Json | None:
        with self._lock:
            return self.get(name) if name in self._records else None

    def etag(self, name: Name) -> str:
        with self._lock:
            return _etag(self._record(name).version)

    def list(self, api: str, pattern: str) -> dict[Name, Json]:
        """Those whose path fits the glob, by name; `*` is one segment."""
        with self._lock:
            segments = pattern.split("/")
            return {
                name: copy.deepcopy(record.content)
                for name, record in sorted(self._records.items())
                if name.api == api and _fits(name.path.split("/"), segments)
            }

    def change(self, name: Name, change: Callable[[Json], Json], etag: str | None = None) -> Json:
        with self._lock:
            record = self._record(name)
            if etag is not None and etag != _etag(record.version):
                raise changed_meanwhile(str(name))
            content = change(copy.deepcopy(record.content))
            if content != record.content:
                record.content, record.version = copy.deepcopy(content), self._next()
                self._note("update", name)
            return self.get(name)

    def delete(self, name: Name) -> None:
        with self._lock:
            self._record(name)
            below = f"{name.path}/"
            for gone in [each for each in self._records if each.api == name.api and each.path.startswith(below)]:
                del self._records[gone]
            del self._records[name]
            self._note("delete", name)

    def clear(self) -> None:
        with self._lock:
            self._records.clear()

    # --- policies --------------------------------------------------------------------------------------------

    def policy(self, name: Name) -> Json:
        with self._lock:
            record = self._record(name)
            return {"version": 1, **copy.deepcopy(record.policy), "etag": _etag(record.policy_version)}

    def set_policy(self, name: Name, policy: Mapping[str, Any]) -> Json:
        """Under the ETag that it was read with; one without an ETag overwrites, as in the cloud."""
        with self._lock:
            record = self._record(name)
            if policy.get("etag") not in (None, "", _etag(record.policy_version)):
                raise changed_meanwhile(str(name))
            wanted = {key: copy.deepcopy(value) for key, value in policy.items() if key not in {"etag", "version"}}
            if wanted != record.policy:
                record.policy, record.policy_version = wanted, self._next()
                self._note("setIamPolicy", name)
            return self.policy(name)

    def rename_member(self, old: str, new: str) -> None:
        """In every policy that names it."""
        with self._lock:
            for name, record in self._records.items():
                for binding in record.policy.get("bindings", []):
                    if old in binding.get("members", []):
                        binding["members"] = [new if member == old else member for member in binding["members"]]
                        record.policy_version = self._next()
                        self._note("setIamPolicy", name)

    def grants(self, name: Name, role: str) -> frozenset[str]:
        """Who has this role on exactly this resource."""
        with self._lock:
            record = self._records.get(name)
            bindings = record.policy.get("bindings", []) if record else []
            return frozenset(
                member for binding in bindings if binding["role"] == role for member in binding.get("members", [])
            )

    def _record(self, name: Name) -> _Record:
        if name not in self._records:
            raise not_found(str(name))
        return self._records[name]

    def _next(self) -> int:
        self._version += 1
        return self._version

    def _note(self, what: str, name: Name) -> None:
        self._history.record("resource", SERVICE, what, f"{name.api}/{name.path}")


def patched(old: Mapping[str, Any], wish: Mapping[str, Any], mask: str | None) -> Json:
    """What the mask names is taken from the wish, or removed where the wish has nothing; no mask: all that it has."""
    result: Json = copy.deepcopy(dict(old))
    paths = [camel(path) for path in mask.split(",")] if mask else list(wish)
    for path in paths:
        *above, last = path.split(".")
        target, source = result, dict(wish)
        for key in above:
            target = target.setdefault(key, {})
            source = source.get(key) or {}
        if last in source:
            target[last] = copy.deepcopy(source[last])
        else:
            target.pop(last, None)
    return result


def camel(path: str) -> str:
    """`dead_letter_policy` as JSON spells it; masks come in both spellings."""
    first, *rest = path.strip().split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def timestamp(now: float) -> str:
    return dt.datetime.fromtimestamp(now, dt.UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _fits(path: list[str], pattern: list[str]) -> bool:
    return len(path) == len(pattern) and all(map(fnmatch.fnmatchcase, path, pattern))


def _etag(version: int) -> str:
    return base64.b64encode(b"%08d" % version).decode()
