"""What a process is made of is made once, however many requests come first."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from unittest.mock import MagicMock

import pytest
from google.cloud import firestore, storage

from flowcore import runtime
from tests.functions.system import forget_wiring


@pytest.fixture(autouse=True)
def _nothing_made(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ARTIFACTS_BUCKET", "artifacts")
    forget_wiring()
    yield
    forget_wiring()


@pytest.mark.parametrize(
    ("library", "ask"),
    [(firestore, runtime.runs), (storage, runtime.artifacts)],
    ids=["firestore", "storage"],
)
def test_two_first_requests_share_one_client(
    monkeypatch: pytest.MonkeyPatch, library: Any, ask: Callable[[], object]
) -> None:
    another = threading.Barrier(2)
    made: list[object] = []

    def client(**_: object) -> object:
        """Whoever makes one waits a moment for the other: they meet unless one of them was held back."""
        made.append(MagicMock())
        with suppress(threading.BrokenBarrierError):
            another.wait(0.5)
        return made[-1]

    monkeypatch.setattr(library, "Client", client)
    with ThreadPoolExecutor(2) as requests:
        first, second = requests.submit(ask), requests.submit(ask)
    assert len(made) == 1
    assert first.result() is second.result()
