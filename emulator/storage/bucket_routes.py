"""The `buckets` collection of the JSON API."""

from emulator.storage.conditions import Conditions
from emulator.storage.listing import last_seen, page_size, token_after
from emulator.storage.operation import Operation, object_in
from emulator.storage.records import merged
from emulator.storage.store import Store
from emulator.web import Reply, Request


class BucketRoutes:
    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self, request: Request) -> Operation:
        def run() -> Reply:
            prefix, after = request.query.get("prefix", ""), last_seen(request.query.get("pageToken", ""))
            found = [one for one in self._store.buckets() if one.name.startswith(prefix) and one.name > after]
            size = page_size(request.query)
            shown = {"kind": "storage#buckets", "items": [bucket.resource(request.host) for bucket in found[:size]]}
            if len(found) > size:
                shown["nextPageToken"] = token_after(found[size - 1].name)
            return Reply.json(shown)

        return Operation("buckets.list", request.query.get("project", ""), run)

    def insert(self, request: Request) -> Operation:
        wish = object_in(request.body)
        name = str(wish.pop("name", ""))
        return Operation(
            "buckets.insert", name, lambda: Reply.json(self._store.create_bucket(name, wish).resource(request.host))
        )

    def get(self, request: Request, bucket: str) -> Operation:
        def run() -> Reply:
            conditions = Conditions.of(request.query, request.headers)
            return Reply.json(self._store.bucket(bucket, conditions).resource(request.host))

        return Operation("buckets.get", bucket, run)

    def patch(self, request: Request, bucket: str) -> Operation:
        def run() -> Reply:
            changes = object_in(request.body)
            conditions = Conditions.of(request.query)
            changed = self._store.change_bucket(bucket, lambda old: merged(old, changes), conditions)
            return Reply.json(changed.resource(request.host))

        return Operation("buckets.patch", bucket, run)

    def update(self, request: Request, bucket: str) -> Operation:
        def run() -> Reply:
            attributes = object_in(request.body)
            conditions = Conditions.of(request.query)
            changed = self._store.change_bucket(bucket, lambda _: attributes, conditions)
            return Reply.json(changed.resource(request.host))

        return Operation("buckets.update", bucket, run)

    def delete(self, request: Request, bucket: str) -> Operation:
        def run() -> Reply:
            self._store.delete_bucket(bucket, Conditions.of(request.query))
            return Reply(204)

        return Operation("buckets.delete", bucket, run)
