"""The faults, the counters and the history by HTTP, for a test in another process or another language.

    GET    /__faults          what is planned, and how often each has fired
    POST   /__faults          {"service": "storage", "method": "objects.insert", "resource": "b/*", "times": 2,
                               "action": {"status": 429, "retryAfter": 1.5}}        plans one
    DELETE /__faults[/ID]     forgets them all, or one
    GET    /__calls           the counters; DELETE sets them to zero
    GET    /__history?since=N&limit=M&wait=SECONDS        records after N; DELETE forgets the kept ones

An action is a word or an object with one of them as its key: "drop", "drop_after", "refuse", "kill", {"delay": 0.5},
{"hang": 30}, {"kill": true, "applied": true}, {"status": 503, "message": "…", "retryAfter": 2, "applied": true},
{"shape": "truncated_json"}, {"limitWrites": 1, "burst": 5}; next to "delay", "status", "drop", "refuse" or "kill" is
what happens after it.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from emulator.faults.actions import Fault, Status, delay, drop, drop_after, hang, kill, refuse, shape, status
from emulator.faults.book import Faults, Handle

WORDS: Final = {"drop": drop, "drop_after": drop_after, "refuse": refuse}
WHERE: Final = ("service", "method", "resource")
HOW: Final = ("times", "skip", "probability", "seed")


class Answer(NamedTuple):
    """A status and a JSON value, for whichever server mounted this."""

    status: int
    value: Any


def mounted(path: str) -> bool:
    """Whether the path belongs to this face and not to the service that carries it."""
    return path.startswith("/") and path.split("/")[1] in {"__faults", "__calls", "__history"}


def answer(faults: Faults, method: str, path: str, query: Mapping[str, str], body: bytes) -> Answer:
    """What the face says to one request; a mistake in it is answered with words."""
    try:
        return _answer(faults, method, path, query, body)
    except (TypeError, ValueError) as error:
        return Answer(400, {"error": str(error)})


def _answer(faults: Faults, method: str, path: str, query: Mapping[str, str], body: bytes) -> Answer:
    match method, *path.strip("/").split("/"):
        case "GET", "__faults":
            return Answer(200, {"faults": [_told(handle) for handle in faults.planned]})
        case "POST", "__faults":
            return Answer(200, _told(_planned(faults, json.loads(body))))
        case "DELETE", "__faults":
            faults.clear()
            return Answer(200, {})
        case "DELETE", "__faults", identity:
            found = faults.remove(identity)
            return Answer(200, {}) if found else Answer(404, {"error": f"no fault {identity!r} is planned"})
        case "GET", "__calls":
            return Answer(200, {"calls": [{**call._asdict(), "count": count} for call, count in faults.calls.items()]})
        case "DELETE", "__calls":
            faults.calls.clear()
            return Answer(200, {})
        case "GET", "__history":
            return Answer(200, _history(faults, query))
        case "DELETE", "__history":
            faults.history.clear()
            return Answer(200, {})
    return Answer(404, {"error": f"{method} {path}: see emulator/faults/http.py for what there is"})


def _history(faults: Faults, query: Mapping[str, str]) -> dict[str, Any]:
    limit = int(query["limit"]) if "limit" in query else None
    page = faults.history.since(int(query.get("since", 0)), limit=limit, wait=float(query.get("wait", 0)))
    return {"records": [record.as_json() for record in page.records], "next": page.next, "dropped": page.dropped}


def _planned(faults: Faults, wish: Any) -> Handle:
    if not isinstance(wish, dict):
        raise ValueError(f"a fault is an object, not {json.dumps(wish)}")
    if unknown := set(wish) - {"action", *WHERE, *HOW}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}; a fault has action, {', '.join(WHERE + HOW)}")
    if "action" not in wish:
        raise ValueError("a fault needs an action; see emulator/faults/http.py for what there is")
    if odd := [name for name in HOW if isinstance(wish.get(name), str)]:
        raise ValueError(", ".join(f"{name}: {wish[name]!r} is not a number" for name in odd))
    action = wish["action"]
    if isinstance(action, dict) and "limitWrites" in action:
        return faults.limit_writes(
            float(action["limitWrites"]), burst=float(action.get("burst", 1)), resource=wish.get("resource", "*")
        )
    return faults.add(action=action_from(action), **{name: wish[name] for name in WHERE + HOW if name in wish})


def action_from(wish: Any) -> Fault:
    """The action that a JSON value names."""
    told: dict[str, Any] = wish if isinstance(wish, dict) else {str(wish): True}
    applied = bool(told.get("applied"))
    match told:
        case {"delay": seconds}:
            rest = {name: value for name, value in told.items() if name != "delay"}
            return delay(float(seconds), action_from(rest) if rest else None)
        case {"hang": seconds}:
            return hang(float(seconds), applied=applied)
        case {"kill": True}:
            return kill(applied=applied)
        case {"status": code}:
            wait = float(told["retryAfter"]) if "retryAfter" in told else None
            return status(code, told.get("message"), retry_after=wait, applied=applied)
        case {"shape": str(name)}:
            return shape(name, float(told.get("seconds", 0)))
        case {"drop": True} | {"drop_after": True} | {"refuse": True}:
            return WORDS[next(iter(told))]()
    raise ValueError(f"no action is called {json.dumps(wish)}; see emulator/faults/http.py for what there is")


def _told(handle: Handle) -> dict[str, Any]:
    return {
        "id": handle.id,
        **handle.pattern._asdict(),
        "action": _action_told(handle.action),
        "times": handle.times,
        "fired": handle.fired,
    }


def _action_told(fault: Fault) -> dict[str, Any]:
    told: dict[str, Any] = {"when": fault.when}
    if fault.wait:
        told["wait"] = fault.wait
    if fault.shape:
        told["shape"] = fault.shape
    if isinstance(fault.end, Status):
        told |= {"status": fault.end.code, "name": fault.end.name, "message": fault.end.message}
        told |= {"retryAfter": fault.end.retry_after} if fault.end.retry_after is not None else {}
    elif fault.end:
        told["end"] = fault.end
    return told
