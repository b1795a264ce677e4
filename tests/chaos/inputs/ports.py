"""Random bytes to every port of the platform: whoever plays with it must not be able to end it.

Some of what is sent is noise, some is HTTP up to a point, some is in order but for its content. Afterwards everybody is
still there, answers a normal question, and has not grown.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest
import requests
from google.cloud import firestore

from emulator.platform import Platform
from flowcore.cli.project import functions
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.noise import noise

NAME: Final = "random bytes to every port"
PATIENCE: Final = 5.0  # seconds for one answer, on a slow machine
EVERY: Final = 500  # requests; then everybody is asked something normal
_KEY: Final = {"x-goog-api-key": "local-key"}
GROWTH: Final = 200 * 2**20  # bytes that the platform may have grown by in the end


# --- the platform -------------------------------------------------------------------------------------------


def addresses(platform: Platform) -> dict[str, tuple[str, int]]:
    urls = {name: getattr(platform, name).url for name in ("storage", "gemini", "bigquery", "chart_img", "eventarc")}
    urls |= {"firestore": f"http://{platform.firestore.host}", "functions": platform.url_of("start_flow")}
    places = {name: urlsplit(url) for name, url in urls.items()}
    return {name: (str(place.hostname), int(place.port or 0)) for name, place in places.items()}


def said_to(address: tuple[str, int], content: bytes) -> bytes:
    """What came back; nothing when the other side hung up."""
    answer = b""
    with suppress(ConnectionError), socket.create_connection(address, PATIENCE) as line:
        line.sendall(content)
        with suppress(OSError):  # it has hung up already
            line.shutdown(socket.SHUT_WR)
        while len(answer) < 65_536 and (more := line.recv(65_536)):
            answer += more
    return answer


def well(platform: Platform, client: firestore.Client, number: int) -> Iterator[str]:
    """A normal question to each."""
    document = client.document("health/check")
    questions: Mapping[str, Callable[[], bool]] = {
        "firestore": lambda: bool(document.set({"n": number})) and document.get().to_dict() == {"n": number},
        "firestore by HTTP": lambda: requests.get(f"http://{platform.firestore.host}", timeout=PATIENCE).ok,
        "storage": lambda: requests.get(f"{platform.storage.url}/storage/v1/b?project=p", timeout=PATIENCE).ok,
        "gemini": lambda: requests.post(
            f"{platform.gemini.url}/v1/models/gemini-3.8-flash:generateContent",
            json={"contents": [{"parts": [{"text": "hello"}]}]}, headers=_KEY, timeout=PATIENCE,
        ).ok,
        "bigquery": lambda: requests.post(
            f"{platform.bigquery.url}/bigquery/v2/projects/p/queries",
            json={"query": "SELECT 1", "useLegacySql": False}, timeout=PATIENCE,
        ).ok,
        "chart_img": lambda: requests.get(f"{platform.chart_img.url}/__calls", timeout=PATIENCE).ok,
        "eventarc": lambda: requests.get(f"{platform.eventarc.url}/__events", timeout=PATIENCE).ok,
        "functions": lambda: requests.post(platform.url_of("sweep"), timeout=PATIENCE).ok,
    }  # fmt: skip
    for service, asked in questions.items():
        try:
            if not asked():
                yield f"after {number} requests {service} refuses a normal one"
        except Exception as exc:  # noqa: BLE001 - whatever it is: it did not answer
            yield f"after {number} requests {service} does not answer: {type(exc).__name__}"


def resident() -> int:
    """Bytes of this process, in which the platform lives."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def run(order: Order) -> Outcome:
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    violations: list[str] = []
    done, progress = 0, Progress(NAME, order.cases)
    with Platform(functions=functions(), single_process=True) as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        client = firestore.Client()
        ports = addresses(platform)
        names = sorted(ports)
        before, processes = 0, {name: process.pid for name, process in platform.functions.items()}
        while done < order.cases and not order.time_is_up:
            seed = f"{order.seed}/{done}"
            service = names[done % len(names)]
            done += 1
            progress.tell(done, len(violations))
            try:
                answer = said_to(ports[service], noise(Hostile(seed), service))
            except TimeoutError:
                violations.append(f"{NAME} {seed}: {service} keeps its caller waiting")
                continue
            if b"a bug here" in answer:
                violations.append(f"{NAME} {seed}: {service}: {answer[answer.find(b'a bug here') :][:120]!r}")
            if done % EVERY == 0:
                platform.faults.clear()  # some of the noise may have planned one
                violations += [f"{NAME} {order.seed}: {broken}" for broken in well(platform, client, done)]
                before = before or resident()
        platform.faults.clear()
        violations += [f"{NAME} {order.seed}: {broken}" for broken in well(platform, client, done)]
        if before and resident() - before > GROWTH:
            violations.append(f"{NAME} {order.seed}: the platform grew by {(resident() - before) // 2**20} MiB")
        if any(process.pid != processes[name] for name, process in platform.functions.items()):
            violations.append(f"{NAME} {order.seed}: a function's process ended")
    return Outcome(NAME, done, done, tuple(violations))


BATTERIES = (Battery(NAME, 10_000, 2.0, run),)
