"""A broken law as a story that can be read: what happened, and what each happening did to the document."""

from __future__ import annotations

from collections.abc import Iterator

from tests.explorer.search import Search, Violation
from tests.explorer.states import State


def told(search: Search, violation: Violation) -> str:
    lines = [f"{search.scenario.name}: {violation.law}", f"  (budget: {search.budget})"]
    before: State | None = None
    for number, (label, state) in enumerate(violation.trace):
        changes = "; ".join(_changes(search, before, state))
        lines.append(f"  {number:2}. {state.now:%H:%M:%S}  {': '.join(label)}{'  →  ' + changes if changes else ''}")
        before = state
    return "\n".join(lines)


def _changes(search: Search, before: State | None, after: State) -> Iterator[str]:
    old = _fields(search, before) if before else {}
    new = _fields(search, after)
    for path in sorted({*old, *new}):
        if old.get(path) != new.get(path):
            yield f"{path}={new.get(path, '(gone)')}"
    for name in after.objects:
        if before is None or name not in before.objects:
            yield f"object {name}"


def _fields(search: Search, state: State) -> dict[str, str]:
    """Short paths of what moves: `a.status`, `a.attempt`, `status`, `wakeAt`."""
    document = search.world.documents.raw(state.document)
    fields: dict[str, str] = {
        key: str(document[key]) for key in ("status", "wakeAt", "cancelRequested") if key in document
    }
    for name, step in document["steps"].items():
        for key in ("status", "attempt", "failures", "leaseLosses", "nudges", "notBefore"):
            if key in step:
                fields[f"{name}.{key}"] = str(step[key])
        if "lease" in step:
            fields[f"{name}.lease"] = str(step["lease"]["expiresAt"])
        if "error" in step:
            fields[f"{name}.error"] = str(step["error"]["code"])
    return fields
