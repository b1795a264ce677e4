"""Only if it is still as I think: on every operation, `…Match` fails with 412 and `…NotMatch` with 304."""

from collections.abc import Callable
from typing import Any

import pytest
import requests
from google.api_core.exceptions import NotFound, NotModified, PreconditionFailed

from emulator.storage import StorageServer
from tests.emulator.storage.client import ONCE, Blob, Bucket, put

Operation = Callable[..., Any]

# Every operation of the client that takes all four conditions, on an object that exists.
OPERATIONS: dict[str, Operation] = {
    "upload": lambda bucket, **conditions: put(bucket, "a", "new", **ONCE, **conditions),
    "read": lambda bucket, **conditions: bucket.blob("a").download_as_bytes(**ONCE, **conditions),
    "look": lambda bucket, **conditions: bucket.blob("a").reload(**ONCE, **conditions),
    "patch": lambda bucket, **conditions: bucket.blob("a").patch(**ONCE, **conditions),
    "update": lambda bucket, **conditions: bucket.blob("a").update(**ONCE, **conditions),
    "delete": lambda bucket, **conditions: bucket.blob("a").delete(**ONCE, **conditions),
    "rewrite": lambda bucket, **conditions: bucket.blob("a").rewrite(put(bucket, "source"), **ONCE, **conditions),
    "copy from": lambda bucket, **conditions: bucket.blob("copy").rewrite(
        bucket.blob("a"), **ONCE, **{name.replace("if_", "if_source_"): value for name, value in conditions.items()}
    ),
}


@pytest.fixture(params=OPERATIONS)
def operation(request: pytest.FixtureRequest) -> Operation:
    return OPERATIONS[request.param]


@pytest.fixture
def blob(bucket: Bucket) -> Blob:
    """An object whose metadata was changed twice."""
    blob = put(bucket, "a")
    blob.metadata = {"k": "v"}
    blob.patch()
    blob.patch()
    assert blob.metageneration == 3
    return blob


def test_matching_generation_goes_through(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    operation(bucket, if_generation_match=blob.generation)


def test_other_generation_fails(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    with pytest.raises(PreconditionFailed, match="pre-conditions"):
        operation(bucket, if_generation_match=blob.generation - 1)
    assert bucket.get_blob("a").generation == blob.generation


def test_same_generation_is_nothing_new(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    with pytest.raises(NotModified):
        operation(bucket, if_generation_not_match=blob.generation)
    assert bucket.get_blob("a").generation == blob.generation


def test_other_generation_is_something_new(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    operation(bucket, if_generation_not_match=blob.generation - 1)


def test_matching_metageneration_goes_through(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    operation(bucket, if_metageneration_match=3)


def test_other_metageneration_fails(operation: Operation, bucket: Bucket, blob: Blob) -> None:
    with pytest.raises(PreconditionFailed):
        operation(bucket, if_metageneration_match=2)


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - {"upload"}))
def test_same_metageneration_is_nothing_new(name: str, bucket: Bucket, blob: Blob) -> None:
    with pytest.raises(NotModified):
        OPERATIONS[name](bucket, if_metageneration_not_match=3)


def test_same_metageneration_is_nothing_new_for_an_upload(server: StorageServer, bucket: Bucket, blob: Blob) -> None:
    # by hand: on uploads the client (3.17.1) spells the parameter ifMetaGenerationNotMatch, which nobody knows
    url = f"{server.url}/upload/storage/v1/b/{bucket.name}/o?uploadType=media&name=a"
    assert requests.post(f"{url}&ifMetagenerationNotMatch=3", data=b"new", timeout=10).status_code == 304
    assert requests.post(f"{url}&ifMetagenerationNotMatch=2", data=b"new", timeout=10).status_code == 200


def test_create_only_write_creates_only(bucket: Bucket) -> None:
    created = put(bucket, "new", "mine", if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        put(bucket, "new", "yours", if_generation_match=0)
    found = bucket.get_blob("new")
    assert (found.generation, found.download_as_text()) == (created.generation, "mine")


def test_create_only_write_goes_through_after_a_deletion(bucket: Bucket) -> None:
    put(bucket, "a").delete()
    put(bucket, "a", if_generation_match=0)


def test_write_over_a_generation_needs_an_object(bucket: Bucket) -> None:
    with pytest.raises(PreconditionFailed):
        put(bucket, "none", if_generation_match=7)
    with pytest.raises(PreconditionFailed):
        put(bucket, "none", if_metageneration_match=1)


def test_missing_object_is_not_found_whatever_the_condition(bucket: Bucket) -> None:
    with pytest.raises(NotFound):
        bucket.blob("none").delete(if_generation_match=7)
    with pytest.raises(NotFound):
        bucket.blob("none").download_as_bytes(if_generation_match=7)


def test_reader_can_insist_on_an_etag(bucket: Bucket, blob: Blob) -> None:
    assert bucket.blob("a").download_as_text(if_etag_match=blob.etag) == "text"
    with pytest.raises(PreconditionFailed):
        bucket.blob("a").download_as_text(if_etag_match="other")
    with pytest.raises(NotModified):
        bucket.blob("a").reload(if_etag_not_match=blob.etag)


def test_components_have_conditions_of_their_own(bucket: Bucket) -> None:
    parts = [put(bucket, "1"), put(bucket, "2")]
    target = bucket.blob("whole")
    generations = [part.generation for part in parts]
    with pytest.raises(PreconditionFailed):
        target.compose(parts, if_source_generation_match=[generations[0], generations[1] - 1])
    target.compose(parts, if_source_generation_match=generations, if_generation_match=0)
    with pytest.raises(PreconditionFailed):
        target.compose(parts, if_generation_match=0)
