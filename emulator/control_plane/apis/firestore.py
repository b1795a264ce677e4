"""Firestore's administration: databases, and which fields have which indexes and a time to live.

The documents are another server's. A database here says where it is, because a trigger has to be there, too.
"""

import uuid
from typing import Final

from emulator.control_plane.collection import Collection, State
from emulator.control_plane.erasing import erase
from emulator.control_plane.errors import Refused, not_found
from emulator.control_plane.resources import Json, Name, patched
from emulator.control_plane.routing import Asked, GoogleApi, Route

API: Final = "firestore"
DATABASES: Final = "projects/*/databases/*"
GROUPS: Final = f"{DATABASES}/collectionGroups/*"
BY_ITSELF: Final = [  # the indexes that every field has
    {"queryScope": "COLLECTION", "fields": [{"fieldPath": "*", "order": "ASCENDING"}], "state": "READY"},
    {"queryScope": "COLLECTION", "fields": [{"fieldPath": "*", "order": "DESCENDING"}], "state": "READY"},
    {"queryScope": "COLLECTION", "fields": [{"fieldPath": "*", "arrayConfig": "CONTAINS"}], "state": "READY"},
]


class _Slow(Collection):
    """What takes its time here has its operations under the database."""

    def __init__(self, state: State, pattern: str, *, id_parameter: str | None = None) -> None:
        super().__init__(state, API, pattern, id_parameter=id_parameter, slow=True, times=())

    def operations_under(self, name: Name) -> str:
        return "/".join(name.path.split("/")[:4])


class Databases(_Slow):
    """`host` is where the documents are."""

    def __init__(self, state: State, host: str) -> None:
        super().__init__(state, DATABASES, id_parameter="databaseId")
        self._host = host

    def bulk_delete(self, asked: Asked) -> Json:
        name = Name(API, asked.name)
        self._state.resources.get(name)
        collections = asked.body.get("collectionIds", [])

        def work() -> Json:
            self._state.tell(f"{erase(self._host, name.path, collections)} documents of {collections} are deleted")
            return {}

        return self._state.operations.begin(self.operations_under(name), work, {})

    def complete(self, name: Name, wish: Json) -> Json:
        defaults = {
            "type": "FIRESTORE_NATIVE",
            "concurrencyMode": "OPTIMISTIC",
            "appEngineIntegrationMode": "DISABLED",
            "deleteProtectionState": "DELETE_PROTECTION_DISABLED",
            "uid": str(uuid.uuid5(uuid.NAMESPACE_URL, name.path)),
            "createTime": self._state.now(),
        }
        return {**defaults, **super().complete(name, wish)}

    def shown(self, name: Name, content: Json) -> Json:
        return {**content, "etag": self._state.resources.etag(name)}


class Indexes(_Slow):
    """Composite ones; ready as soon as the operation is done."""

    def check(self, name: Name, content: Json) -> None:
        known = self._state.resources.list(API, f"{name.parent}/indexes/*").values()
        if any(index["fields"] == content.get("fields") for index in known):
            raise Refused(409, "index already exists")

    def complete(self, name: Name, wish: Json) -> Json:
        return {**super().complete(name, wish), "state": "READY"}


class Fields(_Slow):
    """Every field exists; those that differ from the default are kept."""

    def get(self, asked: Asked) -> Json:
        kept = self._state.resources.find(Name(API, asked.name))
        return kept or self._default(asked.name)

    def patch(self, asked: Asked) -> Json:
        name = Name(API, asked.name)
        if self._state.resources.find(Name(API, "/".join(asked.name.split("/")[:4]))) is None:
            raise not_found("/".join(asked.name.split("/")[:4]))
        old = self._state.resources.find(name)
        new = patched(old or self._default(asked.name), self._wish(asked), asked.query.get("updateMask")) | {
            "name": asked.name
        }
        if "ttlConfig" in new:
            new["ttlConfig"] = {**new["ttlConfig"], "state": "ACTIVE"}
        if "indexConfig" not in new:
            new["indexConfig"] = self._default(asked.name)["indexConfig"]
        return self._created(name, new) if old is None else self._changed(name, old, new)

    def list(self, asked: Asked) -> Json:
        """The filter says which: those with indexes of their own, or with a time to live."""
        found = super().list(asked)[self.plural]
        if "ttlConfig" in asked.query.get("filter", ""):
            return {self.plural: [field for field in found if "ttlConfig" in field]}
        return {self.plural: [field for field in found if not field["indexConfig"].get("usesAncestorConfig")]}

    @staticmethod
    def _default(path: str) -> Json:
        database = path.partition("/collectionGroups/")[0]
        ancestor = f"{database}/collectionGroups/__default__/fields/*"
        config = {"indexes": BY_ITSELF, "usesAncestorConfig": True, "ancestorField": ancestor}
        return {"name": path, "indexConfig": config}


def firestore(state: State, host: str) -> GoogleApi:
    databases = Databases(state, host)
    return GoogleApi(
        API,
        [Route("POST", f"{DATABASES}:bulkDeleteDocuments", "databases.bulkDeleteDocuments", databases.bulk_delete)],
        databases.routes(),
        Indexes(state, f"{GROUPS}/indexes/*").routes(),
        Fields(state, f"{GROUPS}/fields/*").routes(),
        host="firestore.googleapis.com",
    )


def location_of(state: State, project: str, database: str) -> str | None:
    """Where a database is; None when there is no such database."""
    found = state.resources.find(Name(API, f"projects/{project}/databases/{database}"))
    return str(found["locationId"]) if found else None
