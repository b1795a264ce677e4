"""Cloud Scheduler: calls HTTP functions at fixed intervals, and says who it is and for which moment it calls."""

import datetime as dt
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from typing import Final

_PATIENCE: Final = 300.0  # seconds for one call


@dataclass(frozen=True, slots=True)
class Job:
    """`every` in seconds. A call that takes longer than that is followed by the next one at once, never by several."""

    name: str
    url: str
    every: float


class Scheduler:
    """Alive between `start` and `stop`. Each job has a thread of its own: none waits for another."""

    def __init__(self, jobs: Sequence[Job], tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=(job,), name=f"scheduler-{job.name}", daemon=True)
            for job in jobs
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Calls under way are left to themselves: their functions end next."""
        self._ended.set()

    def _repeat(self, job: Job) -> None:
        due = time.time() + job.every
        while not self._ended.wait(max(0.0, due - time.time())):
            meant, due = due, following(due, job.every, now=time.time())
            failure = _call(job, dt.datetime.fromtimestamp(meant, dt.UTC))
            if failure and not self._ended.is_set():
                self._tell(f"{job.name}: {failure}")


def following(due: float, every: float, now: float) -> float:
    """The next moment of the job after one that was due, seen now: what was missed meanwhile stays so."""
    return due + every * (1 + max(0.0, (now - due) // every))


def _call(job: Job, meant: dt.datetime) -> str | None:
    """What went wrong, if something did."""
    headers = {
        "X-CloudScheduler": "true",
        "X-CloudScheduler-JobName": job.name,
        "X-CloudScheduler-ScheduleTime": meant.isoformat().replace("+00:00", "Z"),
        "User-Agent": "Google-Cloud-Scheduler",
    }
    request = urllib.request.Request(job.url, data=b"", headers=headers, method="POST")  # noqa: S310 - our own function
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
            answer.read()
    except urllib.error.HTTPError as refused:
        return f"answered {refused.code}"
    except (OSError, HTTPException) as failure:
        return f"no answer ({type(failure).__name__})"
    return None
