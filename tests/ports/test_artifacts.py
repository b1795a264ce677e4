"""The objects: created once, whole or in pieces, and never overwritten."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from flowcore.domain.errors import Code, DataNotFoundError, StepFailed, ValidationError
from flowcore.ports import Artifacts, ObjectExists

MIB = 2**20
NAME = "runs/r1/reports/1M/a step with ünïcode & 100%.json"


def create(artifacts: Artifacts, content: bytes = b"{}", name: str = NAME) -> None:
    artifacts.create(name, content, "application/json", {"run": "r1"})


def test_where_an_object_would_lie_is_known_without_asking(artifacts: Artifacts) -> None:
    assert artifacts.uri("a/b c") == "gs://artifacts/a/b c"


def test_an_object_that_is_not_there_is_none(artifacts: Artifacts) -> None:
    assert artifacts.find(NAME) is None


@pytest.mark.parametrize("content", [b"", b"{}", bytes(range(256)) * 40], ids=["empty", "short", "odd"])
def test_an_object_is_found_and_read_as_it_was_created(artifacts: Artifacts, content: bytes) -> None:
    made = artifacts.create(NAME, content, "application/json", {"run": "r1", "outputs": '{"ü":"1"}'})
    assert made == artifacts.find(NAME)
    assert (made.name, made.uri) == (NAME, f"gs://artifacts/{NAME}")
    assert made.metadata == {"run": "r1", "outputs": '{"ü":"1"}'}
    assert artifacts.read(made.uri) == content


def test_an_object_is_created_once(artifacts: Artifacts) -> None:
    create(artifacts, b"first")
    with pytest.raises(ObjectExists):
        create(artifacts, b"second")
    assert artifacts.read(artifacts.uri(NAME)) == b"first"


@pytest.mark.parametrize("in_pieces", [False, True])
def test_of_many_creators_one_wins(artifacts: Artifacts, in_pieces: bool) -> None:
    def attempt(number: int) -> bytes:
        content = b"%d" % number
        try:
            artifacts.create(NAME, iter([content]) if in_pieces else content, "text/plain", {})
        except ObjectExists:
            return b""
        return content

    with ThreadPoolExecutor(8) as creators:
        winners = list(filter(None, creators.map(attempt, range(8))))
    assert len(winners) == 1
    assert artifacts.read(artifacts.uri(NAME)) == winners[0]


@pytest.mark.parametrize(
    "pieces",
    [[], [b""], [b"a", b"", b"bc"], [b"x" * (4 * MIB)], [bytes([n]) * MIB for n in range(9)]],
    ids=["none", "empty", "small", "exactly one", "nine MiB"],
)
def test_content_may_come_in_pieces(artifacts: Artifacts, pieces: list[bytes]) -> None:
    made = artifacts.create(NAME, iter(pieces), "text/csv", {"run": "r1"})
    assert made.metadata == {"run": "r1"}
    assert artifacts.read(made.uri) == b"".join(pieces)


def test_content_in_pieces_is_created_once_too(artifacts: Artifacts) -> None:
    create(artifacts, b"first")
    with pytest.raises(ObjectExists):
        artifacts.create(NAME, iter([b"second"]), "text/plain", {})
    assert artifacts.read(artifacts.uri(NAME)) == b"first"


@pytest.mark.parametrize("size", [1, 5 * MIB], ids=["small", "several requests"])
def test_pieces_that_end_in_an_error_leave_nothing_behind(artifacts: Artifacts, size: int) -> None:
    def breaking() -> Iterator[bytes]:
        yield b"x" * size
        yield b"y" * size
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError, match="the source is gone"):
        artifacts.create(NAME, breaking(), "text/plain", {})
    assert artifacts.find(NAME) is None
    create(artifacts)


def test_an_object_can_say_more_of_itself_later(artifacts: Artifacts) -> None:
    create(artifacts, b"text")
    told = artifacts.annotate(NAME, {"sha256": "abc"})
    assert told.metadata == {"run": "r1", "sha256": "abc"}
    assert artifacts.find(NAME) == told
    assert artifacts.read(told.uri) == b"text"


def test_what_is_gone_cannot_say_more(artifacts: Artifacts) -> None:
    with pytest.raises(StepFailed) as refused:
        artifacts.annotate(NAME, {"sha256": "abc"})
    assert (refused.value.error.code, refused.value.error.retryable) == (Code.GCS_WRITE_FAILED, False)


def test_what_is_not_there_cannot_be_read(artifacts: Artifacts) -> None:
    with pytest.raises(DataNotFoundError) as missing:
        artifacts.read("gs://artifacts/none")
    assert missing.value.error.code == Code.INVALID_STEP_INPUTS
    assert "gs://artifacts/none" in missing.value.error.message


@pytest.mark.parametrize("uri", ["gs://artifacts-of-others/a", "gs://ARTIFACTS/a", "gs://artifacts.example/a"])
def test_a_bucket_of_others_is_not_read(artifacts: Artifacts, uri: str) -> None:
    with pytest.raises(ValidationError) as refused:
        artifacts.read(uri)
    assert refused.value.error.code == Code.INVALID_STEP_INPUTS
    assert refused.value.error.details == {"reason": "bucket_not_allowed"}
    assert uri in refused.value.error.message


@pytest.mark.parametrize(
    "uri", ["", "none", "gs://", "gs://artifacts", "gs://artifacts/", "http://artifacts/a", "/etc"]
)
def test_what_is_no_address_cannot_be_read(artifacts: Artifacts, uri: str) -> None:
    with pytest.raises(DataNotFoundError):
        artifacts.read(uri)
