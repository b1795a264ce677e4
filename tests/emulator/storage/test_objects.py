"""What happens to an object after it has come: described anew, copied, composed, moved, deleted."""

import pytest
from google.api_core.exceptions import BadRequest, NotFound

from tests.emulator.storage.client import ONCE, Bucket, Client, put, texts


def test_patch_changes_what_it_names(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"keep": "1", "drop": "2"}
    blob.cache_control = "no-store"
    blob.upload_from_string("x", content_type="text/plain")
    blob.metadata = {"drop": None, "new": "3"}
    blob.patch()
    found = bucket.get_blob("a")
    assert found.metadata == {"keep": "1", "new": "3"}
    assert (found.content_type, found.cache_control) == ("text/plain", "no-store")
    assert (found.metageneration, found.generation) == (2, blob.generation)


def test_patch_with_nothing_removes_a_field(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"k": "v"}
    blob.cache_control = "no-store"
    blob.upload_from_string("x")
    blob.metadata = None
    blob.cache_control = None
    blob.patch()
    found = bucket.get_blob("a")
    assert (found.metadata, found.cache_control) == (None, None)


def test_update_replaces_the_description(bucket: Bucket) -> None:
    blob = bucket.blob("a")
    blob.metadata = {"old": "1"}
    blob.upload_from_string("x", content_type="text/plain")
    blob.metadata = {"new": "2"}
    blob.update()
    found = bucket.get_blob("a")
    assert (found.metadata, found.metageneration) == ({"new": "2"}, 2)


def test_service_keeps_its_own_fields(bucket: Bucket) -> None:
    blob = put(bucket, "a", "text")
    checksum = blob.crc32c
    blob._patch_property("size", "99")
    blob._patch_property("crc32c", "AAAAAA==")
    blob.patch()
    found = bucket.get_blob("a")
    assert (found.size, found.crc32c) == (4, checksum)


def test_deleted_object_is_gone_and_deleting_it_again_says_so(bucket: Bucket) -> None:
    blob = put(bucket, "a")
    blob.delete()
    assert not blob.exists()
    with pytest.raises(NotFound):
        bucket.delete_blob("a", **ONCE)


def test_deletion_of_an_old_generation_spares_the_new(bucket: Bucket) -> None:
    old = put(bucket, "a").generation
    put(bucket, "a", "new")
    with pytest.raises(NotFound):
        bucket.blob("a", generation=old).delete(**ONCE)
    assert bucket.blob("a").download_as_text() == "new"


def test_copy_looks_like_its_source_and_is_an_object_of_its_own(client: Client, bucket: Bucket) -> None:
    source = bucket.blob("source")
    source.metadata = {"k": "v"}
    source.upload_from_string("text", content_type="text/csv")
    other = client.create_bucket(f"{bucket.name}-other")
    copy = bucket.copy_blob(source, other, "folder/copy")
    assert copy.generation > source.generation
    found = other.get_blob("folder/copy")
    assert (found.metadata, found.content_type, found.crc32c) == ({"k": "v"}, "text/csv", source.crc32c)
    source.delete()
    assert found.download_as_text() == "text"


def test_rewrite_may_describe_the_copy_anew(bucket: Bucket) -> None:
    source = put(bucket, "source", content_type="text/csv")
    copy = bucket.blob("copy")
    copy.content_type = "text/plain"
    token, done, total = copy.rewrite(source)
    assert (token, done, total) == (None, 4, 4)
    assert bucket.get_blob("copy").content_type == "text/plain"


def test_rename_and_move_leave_one_name(bucket: Bucket) -> None:
    bucket.rename_blob(put(bucket, "first"), "second")
    bucket.move_blob(bucket.blob("second"), "third")
    assert texts(bucket) == ["third"]
    with pytest.raises(NotFound):
        bucket.move_blob(bucket.blob("second"), "fourth")


def test_copy_of_nothing_is_not_found(bucket: Bucket) -> None:
    with pytest.raises(NotFound):
        bucket.copy_blob(bucket.blob("none"), bucket, "copy")


def test_composed_object_has_its_parts_in_order_and_no_md5(bucket: Bucket) -> None:
    parts = [put(bucket, name, name) for name in "bca"]
    whole = bucket.blob("whole")
    whole.content_type = "text/plain"
    whole.compose(parts)
    found = bucket.get_blob("whole")
    assert found.download_as_text() == "bca"
    assert (found.component_count, found.md5_hash, found.content_type) == (3, None, "text/plain")
    again = bucket.blob("again")
    again.compose([found, parts[0]])
    assert again.component_count == 4


def test_composition_has_at_most_thirty_two_parts(bucket: Bucket) -> None:
    with pytest.raises(BadRequest, match="between 1 and 32"):
        bucket.blob("whole").compose([put(bucket, "a")] * 33)


def test_batch_does_many_and_tells_each(client: Client, bucket: Bucket) -> None:
    for name in "abc":
        put(bucket, name)
    with client.batch():
        bucket.blob("a").delete()
        bucket.blob("b").delete()
    assert texts(bucket) == ["c"]


def test_batch_raises_what_one_of_its_calls_met(client: Client, bucket: Bucket) -> None:
    put(bucket, "a")
    batch = client.batch()
    batch.__enter__()
    bucket.blob("a").delete()
    bucket.blob("none").delete()
    with pytest.raises(NotFound):
        batch.__exit__(None, None, None)
    assert texts(bucket) == []
