"""Cloud Scheduler: each job calls its function again and again, whatever became of the last call."""

import datetime as dt
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emulator.platform import Function, Platform, Schedule
from emulator.scheduler import Job, Scheduler, following
from emulator.web import Reply, Request, Server
from tests.emulator.eventarc.receiver import eventually

SOON = 0.02


class Called:
    """A function that keeps each request, and answers with a status, when it may."""

    def __init__(self, status: int = 200) -> None:
        self.requests: list[Request] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self._status = status
        self._server = Server(self._answer).start()
        self.url = self._server.url
        self.stop = self._server.stop

    def _answer(self, request: Request) -> Reply:
        self.requests.append(request)
        self.may_answer.wait()
        return Reply(self._status)


@pytest.fixture
def function() -> Iterator[Callable[..., Called]]:
    made: list[Called] = []

    def make(status: int = 200) -> Called:
        made.append(Called(status))
        return made[-1]

    yield make
    for called in made:
        called.may_answer.set()
        called.stop()


@pytest.fixture
def told() -> list[str]:
    """What a scheduler had to say."""
    return []


@pytest.fixture
def scheduled(told: list[str]) -> Iterator[Callable[..., Scheduler]]:
    alive: list[Scheduler] = []

    def start(*jobs: Job) -> Scheduler:
        scheduler = Scheduler(jobs, told.append)
        alive.append(scheduler)
        scheduler.start()
        return scheduler

    yield start
    for scheduler in alive:
        scheduler.stop()


Make = Callable[..., Called]
Start = Callable[..., Scheduler]


def test_a_job_calls_again_and_again_and_says_who_it_is(function: Make, scheduled: Start) -> None:
    sweep, before = function(), dt.datetime.now(dt.UTC)
    scheduled(Job("sweep-often", f"{sweep.url}/?every_run=true", SOON))
    assert eventually(lambda: len(sweep.requests) >= 3)
    first = sweep.requests[0]
    assert (first.method, first.query, first.body) == ("POST", {"every_run": "true"}, b"")
    assert first.headers["X-CloudScheduler"] == "true"
    assert first.headers["X-CloudScheduler-JobName"] == "sweep-often"
    assert first.headers["User-Agent"] == "Google-Cloud-Scheduler"
    meant = dt.datetime.fromisoformat(first.headers["X-CloudScheduler-ScheduleTime"])
    assert before <= meant <= dt.datetime.now(dt.UTC)


def test_a_late_call_names_the_moment_that_it_was_meant_for(function: Make, scheduled: Start) -> None:
    sweep = function()
    sweep.may_answer.clear()
    scheduled(Job("sweep", sweep.url, SOON))
    assert eventually(lambda: len(sweep.requests) == 1)
    time.sleep(5 * SOON)  # the time in which the next calls would have been due
    released = dt.datetime.now(dt.UTC)
    sweep.may_answer.set()
    assert eventually(lambda: len(sweep.requests) >= 2)
    first, second = (
        dt.datetime.fromisoformat(request.headers["X-CloudScheduler-ScheduleTime"]) for request in sweep.requests[:2]
    )
    assert first < second < released


@pytest.mark.parametrize(
    ("now", "next_due"),
    [(10.0, 20.0), (10.1, 20.0), (19.9, 20.0), (20.0, 30.0), (35.0, 40.0)],
    ids=["in time", "a little late", "very late", "one was missed", "two were missed"],
)
def test_what_was_missed_is_not_made_up_for(now: float, next_due: float) -> None:
    assert following(10.0, every=10.0, now=now) == next_due


def test_a_failure_is_told_and_the_job_goes_on(function: Make, scheduled: Start, told: list[str]) -> None:
    sweep = function(status=500)
    scheduled(Job("sweep", sweep.url, SOON))
    assert eventually(lambda: len(sweep.requests) >= 2)
    assert told[0] == "sweep: answered 500"


def test_nonsense_is_told_and_the_job_goes_on(scheduled: Start, told: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        scheduler = scheduled(Job("sweep", f"http://127.0.0.1:{nobody.getsockname()[1]}", SOON))
        for _ in range(2):
            caller, _ = nobody.accept()
            with caller:
                caller.recv(4096)
                caller.sendall(b"what?\r\n\r\n")
        scheduler.stop()
    assert told[0] == "sweep: no answer (BadStatusLine)"


def test_an_absent_function_is_told(scheduled: Start, told: list[str]) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        scheduled(Job("sweep", f"http://127.0.0.1:{nobody.getsockname()[1]}", SOON))
        assert eventually(lambda: len(told) >= 2)
    assert told[0] == "sweep: no answer (URLError)"


def test_no_job_waits_for_another(function: Make, scheduled: Start) -> None:
    slow, quick = function(), function()
    slow.may_answer.clear()
    scheduled(Job("slow", slow.url, SOON), Job("quick", quick.url, SOON))
    assert eventually(lambda: len(slow.requests) == 1 and len(quick.requests) >= 3)
    assert len(slow.requests) == 1


def test_what_ends_after_the_scheduler_is_nobodys_business(function: Make, scheduled: Start, told: list[str]) -> None:
    sweep = function(status=500)
    sweep.may_answer.clear()
    scheduler = scheduled(Job("sweep", sweep.url, SOON))
    assert eventually(lambda: len(sweep.requests) == 1)
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "scheduler-sweep")
    scheduler.stop()
    sweep.may_answer.set()
    thread.join(5)
    assert not thread.is_alive()
    assert told == []


FUNCTION = """
import functions_framework

@functions_framework.http
def sweep(request):
    print("asked with", request.query_string.decode())
    return "done"
"""


def test_the_platform_calls_the_functions_that_have_a_schedule(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(FUNCTION)
    function = Function("sweep", tmp_path, "sweep", schedules=[Schedule(SOON), Schedule(SOON, "every_run=true")])
    with Platform(functions=[function]) as platform:
        for line in ("asked with ", "asked with every_run=true"):
            assert eventually(lambda line=line: line.rstrip() in platform.log.lines("sweep"))  # type: ignore[misc]
        assert platform.log.lines("scheduler") == []
