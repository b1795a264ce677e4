"""Candles from files: in a bucket, or shipped with flowcore."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from emulator.faults import Fault, drop, shape, status
from flowcore.testing.builders import RUN_ID
from tests.functions.ohlcv.market import Market, Step, a_month
from tests.ports.candles.rows import a_row, as_csv, as_parquet

ContentOf = Callable[..., bytes]
BOTH = pytest.mark.parametrize(("name", "content_of"), [("c.csv", as_csv), ("c.parquet", as_parquet)])
SILENT = ("GCS_READ_FAILED", True)
INVALID = ("INVALID_STEP_INPUTS", False)


def exported(market: Market, uri: str, max_attempts: int = 1) -> Step:
    return market.export("1d", max_attempts=max_attempts, source="file", file=uri)


@BOTH
def test_a_file_in_a_bucket_is_exported_like_a_table(seeded: Market, name: str, content_of: ContentOf) -> None:
    rows = [a_row(0, close=1.0), a_row(1, close=None), a_row(1, close=2.0, exchange="BYBIT"), a_row(2, close=None)]
    uri = seeded.system.put_object(f"uploads/{name}", content_of([*rows, a_month(3)]))
    step = exported(seeded, uri)
    assert step["status"] == "SUCCEEDED"
    file = seeded.file("1d")
    assert [row["close"] for row in file["data"]] == [1.0, 2.0]
    assert (file["metadata"]["source"], file["metadata"]["file"], file["metadata"]["skipped"]) == ("file", uri, 1)
    assert seeded.queries == 0


@pytest.mark.parametrize("name", ["generated_btcusdt.csv", "generated_btcusdt.parquet"])
def test_a_packaged_file_needs_no_bucket(seeded: Market, name: str) -> None:
    step = seeded.export(source="file", file=name)
    assert step["status"] == "SUCCEEDED"
    assert step["outputs"]["candles"]["last"] == "2025-11-01T00:00:00Z", "December is not over when the run begins"
    assert seeded.system.calls("storage", "objects.get_media") == 0


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("gs://artifacts/uploads/none.csv", "does not exist"),
        ("gs://artifacts", "is not gs://bucket/object"),
        ("nothing.csv", "is no packaged file"),
        ("../../pyproject.toml", "is no packaged file"),
    ],
)
def test_a_file_that_is_not_there_is_named(seeded: Market, uri: str, words: str) -> None:
    step = exported(seeded, uri, max_attempts=3)
    assert (step["status"], step.error) == ("FAILED", INVALID)
    assert words in step["error"]["message"]


def in_another_bucket(market: Market) -> str:
    bucket = market.system.storage.create_bucket("somebody-elses")
    bucket.blob("c.csv").upload_from_string(as_csv([a_row(0)]))
    market.system.faults.calls.clear()
    return "gs://somebody-elses/c.csv"


def test_a_file_of_a_bucket_that_nobody_allowed_is_not_looked_at(seeded: Market) -> None:
    uri = in_another_bucket(seeded)
    step = exported(seeded, uri, max_attempts=3)
    assert (step["status"], step.error, step.reason) == ("FAILED", INVALID, "bucket_not_allowed")
    assert uri in step["error"]["message"]
    assert seeded.system.calls("storage", resource="somebody-elses*") == 0


def test_a_file_of_a_bucket_that_operators_allow_is_exported(seeded: Market) -> None:
    uri = in_another_bucket(seeded)
    with seeded.system.configured(READABLE_BUCKETS="archive, somebody-elses"):
        assert exported(seeded, uri)["status"] == "SUCCEEDED"


@BOTH
def test_a_file_without_the_candles_has_no_rows(seeded: Market, name: str, content_of: ContentOf) -> None:
    step = exported(seeded, seeded.system.put_object(f"uploads/{name}", content_of([a_month(1)])))
    assert (step["status"], step.error, step.reason) == ("FAILED", INVALID, "no_rows")


def test_a_file_of_something_else_is_refused(seeded: Market) -> None:
    step = exported(seeded, seeded.system.put_object("uploads/c.csv", b"a,b\n1,2\n"))
    assert (step["status"], step.error, step.reason) == ("FAILED", INVALID, "file_unreadable")


@pytest.mark.parametrize("method", ["objects.get", "objects.get_media"])
@BOTH
@pytest.mark.parametrize(
    "fault", [status(503), status(429), drop(), shape("truncated_body")], ids=["503", "429", "dropped", "cut off"]
)
def test_cloud_storage_may_be_away_for_a_moment(
    seeded: Market, name: str, content_of: ContentOf, method: str, fault: Fault
) -> None:
    uri = seeded.system.put_object(f"uploads/{name}", content_of([a_row(0)]))
    planned = seeded.system.faults.add(
        service="storage", method=method, resource=f"artifacts/uploads/{name}", action=fault, times=2
    )
    step = exported(seeded, uri)
    assert (step["status"], planned.fired) == ("SUCCEEDED", 2)


@BOTH
@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(status(503), (*SILENT, 5)), (status(403), ("GCS_READ_FAILED", False, 1))],
    ids=["503", "403"],
)
def test_cloud_storage_that_stays_away(
    seeded: Market, name: str, content_of: ContentOf, fault: Fault, outcome: tuple[str, bool, int]
) -> None:
    uri = seeded.system.put_object(f"uploads/{name}", content_of([a_row(0)]))
    planned = seeded.system.faults.add(
        service="storage", method="objects.get_media", resource=f"artifacts/uploads/{name}", action=fault
    )
    step = exported(seeded, uri)
    assert (step["status"], *step.error, planned.fired) == ("FAILED", *outcome)
    assert seeded.system.object(f"runs/{RUN_ID}/ohlcv/1d.json") is None
