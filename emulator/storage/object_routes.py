"""The `objects` collection of the JSON API, except for the ways in: see `upload_routes`."""

from typing import Any

from emulator.storage.conditions import Conditions
from emulator.storage.downloads import downloaded
from emulator.storage.errors import invalid
from emulator.storage.listing import Wish, listed
from emulator.storage.operation import Operation, generation_in, object_in
from emulator.storage.records import StoredObject, merged, writable
from emulator.storage.store import Change, Store
from emulator.web import Reply, Request

LARGEST_COMPOSITION = 32


class ObjectRoutes:
    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self, request: Request, bucket: str) -> Operation:
        def run() -> Reply:
            page = listed(self._store.objects(bucket), Wish.of(request.query))
            shown: dict[str, Any] = {"kind": "storage#objects"}
            if page.token:
                shown["nextPageToken"] = page.token
            if page.prefixes:
                shown["prefixes"] = page.prefixes
            if page.objects:
                shown["items"] = [found.resource(request.host) for found in page.objects]
            return Reply.json(shown)

        return Operation("objects.list", bucket, run)

    def get(self, request: Request, bucket: str, name: str) -> Operation:
        def metadata() -> Reply:
            found = self._store.get(bucket, name, generation_in(request), conditions())
            return Reply.json(found.resource(request.host), headers={"ETag": found.etag})

        def media() -> Reply:
            return downloaded(request, *self._store.read(bucket, name, generation_in(request), conditions()))

        def conditions() -> Conditions:
            return Conditions.of(request.query, request.headers)

        if request.query.get("alt") == "media":
            return Operation("objects.get_media", f"{bucket}/{name}", media)
        return Operation("objects.get", f"{bucket}/{name}", metadata)

    def patch(self, request: Request, bucket: str, name: str) -> Operation:
        return self._changing(
            "objects.patch", request, bucket, name, lambda old: writable(merged(old, object_in(request.body)))
        )

    def update(self, request: Request, bucket: str, name: str) -> Operation:
        return self._changing("objects.update", request, bucket, name, lambda _: writable(object_in(request.body)))

    def delete(self, request: Request, bucket: str, name: str) -> Operation:
        def run() -> Reply:
            self._store.delete(bucket, name, generation_in(request), Conditions.of(request.query))
            return Reply(204)

        return Operation("objects.delete", f"{bucket}/{name}", run)

    def copy(self, request: Request, bucket: str, name: str, target_bucket: str, target: str) -> Operation:
        def run() -> Reply:
            return Reply.json(self._copied(request, bucket, name, target_bucket, target).resource(request.host))

        return Operation("objects.copy", f"{target_bucket}/{target}", run)

    def rewrite(self, request: Request, bucket: str, name: str, target_bucket: str, target: str) -> Operation:
        def run() -> Reply:
            copied = self._copied(request, bucket, name, target_bucket, target)
            return Reply.json(
                {
                    "kind": "storage#rewriteResponse",
                    "totalBytesRewritten": str(copied.size),
                    "objectSize": str(copied.size),
                    "done": True,
                    "resource": copied.resource(request.host),
                }
            )

        return Operation("objects.rewrite", f"{target_bucket}/{target}", run)

    def move(self, request: Request, bucket: str, name: str, target: str) -> Operation:
        def run() -> Reply:
            source, conditions = Conditions.of(request.query, source=True), Conditions.of(request.query)
            return Reply.json(self._store.move(bucket, name, target, source, conditions).resource(request.host))

        return Operation("objects.move", f"{bucket}/{target}", run)

    def compose(self, request: Request, bucket: str, name: str) -> Operation:
        def run() -> Reply:
            wish = object_in(request.body)
            sources = wish.get("sourceObjects") or []
            if not 1 <= len(sources) <= LARGEST_COMPOSITION:
                raise invalid(f"The number of source components must be between 1 and {LARGEST_COMPOSITION}.")
            parts = [self._component(bucket, source) for source in sources]
            composed = self._store.insert(
                bucket,
                name,
                b"".join(data for _, data in parts),
                writable(wish.get("destination") or {}),
                Conditions.of(request.query),
                components=sum(found.components or 1 for found, _ in parts),
            )
            return Reply.json(composed.resource(request.host))

        return Operation("objects.compose", f"{bucket}/{name}", run)

    def _component(self, bucket: str, source: dict[str, Any]) -> tuple[StoredObject, bytes]:
        demanded = source.get("objectPreconditions") or {}
        conditions = Conditions.of({key: str(value) for key, value in demanded.items()})
        generation = int(source["generation"]) if source.get("generation") else None
        return self._store.read(bucket, str(source.get("name", "")), generation, conditions)

    def _copied(self, request: Request, bucket: str, name: str, target_bucket: str, target: str) -> StoredObject:
        source = Conditions.of(request.query, source=True)
        found, data = self._store.read(bucket, name, generation_in(request, "sourceGeneration"), source)
        # Metadata in the request replaces the source's; without any, the copy looks like the source.
        attributes = writable(object_in(request.body)) or found.attributes
        return self._store.insert(
            target_bucket, target, data, attributes, Conditions.of(request.query), components=found.components
        )

    def _changing(self, method: str, request: Request, bucket: str, name: str, change: Change) -> Operation:
        def run() -> Reply:
            generation, conditions = generation_in(request), Conditions.of(request.query)
            return Reply.json(self._store.change(bucket, name, change, generation, conditions).resource(request.host))

        return Operation(method, f"{bucket}/{name}", run)
