"""Many writers at once: exactly one wins, and nothing is seen half-done."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed

from emulator.storage import StorageServer
from tests.emulator.storage.client import ONCE, Bucket, Client, connected, put

WRITERS = 16


@pytest.mark.parametrize("objects", [50, pytest.param(200, marks=pytest.mark.long)])
def test_one_of_sixteen_create_only_writers_wins_each_object(
    server: StorageServer, bucket: Bucket, objects: int
) -> None:
    together = Barrier(WRITERS)

    def write(writer: int) -> list[int]:
        won = []
        with connected(server.url) as client:
            mine = client.bucket(bucket.name)
            together.wait()
            for number in range(objects):
                try:
                    put(mine, f"o{number}", f"{writer}", if_generation_match=0, **ONCE)
                except PreconditionFailed:
                    continue
                won.append(number)
        return won

    with ThreadPoolExecutor(WRITERS) as pool:
        won = list(pool.map(write, range(WRITERS)))
    assert sorted(number for numbers in won for number in numbers) == list(range(objects))
    for writer, numbers in enumerate(won):
        for number in numbers:
            assert server.store.read(bucket.name, f"o{number}")[1] == f"{writer}".encode()
    created = [record for record in server.faults.history.of("object") if record.resource.startswith(f"{bucket.name}/")]
    assert len(created) == objects, "the history of the server tells the same story"


def test_increments_by_compare_and_set_are_all_kept(server: StorageServer, bucket: Bucket) -> None:
    put(bucket, "counter", "0")

    def increment(client: Client) -> None:
        blob = client.bucket(bucket.name).get_blob("counter")
        text = blob.download_as_text(**ONCE)
        blob.upload_from_string(str(int(text) + 1), if_generation_match=blob.generation, **ONCE)

    def work(_: int) -> None:
        done = 0
        with connected(server.url) as client:
            while done < 10:
                try:
                    increment(client)
                except (PreconditionFailed, NotFound):  # not found: overwritten between the look and the read
                    continue
                done += 1

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert bucket.blob("counter").download_as_text() == "40"


@pytest.mark.parametrize("size", [10, 300_000])
def test_reader_never_sees_half_of_a_write(server: StorageServer, bucket: Bucket, size: int) -> None:
    put(bucket, "a", b"0" * size)
    with ThreadPoolExecutor(2) as pool, connected(server.url) as reader, connected(server.url) as writer:
        written = pool.submit(
            lambda: [put(writer.bucket(bucket.name), "a", str(n % 10).encode() * size) for n in range(30)]
        )
        while not written.done():
            assert len(set(reader.bucket(bucket.name).blob("a").download_as_bytes())) == 1
        written.result()
