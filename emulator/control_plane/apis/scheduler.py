"""Cloud Scheduler: jobs that really call their targets, at their hours or when somebody says `run`."""

import base64
import datetime as dt
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import Final

from emulator.control_plane.collection import Collection, State
from emulator.control_plane.cron import Cron
from emulator.control_plane.errors import Refused, invalid
from emulator.control_plane.members import account
from emulator.control_plane.resources import Json, Name, timestamp
from emulator.control_plane.routing import Asked, GoogleApi, Route

API: Final = "cloudscheduler"
DEADLINE: Final = "180s"  # for one attempt, unless the job says otherwise


class Jobs(Collection):
    """Each enabled job has a timer for the next moment at which it is due."""

    def __init__(self, state: State) -> None:
        super().__init__(state, API, "projects/*/locations/*/jobs/*", times=())
        self._timers: dict[Name, threading.Timer] = {}
        self._lock = threading.Lock()

    def check(self, _: Name, content: Json) -> None:
        Cron.parse(str(content.get("schedule", "")), str(content.get("timeZone", "")))
        target = content.get("httpTarget")
        if not target or not str(target.get("uri", "")).startswith(("http://", "https://")):
            raise invalid("Job.target: httpTarget.uri must begin with http:// or https://.")
        email = target.get("oidcToken", {}).get("serviceAccountEmail")
        if email and self._state.resources.find(account(email)) is None:
            raise Refused(404, f"Service account {email} does not exist.")

    def complete(self, name: Name, wish: Json) -> Json:
        own = {"state": "ENABLED", "userUpdateTime": self._state.now()}
        defaults = {"timeZone": "Etc/UTC", "attemptDeadline": DEADLINE}
        return {**defaults, **super().complete(name, wish), **own}

    def begun(self, name: Name, _: Json | None, __: Json | None) -> None:
        self._wind(name)

    def run(self, asked: Asked) -> Json:
        name = Name(API, asked.name)
        job = self._state.resources.get(name)
        threading.Thread(target=self._call, args=(name, self._state.clock()), daemon=True).start()
        return job

    def pause(self, asked: Asked) -> Json:
        return self._set_state(asked.name, "PAUSED")

    def resume(self, asked: Asked) -> Json:
        return self._set_state(asked.name, "ENABLED")

    def stop(self) -> None:
        with self._lock:
            for timer in self._timers.values():
                timer.cancel()
            self._timers.clear()

    def _set_state(self, path: str, state: str) -> Json:
        name = Name(API, path)
        job = self._state.resources.change(name, lambda job: job | {"state": state})
        self._wind(name)
        return job

    def _wind(self, name: Name) -> None:
        job = self._state.resources.find(name)
        with self._lock:
            if old := self._timers.pop(name, None):
                old.cancel()
            if job is None or job["state"] != "ENABLED":
                return
            now = self._state.clock()
            due = Cron.parse(job["schedule"], job["timeZone"]).after(dt.datetime.fromtimestamp(now, dt.UTC)).timestamp()
            timer = threading.Timer(due - now, self._ring, (name, due))
            timer.daemon = True
            self._timers[name] = timer
            timer.start()

    def _ring(self, name: Name, due: float) -> None:
        self._wind(name)
        self._call(name, due)

    def _call(self, name: Name, due: float) -> None:
        job = self._state.resources.find(name)
        if job is None:
            return
        outcome = _called(name.id, job, timestamp(due))
        self._state.tell(f"{name.id}: {outcome or 'done'}")


def _called(name: str, job: Json, meant: str) -> str | None:
    """What went wrong, if something did."""
    target = job["httpTarget"]
    headers = {
        **target.get("headers", {}),
        "X-CloudScheduler": "true",
        "X-CloudScheduler-JobName": name,
        "X-CloudScheduler-ScheduleTime": meant,
        "User-Agent": "Google-Cloud-Scheduler",
    }
    if oidc := target.get("oidcToken"):
        headers["Authorization"] = f"Bearer {identity_token(oidc['serviceAccountEmail'], oidc.get('audience', ''))}"
    request = urllib.request.Request(  # noqa: S310 - its scheme was checked when the job was made
        target["uri"],
        data=base64.b64decode(target.get("body", "")),
        headers=headers,
        method=target.get("httpMethod", "POST"),
    )
    patience = float(job["attemptDeadline"].removesuffix("s"))
    try:
        with urllib.request.urlopen(request, timeout=patience) as answer:  # noqa: S310
            answer.read()
    except urllib.error.HTTPError as refused:
        return f"answered {refused.code}"
    except (OSError, HTTPException) as failure:
        return f"no answer ({type(failure).__name__})"
    return None


def identity_token(email: str, audience: str) -> str:
    """A token that says who calls; nobody has signed it, and here nobody asks."""
    parts = ({"alg": "none", "typ": "JWT"}, {"email": email, "email_verified": True, "aud": audience})
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


def caller(authorization: str) -> str | None:
    """The account that such a token names; None for a token of another kind."""
    try:
        middle = authorization.removeprefix("Bearer ").split(".")[1]
        return str(json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))["email"])
    except (IndexError, KeyError, ValueError):
        return None


def scheduler(jobs: Jobs) -> GoogleApi:
    one = "projects/*/locations/*/jobs/*"
    verbs: dict[str, Callable[[Asked], Json]] = {"run": jobs.run, "pause": jobs.pause, "resume": jobs.resume}
    return GoogleApi(
        API,
        [Route("POST", f"{one}:{verb}", f"jobs.{verb}", run) for verb, run in verbs.items()],
        jobs.routes(),
        host="cloudscheduler.googleapis.com",
    )
