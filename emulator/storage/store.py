"""The one place where buckets and objects change, one change at a time.

A precondition is worth something only if nothing can happen between the look and the leap: both are made under one
lock. What is slow and touches nobody else (hashing, writing the content) is done before it is taken.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from emulator.history import History
from emulator.storage.checksums import Checksums
from emulator.storage.conditions import ALWAYS, Conditions
from emulator.storage.disk import Memory, Shelf
from emulator.storage.errors import StorageError, no_bucket, no_object
from emulator.storage.records import Bucket, StoredObject, check_bucket_name, check_object_name, timestamp

Attributes = Mapping[str, Any]
Change = Callable[[Attributes], Attributes]


class Store:
    """Buckets, their objects, and the last generation given to any of them."""

    def __init__(
        self,
        shelf: Shelf | None = None,
        history: History | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._shelf = shelf if shelf is not None else Memory()
        self._history = history if history is not None else History()
        self._clock = clock
        self._lock = threading.RLock()
        self._buckets: dict[str, Bucket] = {}
        self._objects: dict[str, dict[str, StoredObject]] = {}
        self._generation = 0
        self._recover()

    # --- buckets -----------------------------------------------------------------------------------------

    def create_bucket(self, name: str, attributes: Attributes) -> Bucket:
        check_bucket_name(name)
        with self._lock:
            if name in self._buckets:
                raise StorageError(
                    409, "Your previous request to create the named bucket succeeded and you already own it."
                )
            now = timestamp(self._clock())
            return self._put_bucket("buckets.insert", Bucket(name, 1, now, now, dict(attributes)))

    def bucket(self, name: str, conditions: Conditions = ALWAYS) -> Bucket:
        with self._lock:
            if name not in self._buckets:
                raise no_bucket()
            conditions.check(self._buckets[name])
            return self._buckets[name]

    def buckets(self) -> list[Bucket]:
        with self._lock:
            return [self._buckets[name] for name in sorted(self._buckets)]

    def change_bucket(self, name: str, change: Change, conditions: Conditions = ALWAYS) -> Bucket:
        with self._lock:
            bucket = self.bucket(name, conditions)
            changed = bucket.patched(change(bucket.attributes), timestamp(self._clock()))
            return self._put_bucket("buckets.patch", changed)

    def delete_bucket(self, name: str, conditions: Conditions = ALWAYS) -> None:
        with self._lock:
            self.bucket(name, conditions)
            if self._objects[name]:
                raise StorageError(409, "The bucket you tried to delete is not empty.")
            self._commit({"no_bucket": name})
            self._history.record("bucket", "storage", "buckets.delete", name)

    # --- objects -----------------------------------------------------------------------------------------

    def get(
        self, bucket: str, name: str, generation: int | None = None, conditions: Conditions = ALWAYS
    ) -> StoredObject:
        with self._lock:
            found = self._live(bucket, name)
            if found is None or generation not in (None, found.generation):
                raise no_object(bucket, name)
            conditions.check(found)
            return found

    def read(
        self, bucket: str, name: str, generation: int | None = None, conditions: Conditions = ALWAYS
    ) -> tuple[StoredObject, bytes]:
        with self._lock:  # or another writer might discard the content between the two
            found = self.get(bucket, name, generation, conditions)
            return found, self._shelf.read(found.content)

    def objects(self, bucket: str) -> list[StoredObject]:
        """All of them, by name."""
        with self._lock:
            self.bucket(bucket)
            return sorted(self._objects[bucket].values(), key=lambda found: found.name)

    def check(self, bucket: str, name: str, conditions: Conditions) -> None:
        """Raise what a write under these conditions would meet now."""
        check_object_name(name)
        with self._lock:
            conditions.check(self._live(bucket, name))

    def insert(
        self,
        bucket: str,
        name: str,
        data: bytes,
        attributes: Attributes,
        conditions: Conditions = ALWAYS,
        *,
        claimed: Checksums | None = None,
        components: int | None = None,
    ) -> StoredObject:
        """A new generation, if the conditions hold and the data is what the sender says it is."""
        self.check(bucket, name, conditions)  # the loser of a race need not write its content first
        actual = Checksums.of(data)
        (claimed or Checksums()).check(actual)
        checksums = actual if components is None else Checksums(crc32c=actual.crc32c)
        content = self._shelf.keep(data)
        try:
            with self._lock:
                conditions.check(self._live(bucket, name))
                generation, now = self._next_generation()
                created = StoredObject(
                    bucket, name, generation, 1, len(data), checksums, now, now, content, dict(attributes), components
                )
                return self._put("objects.insert", created)
        except StorageError:
            self._shelf.discard(content)
            raise

    def change(
        self, bucket: str, name: str, change: Change, generation: int | None = None, conditions: Conditions = ALWAYS
    ) -> StoredObject:
        """The same generation with other attributes."""
        with self._lock:
            found = self.get(bucket, name, generation, conditions)
            return self._put("objects.patch", found.patched(change(found.attributes), timestamp(self._clock())))

    def delete(
        self, bucket: str, name: str, generation: int | None = None, conditions: Conditions = ALWAYS
    ) -> StoredObject:
        with self._lock:
            found = self.get(bucket, name, generation, conditions)
            self._commit({"drop": [bucket, name]})
            self._record("objects.delete", found)
        self._shelf.discard(found.content)
        return found

    def move(self, bucket: str, name: str, target: str, source: Conditions, conditions: Conditions) -> StoredObject:
        """The same content under another name, in one step."""
        with self._lock:
            found, data = self.read(bucket, name, None, source)
            moved = self.insert(bucket, target, data, found.attributes, conditions)
            self.delete(bucket, name)
            return moved

    def clear(self) -> None:
        """Forget every bucket and object; generations go on rising."""
        with self._lock:
            for bucket in self.buckets():
                for found in self.objects(bucket.name):
                    self.delete(bucket.name, found.name)
                self.delete_bucket(bucket.name)

    def tell_what_was_not_told(self) -> None:
        """Objects that a killed platform had stored, and no time to tell of. Called when the history has its file."""
        with self._lock:
            told = self._history.told_before("object").get("generation", self._generation)
            for bucket in self.buckets():
                for found in self.objects(bucket.name):
                    if found.generation > told:
                        self._record("objects.insert", found)

    def close(self) -> None:
        with self._lock:
            self._shelf.close()

    # --- under the lock ----------------------------------------------------------------------------------

    def _live(self, bucket: str, name: str) -> StoredObject | None:
        if bucket not in self._buckets:
            raise no_bucket()
        return self._objects[bucket].get(name)

    def _next_generation(self) -> tuple[int, str]:
        """Microseconds, as the service does it, but never twice and never backwards."""
        now = self._clock()
        self._generation = max(self._generation + 1, int(now * 1_000_000))
        return self._generation, timestamp(now)

    def _put(self, method: str, found: StoredObject) -> StoredObject:
        before = self._objects[found.bucket].get(found.name)
        self._commit({"put": found.to_json()})
        if before and before.content != found.content:
            self._shelf.discard(before.content)
        self._record(method, found)
        return found

    def _put_bucket(self, method: str, bucket: Bucket) -> Bucket:
        self._commit({"bucket": bucket.to_json()})
        self._history.record("bucket", "storage", method, bucket.name, metageneration=bucket.metageneration)
        return bucket

    def _record(self, method: str, found: StoredObject) -> None:
        self._history.record(
            "object",
            "storage",
            method,
            f"{found.bucket}/{found.name}",
            generation=found.generation,
            metageneration=found.metageneration,
            size=found.size,
            crc32c=found.checksums.crc32c,
        )

    # --- what survives -----------------------------------------------------------------------------------

    def _commit(self, entry: dict[str, Any]) -> None:
        """Durable first, visible then: nobody may see what a crash could still take back."""
        self._shelf.append(entry)
        self._apply(entry)

    def _apply(self, entry: Mapping[str, Any]) -> None:
        match entry:
            case {"put": value}:
                found = StoredObject.from_json(value)
                self._objects[found.bucket][found.name] = found
                self._generation = max(self._generation, found.generation)
            case {"drop": [bucket, name]}:
                del self._objects[bucket][name]
            case {"bucket": value}:
                bucket = Bucket(**value)
                self._buckets[bucket.name] = bucket
                self._objects.setdefault(bucket.name, {})
            case {"no_bucket": name}:
                del self._buckets[name]
                del self._objects[name]
            case {"generation": number}:
                self._generation = number

    def _recover(self) -> None:
        for entry in self._shelf.entries():
            self._apply(entry)
        objects = [found for bucket in self.buckets() for found in self.objects(bucket.name)]
        self._shelf.settle(
            [
                {"generation": self._generation},
                *({"bucket": bucket.to_json()} for bucket in self.buckets()),
                *({"put": found.to_json()} for found in objects),
            ],
            {found.content for found in objects},
        )
