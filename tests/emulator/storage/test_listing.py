"""What is in a bucket: in order, folded at the delimiter, page by page."""

import pytest

from emulator.storage import StorageServer
from tests.emulator.storage.client import Bucket, put, texts

NAMES = ["a.txt", "runs/1/chart.png", "runs/1/report.md", "runs/2/report.md", "runs/index", "z/", "z/last", "ü"]


@pytest.fixture
def full(bucket: Bucket, server: StorageServer) -> Bucket:
    for name in reversed(NAMES):
        server.store.insert(bucket.name, name, b"x", {})
    return bucket


def test_names_come_in_order(full: Bucket) -> None:
    assert texts(full) == NAMES


def test_empty_bucket_lists_nothing(bucket: Bucket) -> None:
    assert texts(bucket) == []


def test_prefix_selects(full: Bucket) -> None:
    assert texts(full, prefix="runs/1") == ["runs/1/chart.png", "runs/1/report.md"]
    assert texts(full, prefix="nothing") == []


def test_delimiter_folds_folders(full: Bucket) -> None:
    listing = full.list_blobs(delimiter="/")
    assert [blob.name for blob in listing] == ["a.txt", "ü"]
    assert listing.prefixes == {"runs/", "z/"}


def test_delimiter_folds_below_a_prefix(full: Bucket) -> None:
    listing = full.list_blobs(prefix="runs/", delimiter="/")
    assert [blob.name for blob in listing] == ["runs/index"]
    assert listing.prefixes == {"runs/1/", "runs/2/"}


@pytest.mark.parametrize("size", [None, 1, 2, 3])
def test_folder_objects_are_shown_on_request(full: Bucket, size: int | None) -> None:
    listing = full.list_blobs(delimiter="/", include_trailing_delimiter=True, page_size=size)
    assert [blob.name for blob in listing] == ["a.txt", "z/", "ü"]
    assert listing.prefixes == {"runs/", "z/"}


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_pages_are_complete_and_never_repeat(full: Bucket, size: int) -> None:
    assert texts(full, page_size=size) == NAMES
    pages = list(full.list_blobs(page_size=size).pages)
    assert [page.num_items for page in pages[:-1]] == [size] * (len(pages) - 1)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_fold_each_folder_once(full: Bucket, size: int) -> None:
    listing = full.list_blobs(delimiter="/", page_size=size)
    folders: list[str] = []
    names: list[str] = []
    for page in listing.pages:
        names += [blob.name for blob in page]
        folders += page.prefixes
    assert (names, folders) == (["a.txt", "ü"], ["runs/", "z/"])


def test_limit_ends_a_listing(full: Bucket) -> None:
    assert texts(full, max_results=3) == NAMES[:3]


def test_offsets_include_the_start_and_exclude_the_end(full: Bucket) -> None:
    assert texts(full, start_offset="runs/1/report.md", end_offset="runs/index") == NAMES[2:4]


def test_listing_sees_every_acknowledged_write_at_once(bucket: Bucket) -> None:
    for number in range(5):
        put(bucket, f"n{number}")
        assert len(texts(bucket)) == number + 1
    bucket.delete_blob("n0")
    assert len(texts(bucket)) == 4


def test_more_than_a_page_of_objects(bucket: Bucket, server: StorageServer) -> None:
    names = [f"{number:05}" for number in range(2_345)]
    for name in names:
        server.store.insert(bucket.name, name, b"", {})
    pages = list(bucket.list_blobs().pages)
    assert [page.num_items for page in pages] == [1000, 1000, 345]
    assert texts(bucket) == names
