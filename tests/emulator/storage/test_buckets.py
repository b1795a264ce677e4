"""Buckets: there, or not, and never deleted with something inside."""

import pytest
from google.api_core.exceptions import BadRequest, Conflict, NotFound, PreconditionFailed

from tests.emulator.storage.client import ONCE, Bucket, Client, put


def test_created_bucket_is_there(client: Client, bucket: Bucket) -> None:
    found = client.get_bucket(bucket.name)
    assert (found.name, found.metageneration, found.storage_class) == (bucket.name, 1, "STANDARD")
    assert found.time_created is not None
    assert client.bucket(bucket.name).exists()


def test_bucket_is_created_once(client: Client, bucket: Bucket) -> None:
    with pytest.raises(Conflict, match="you already own it"):
        client.create_bucket(bucket.name)


@pytest.mark.parametrize("name", ["Upper", "sp ace", "ab..cd", "goog-bucket", "ab"])
def test_bucket_names_have_rules(client: Client, name: str) -> None:
    with pytest.raises(BadRequest, match="Invalid bucket name"):
        client.create_bucket(name)


def test_missing_bucket_is_not_found(client: Client) -> None:
    assert client.lookup_bucket("nobody-made-this") is None
    with pytest.raises(NotFound, match="The specified bucket does not exist"):
        put(client.bucket("nobody-made-this"), "a", retry=None)
    with pytest.raises(NotFound, match="The specified bucket does not exist"):
        list(client.list_blobs("nobody-made-this", **ONCE))


def test_buckets_are_listed_by_prefix_in_pages(client: Client) -> None:
    names = [f"listed-{letter}" for letter in "abcde"]
    for name in reversed(names):
        client.create_bucket(name)
    assert [bucket.name for bucket in client.list_buckets(prefix="listed-", page_size=2)] == names


def test_bucket_with_objects_is_not_deleted(bucket: Bucket) -> None:
    blob = put(bucket, "a")
    with pytest.raises(Conflict, match="not empty"):
        bucket.delete(**ONCE)
    blob.delete()
    bucket.delete()
    assert not bucket.exists()


def test_labels_are_patched_under_a_metageneration(bucket: Bucket) -> None:
    bucket.labels = {"team": "flow"}
    bucket.patch(if_metageneration_match=1)
    assert bucket.metageneration == 2
    with pytest.raises(PreconditionFailed):
        bucket.patch(if_metageneration_match=1)
    bucket.reload()
    assert bucket.labels == {"team": "flow"}
