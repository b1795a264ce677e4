"""Random bytes to every port of the platform: whoever plays with it must not be able to end it.

Some of what is sent is noise, some is HTTP up to a point, some is in order but for its content. Afterwards everybody is
still there, answers a normal question, and has not grown.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import grpc
import pytest
import requests
from google.cloud import firestore

from emulator.platform import Platform
from flowcore.cli.project import functions
from tests.chaos.battery import Battery, Order, Outcome, Progress
from tests.chaos.inputs.drawing import cases, named
from tests.chaos.inputs.hostile import Hostile
from tests.chaos.inputs.messages import answered, message
from tests.chaos.inputs.noise import TOGETHER, noise

FIRESTORE: Final = "firestore"
NAME: Final = "random bytes to every port"
PATIENCE: Final = 5.0  # seconds for one answer, on a slow machine
EVERY: Final = 500  # requests; then everybody is asked something normal
_KEY: Final = {"x-goog-api-key": "local-key"}
_TAKEN: Final = re.compile(rb"HTTP/1\.[01] 2")  # it was in order, or passed for it: no fault
GROWTH: Final = 200 * 2**20  # bytes that the platform may have grown by in the end


# --- the platform -------------------------------------------------------------------------------------------


def addresses(platform: Platform) -> dict[str, tuple[str, int]]:
    """Every port there is, by who listens."""
    urls = {name: getattr(platform, name).url for name in ("storage", "gemini", "bigquery", "chart_img", "eventarc")}
    urls[FIRESTORE] = f"http://{platform.firestore.host}"
    of_functions = {name: platform.url_of(name) for name in platform.functions}
    together = len({process.pid for process in platform.functions.values()}) == 1
    urls |= {TOGETHER: platform.url_of("start_flow")} if together else of_functions
    places = {name: urlsplit(url) for name, url in urls.items()}
    return {name: (str(place.hostname), int(place.port or 0)) for name, place in places.items()}


def said_to(address: tuple[str, int], content: bytes) -> bytes:
    """What came back; nothing when the other side hung up. Nobody there is an error."""
    answer = b""
    with socket.create_connection(address, PATIENCE) as line, suppress(ConnectionError):
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
        **{name: partial(_function_answers, platform, name) for name in platform.functions},
    }  # fmt: skip
    for service, asked in questions.items():
        try:
            if not asked():
                yield f"after {number} requests {service} refuses a normal one"
        except Exception as exc:  # noqa: BLE001 - whatever it is: it did not answer
            yield f"after {number} requests {service} does not answer: {type(exc).__name__}"


def _function_answers(platform: Platform, name: str) -> bool:
    """With a reason, mostly: this is no event, and no flow is named."""
    answer = requests.post(platform.url_of(name), json={}, timeout=PATIENCE)
    return answer.ok if name == "sweep" else answer.status_code in (200, 400)


def resident() -> int:
    """Bytes of this process, in which the platform lives."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def family(pid: int) -> set[int]:
    """A process and all that have come from it: a server's workers die, and are replaced, without its own end."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended just now
        children = []
    return {pid}.union(*map(family, map(int, children)))


# --- the battery --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sent:
    """`call`: of Firestore, whose content is then a message in a good frame; else it is all that is sent."""

    service: str
    content: bytes
    call: str | None = None


def any_noise(hostile: Hostile, services: Sequence[str]) -> Sent:
    service = hostile.one(services)
    if service == FIRESTORE and hostile.likely(0.5):
        call, content = message(hostile)
        return Sent(service, content, call)
    return Sent(service, noise(hostile, service))


@dataclass(frozen=True)
class Lines:
    """To every port."""

    ports: Mapping[str, tuple[str, int]]
    channel: grpc.Channel

    def taken(self, sent: Sent) -> bool:
        """Whether it passed for something in order. Nobody there is an OSError, a crash an AssertionError."""
        if sent.call:
            return answered(self.channel, sent.call, sent.content, PATIENCE) is grpc.StatusCode.OK
        answer = said_to(self.ports[sent.service], sent.content)
        found = answer.find(b"a bug here")
        assert found < 0, repr(answer[found:][:120])
        return bool(_TAKEN.match(answer))


def run(order: Order, *, single_process: bool = False) -> Outcome:
    with a_platform(single_process=single_process) as platform:
        return _sent(platform, order)


def again(name: str) -> Iterator[str]:
    """One case alone, and what everybody says afterwards."""
    with a_platform(single_process=False) as platform:
        ports = addresses(platform)
        sent = named(partial(any_noise, services=sorted(ports)), name).value
        yield str(sent)
        try:
            Lines(ports, grpc.insecure_channel(platform.firestore.host)).taken(sent)
        except (OSError, AssertionError) as exc:
            yield f"{type(exc).__name__}: {exc}"
        yield from well(platform, firestore.Client(), 1)


@contextmanager
def a_platform(*, single_process: bool) -> Iterator[Platform]:
    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    hosted = Platform(functions=functions(), single_process=single_process)
    with hosted as platform, pytest.MonkeyPatch.context() as patch:
        for name, value in platform.exports.items():
            patch.setenv(name, value)
        yield platform


def _sent(platform: Platform, order: Order) -> Outcome:
    client, ports = firestore.Client(), addresses(platform)
    lines = Lines(ports, grpc.insecure_channel(platform.firestore.host))
    families = {name: family(process.pid) for name, process in platform.functions.items()}
    violations: list[str] = []
    done = odd = before = 0
    progress = Progress(NAME, order.cases)

    def asked_something_normal() -> None:
        platform.faults.clear()  # some of the noise may have planned one
        violations.extend(f"{NAME} {order.seed}: {broken}" for broken in well(platform, client, done))

    for case in itertools.chain.from_iterable(
        cases(partial(any_noise, services=sorted(ports)), order.seed, order.cases)
    ):
        if done == order.cases or order.time_is_up:
            break
        done += 1
        try:
            odd += not lines.taken(case.value)
        except (OSError, AssertionError) as exc:
            violations.append(f"{NAME} {case.name}: {type(exc).__name__}: {exc!s:.200}: {case.value!r:.300}")
        if done % EVERY == 0:
            asked_something_normal()
            before = before or resident()
        progress.tell(done, len(violations))
    asked_something_normal()
    if before and resident() - before > GROWTH:
        violations.append(f"{NAME} {order.seed}: the platform grew by {(resident() - before) // 2**20} MiB")
    for name, process in platform.functions.items():
        if family(process.pid) != families[name]:
            violations.append(f"{NAME} {order.seed}: a process of {name} ended")
    lines.channel.close()
    return Outcome(NAME, done, odd, tuple(violations))


BATTERIES = (Battery(NAME, 10_000, 1.0, run),)
