"""Firestore: a database in the triggers' own place, closed to clients, and indexed for what is asked and no more.

An index costs a write for each change of its field, and an index on a field that only ever grows (a moment, written by
every run at once) ends at 500 writes a second. So the steps and the moments that no query asks for have none.
`deploy/firestore.indexes.json` lists them; what is asked for (`wakeAt`, `status`, `createdAt`) has the single-field
indexes that every database has by itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from deploy.commands import Refused, Step, Verdict, gcloud
from deploy.target import Target

INDEXES = Path(__file__).parent / "firestore.indexes.json"
RULES = Path(__file__).parent / "firestore.rules"


def database(target: Target) -> Step:
    return Step(
        f"the database {target.database} in {target.trigger_location}",
        gcloud(
            "firestore", "databases", "create", f"--database={target.database}",
            f"--location={target.trigger_location}", "--type=firestore-native", "--delete-protection",
            project=target.project,
        ),
        gcloud("firestore", "databases", "list", "--format=json", project=target.project),
        _right_place(target),
    )  # fmt: skip


def rules(target: Target) -> Step:
    """gcloud has no command for them."""
    asked = (f"--project={target.project}", f"--database={target.database}")
    return Step(
        "no client reads or writes by itself: deploy/firestore.rules",
        ("python", "-m", "deploy.rules", "release", *asked),
        ("python", "-m", "deploy.rules", "show", *asked),
        _closed,
    )


def indexes(target: Target) -> Iterator[Step]:
    wished = json.loads(INDEXES.read_text("utf-8"))
    for override in wished["fieldOverrides"]:
        field, group = override["fieldPath"], _collection(target, override["collectionGroup"])
        where = (f"--collection-group={group}", f"--database={target.database}")
        if override.get("ttl"):
            yield Step(
                f"documents of {group} go when their {field} has come",
                gcloud("firestore", "fields", "ttls", "update", field, *where, "--enable-ttl", "--async",
                       project=target.project),
                gcloud("firestore", "fields", "ttls", "list", *where, "--format=json", project=target.project),
                _has_ttl(group, field),
            )  # fmt: skip
        yield Step(
            f"no index on {field} of {group}",
            gcloud("firestore", "indexes", "fields", "update", field, *where, "--disable-indexes", "--async",
                   project=target.project),
            gcloud("firestore", "indexes", "fields", "list", *where, "--format=json", project=target.project),
            _has_no_index(group, field),
        )  # fmt: skip


def _collection(target: Target, group: str) -> str:
    return target.runs_collection if group == "flow_runs" else group


def _right_place(target: Target) -> Verdict:
    def settled(found: Any) -> bool:
        for each in found:
            if each["name"].rpartition("/")[2] != target.database:
                continue
            if each["locationId"] != target.trigger_location:
                raise Refused(
                    f"the database {target.database} is in {each['locationId']}, and a trigger has to be where its "
                    f"database is, not in {target.trigger_location}; add --trigger-location {each['locationId']}, and "
                    "take a --region inside it"
                )
            if each["type"] != "FIRESTORE_NATIVE":
                raise Refused(
                    f"the database {target.database} is in Datastore mode, which sends no events; "
                    "name another in deploy/environments.toml"
                )
            return True
        return False

    return settled


def _closed(found: Any) -> bool:
    if found["rules"] is not None and found["rules"] != RULES.read_text("utf-8"):
        raise Refused(
            f"the database has rules of its own ({found['ruleset']}), so clients use it; keep them and deploy with "
            "--keep-rules, or take another database. The functions do not depend on them."
        )
    return found["rules"] is not None


def _field(group: str, field: str, found: Any) -> Any:
    ends = f"/collectionGroups/{group}/fields/{field}"
    return next((each for each in found if each["name"].endswith(ends)), {})


def _has_ttl(group: str, field: str) -> Verdict:
    return lambda found: _field(group, field, found).get("ttlConfig", {}).get("state") in ("ACTIVE", "CREATING")


def _has_no_index(group: str, field: str) -> Verdict:
    def settled(found: Any) -> bool:
        config = _field(group, field, found).get("indexConfig")
        return config is not None and not config.get("indexes") and not config.get("usesAncestorConfig")

    return settled
