"""A collection of resources, the way Google's APIs have them: create, get, list, patch, delete, and a policy on each.

Most of a deployment talks to APIs that keep what they are told and add a few fields of their own. Such a collection is
a line in a table. One that does more, does it in the methods that are meant to be overridden.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from emulator.control_plane.members import check_members
from emulator.control_plane.operations import Operations
from emulator.control_plane.resources import Json, Name, Resources, patched, timestamp
from emulator.control_plane.routing import Asked, Route


@dataclass(frozen=True)
class State:
    """What all APIs share."""

    resources: Resources
    operations: Operations
    clock: Callable[[], float]
    tell: Callable[[str], None]

    def now(self) -> str:
        return timestamp(self.clock())


class Collection:
    """`slow`: what changes it is an operation. `id_parameter`: who creates one names it there, or in its `name`.

    `wrapped`: the field of a request's body that holds the resource, for the APIs that send more than that.
    """

    def __init__(
        self,
        state: State,
        api: str,
        pattern: str,
        *,
        id_parameter: str | None = None,
        slow: bool = False,
        wrapped: str | None = None,
        times: tuple[str, ...] = ("createTime",),
    ) -> None:
        self.pattern: Final = pattern
        self.plural: Final = pattern.split("/")[-2]
        self._state = state
        self._api = api
        self._id_parameter = id_parameter
        self._slow = slow
        self._wrapped = wrapped
        self._times = times
        self._numbers = itertools.count(1_000_001)

    # --- to be overridden ------------------------------------------------------------------------------------

    def check(self, name: Name, content: Json) -> None:
        """Refuses what must not be created, or changed into this."""

    def complete(self, name: Name, wish: Json) -> Json:
        """A new resource: the wish, and what the service adds to it."""
        return {**wish, **dict.fromkeys(self._times, self._state.now()), "name": name.path}

    def shown(self, _: Name, content: Json) -> Json:
        return content

    def begun(self, name: Name, old: Json | None, new: Json | None) -> None:
        """A resource was created (no old one), changed, or deleted (no new one): what follows from it."""

    # --- the methods -----------------------------------------------------------------------------------------

    def create(self, asked: Asked) -> Json:
        return self._created(Name(self._api, f"{asked.name}/{self.plural}/{self._id(asked)}"), self._wish(asked))

    def put(self, asked: Asked) -> Json:
        """Replaces, or creates: the older APIs let whoever writes choose the address."""
        name = Name(self._api, asked.name)
        wish = self._wish(asked)
        old = self._state.resources.find(name)
        if old is None:
            return self._created(name, wish)
        return self._changed(name, old, {**self.complete(name, wish), **{key: old.get(key) for key in self._times}})

    def get(self, asked: Asked) -> Json:
        name = Name(self._api, asked.name)
        return self.shown(name, self._state.resources.get(name))

    def list(self, asked: Asked) -> Json:
        parent = "/".join("*" if segment == "-" else segment for segment in asked.name.split("/"))
        found = self._state.resources.list(self._api, f"{parent}/{self.plural}/*")
        return {self.plural: [self.shown(name, content) for name, content in found.items()]}

    def patch(self, asked: Asked) -> Json:
        return self._patched(Name(self._api, asked.name), self._wish(asked), asked.query.get("updateMask"))

    def delete(self, asked: Asked) -> Json:
        name = Name(self._api, asked.name)
        old = self._state.resources.get(name)
        self._state.resources.delete(name)
        return self._promised(name, "delete", lambda: self.begun(name, old, None), dict)

    def get_policy(self, asked: Asked) -> Json:
        return self._state.resources.policy(Name(self._api, asked.name))

    def set_policy(self, asked: Asked) -> Json:
        policy = asked.body.get("policy", {})
        check_members(self._state.resources, policy)
        return self._state.resources.set_policy(Name(self._api, asked.name), policy)

    def routes(self) -> Iterator[Route]:
        parent, one = self.pattern.rpartition("/")[0], self.pattern
        for verb, pattern, method, run in (
            ("POST", parent, "create", self.create),
            ("PUT", one, "put", self.put),
            ("GET", parent, "list", self.list),
            ("GET", one, "get", self.get),
            ("PATCH", one, "patch", self.patch),
            ("DELETE", one, "delete", self.delete),
            ("GET", f"{one}:getIamPolicy", "getIamPolicy", self.get_policy),
            ("POST", f"{one}:getIamPolicy", "getIamPolicy", self.get_policy),
            ("POST", f"{one}:setIamPolicy", "setIamPolicy", self.set_policy),
        ):
            yield Route(verb, pattern, f"{self.plural}.{method}", run)

    # --- their common parts ----------------------------------------------------------------------------------

    def _id(self, asked: Asked) -> str:
        named = str(self._wish(asked).get("name", "")).rpartition("/")[2]
        return asked.query.get(self._id_parameter or "", "") or named or str(next(self._numbers))

    def _wish(self, asked: Asked) -> Json:
        wish: Any = asked.body.get(self._wrapped, {}) if self._wrapped else asked.body
        return dict(wish)

    def _created(self, name: Name, wish: Json) -> Json:
        self.check(name, wish)
        created = self._state.resources.create(name, self.complete(name, wish))
        return self._promised(name, "create", lambda: self.begun(name, None, created), lambda: self._now(name))

    def _changed(self, name: Name, old: Json, new: Json, etag: str | None = None) -> Json:
        self.check(name, new)
        changed = self._state.resources.change(name, lambda _: new, etag)
        return self._promised(name, "update", lambda: self.begun(name, old, changed), lambda: self._now(name))

    def _patched(self, name: Name, wish: Json, mask: str | None) -> Json:
        old = self._state.resources.get(name)
        fixed = {key: old[key] for key in ("name", *self._times) if key in old}
        return self._changed(name, old, patched(old, wish, mask) | fixed, wish.get("etag"))

    def _now(self, name: Name) -> Json:
        return self.shown(name, self._state.resources.get(name))

    def _promised(self, name: Name, verb: str, effect: Callable[[], None], answer: Callable[[], Json]) -> Json:
        """At once, or as an operation."""

        def work() -> Json:
            effect()
            return answer()

        if not self._slow:
            return work()
        about = {"target": name.path, "verb": verb, "createTime": self._state.now(), "apiVersion": "v1"}
        return self._state.operations.begin(self.operations_under(name), work, about)

    def operations_under(self, name: Name) -> str:
        """Where an operation on this resource is found: beside the location's, or the project's, resources."""
        return "/".join(name.path.split("/")[: 4 if "/locations/" in name.path else 2])
