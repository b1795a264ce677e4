"""Memory does not grow with the candles: what a large export takes at most is what a small one takes, and buffers."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from pyarrow import csv, parquet

from emulator.bigquery import BigQueryServer
from flowcore.testing.builders import RUN_ID
from flowcore.testing.world import T0
from tests.functions.system import BUCKET, System
from tests.ports.candles.rows import FIELDS, MOMENT, Row, a_row

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells the peak of a process")

SMALL = 10_000
BUFFERS = 48 * 1024  # KiB; two hundred thousand candles alone would be twice that, and a million ten times
MINUTES = "1"


def peak(count: int, inputs: Mapping[str, str], environ: Mapping[str, str]) -> int:
    """Of a process that exports that many candles."""
    asked = json.dumps({"symbol": "BTCUSDT", "exportMode": "all", **inputs})
    done = subprocess.run(
        [sys.executable, "-m", "tests.functions.ohlcv.measured", asked, MINUTES],
        env={**os.environ, **environ},
        capture_output=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    told = json.loads(done.stdout)
    assert told["step"]["status"] == "SUCCEEDED", told["step"]
    assert told["step"]["outputs"]["candles"]["count"] == count
    return int(told["peak"])


def forget(system: System) -> None:
    system.bucket.blob(f"runs/{RUN_ID}/ohlcv/{MINUTES}.json").delete()


def table(count: int) -> pa.Table:
    """That many minutes before the run."""
    began = int((T0 - timedelta(minutes=count)).timestamp())
    figures = np.round(np.random.default_rng(1).random((5, count)) * 100, 2)
    return pa.table(
        {
            "timestamp": pa.array((began + 60 * np.arange(count)) * 1_000_000, MOMENT),
            "symbol": pa.repeat("BTCUSDT", count),
            "timeframe": pa.repeat(MINUTES, count),
            **dict(zip(("open", "high", "low", "close", "volume"), figures, strict=True)),
        }
    )


def as_csv(content: pa.Table, file: io.BytesIO) -> str:
    csv.write_csv(content, file)
    return "candles.csv"


def as_parquet(content: pa.Table, file: io.BytesIO) -> str:
    parquet.write_table(content, file, row_group_size=50_000)
    return "candles.parquet"


@pytest.mark.parametrize(
    ("write", "large"),
    [
        pytest.param(as_parquet, 200_000, id="parquet"),
        pytest.param(as_parquet, 1_000_000, id="parquet, a million", marks=pytest.mark.long),
        pytest.param(as_csv, 1_000_000, id="csv, a million", marks=pytest.mark.long),
    ],
)
def test_memory_stays_flat_from_files(system: System, write: Callable[[pa.Table, io.BytesIO], str], large: int) -> None:
    peaks = []
    for count in (SMALL, large):
        content = io.BytesIO()
        name = write(table(count), content)
        uri = system.put_object(f"uploads/{count}-{name}", content.getvalue(), "application/octet-stream")
        peaks.append(peak(count, {"source": "file", "file": uri}, {"ARTIFACTS_BUCKET": BUCKET}))
        forget(system)
    assert peaks[1] < peaks[0] + BUFFERS, peaks


@pytest.mark.long
def test_memory_stays_flat_from_bigquery(system: System) -> None:
    peaks = []
    for count in (SMALL, 1_000_000):
        with BigQueryServer() as server:
            server.create_table("test.candles", FIELDS)
            server.load("test.candles", minutes(count))
            environ = {
                "BIGQUERY_EMULATOR_HOST": server.url,
                "CANDLES_TABLE": "test.candles",
                "ARTIFACTS_BUCKET": BUCKET,
            }
            peaks.append(peak(count, {"source": "bigquery"}, environ))
        forget(system)
    assert peaks[1] < peaks[0] + BUFFERS, peaks


def minutes(count: int) -> Iterator[Row]:
    for minute in range(count):
        yield a_row(0, float(minute % 97), timestamp=T0 - timedelta(minutes=count - minute), timeframe=MINUTES)
