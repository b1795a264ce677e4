"""What one wants to know at three in the morning: metrics counted from the log, a dashboard, and alerts.

`deploy/observability/` has them without an environment's name; here they get one. An alert's text is its page of
`deploy/runbook.md`, so whoever is woken has it at hand.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from deploy.commands import Change, Command, Step, Verdict, Word, gcloud, joined
from deploy.target import Target

FOLDER = Path(__file__).parent / "observability"
RUNBOOK = Path(__file__).parent / "runbook.md"
LABEL = "flow-digest"


def metric(target: Target, name: str) -> str:
    return f"{target.environment}_flow_{name}"


def files(target: Target) -> Iterator[tuple[str, str]]:
    """What the commands read: name → content."""
    for name, about in _read("metrics.json").items():
        where = f'resource.type="cloud_run_revision" AND resource.labels.service_name=~"^{target.environment}-"'
        counted = {"description": about["description"], "filter": f"{where} AND ({about['filter']})"}
        yield f"metric-{name}.json", _text(counted)
    for name in _read("alerts.json"):
        yield f"alert-{name}.json", _text(_marked(_policy(target, name), "userLabels"))
    yield "dashboard.json", _text(_marked(_dashboard(target), "labels"))


def observing(target: Target, folder: str) -> Iterator[Step]:
    written = dict(files(target))
    for name in _read("metrics.json"):
        yield _metric_step(target, name, f"{folder}/metric-{name}.json", written[f"metric-{name}.json"])
    if target.alert_email:
        yield _channel(target)
    for name in _read("alerts.json"):
        yield _alert_step(target, name, f"{folder}/alert-{name}.json", written[f"alert-{name}.json"])
    yield _dashboard_step(target, f"{folder}/dashboard.json", written["dashboard.json"])


# --- what they are ----------------------------------------------------------------------------------------


def _policy(target: Target, name: str) -> dict[str, Any]:
    about = _read("alerts.json")[name]
    condition = {"query": with_names(target, about["query"]), "duration": about["for"], "evaluationInterval": "60s"}
    return {
        "displayName": _alert_name(target, name),
        "combiner": "OR",
        "conditions": [{"displayName": about["says"], "conditionPrometheusQueryLanguage": condition}],
        "documentation": {"mimeType": "text/markdown", "content": page(name)},
        "alertStrategy": {"autoClose": "86400s"},
    }


def _dashboard(target: Target) -> dict[str, Any]:
    text = (FOLDER / "dashboard.json").read_text("utf-8").replace("ENVIRONMENT", target.environment)
    board: dict[str, Any] = json.loads(text)
    for tile in board["mosaicLayout"]["tiles"]:
        for data in tile["widget"]["xyChart"]["dataSets"]:
            query = data["timeSeriesQuery"]
            query["prometheusQuery"] = with_names(target, query["prometheusQuery"])
    return board


def with_names(target: Target, query: str) -> str:
    """`steps_claimed` stands for the metric that counts it here, in the spelling of Prometheus."""
    names = "|".join(sorted(_read("metrics.json"), key=len, reverse=True))
    full = f'logging_googleapis_com:user_{metric(target, "")}\\1{{monitored_resource="cloud_run_revision"}}'
    return re.sub(rf"\b({names})\b(?=\[)", full, query).replace("ENVIRONMENT", target.environment)


def page(alert: str) -> str:
    """The runbook's chapter of this name, without its heading."""
    chapters = re.split(r"^## ", RUNBOOK.read_text("utf-8"), flags=re.MULTILINE)[1:]
    return next(chapter.partition("\n")[2].strip() for chapter in chapters if chapter.startswith(f"{alert}\n"))


def _alert_name(target: Target, name: str) -> str:
    return f"{target.environment} flow: {name.replace('_', ' ')}"


def _marked(content: dict[str, Any], labels: str) -> dict[str, Any]:
    return {**content, labels: {LABEL: hashlib.sha256(_text(content).encode()).hexdigest()[:40]}}


def _read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text("utf-8"))


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


# --- how they get there -----------------------------------------------------------------------------------


def _metric_step(target: Target, name: str, file: str, content: str) -> Step:
    full, wished = metric(target, name), json.loads(content)
    config = f"--config-from-file={file}"

    def there(found: Any) -> Any:
        return next((each for each in found if each["name"] == full), None)

    return Step(
        f"the metric {full}: {wished['description']}",
        gcloud("logging", "metrics", "create", full, config, project=target.project),
        gcloud("logging", "metrics", "list", "--format=json", project=target.project),
        lambda found: wished.items() <= (there(found) or {}).items(),
        Change(
            lambda found: there(found) is not None,
            gcloud("logging", "metrics", "update", full, config, project=target.project),
        ),
    )


def _channel(target: Target) -> Step:
    return Step(
        "somebody to tell",
        gcloud(
            "beta", "monitoring", "channels", "create", f"--display-name={target.named('flow')}", "--type=email",
            f"--channel-labels=email_address={target.alert_email}", project=target.project,
        ),
        gcloud("beta", "monitoring", "channels", "list", "--format=json", project=target.project),
        _is_titled(target.named("flow")),
    )  # fmt: skip


def _alert_step(target: Target, name: str, file: str, content: str) -> Step:
    group, title, config = ("alpha", "monitoring", "policies"), _alert_name(target, name), f"--policy-from-file={file}"
    told = [joined("--notification-channels=", each) for each in _told(target)]
    told_now = [joined("--set-notification-channels=", each) for each in _told(target)]
    return Step(
        f"the alert {name}",
        gcloud(*group, "create", config, *told, project=target.project),
        gcloud(*group, "list", "--format=json", project=target.project),
        _is_marked(title, "userLabels", content),
        Change(
            _is_titled(title),
            gcloud(*group, "update", _named(group, title, target), config, *told_now, project=target.project),
        ),
    )


def _dashboard_step(target: Target, file: str, content: str) -> Step:
    group, title, config = (
        ("monitoring", "dashboards"),
        json.loads(content)["displayName"],
        f"--config-from-file={file}",
    )
    return Step(
        f"the dashboard {title!r}",
        gcloud(*group, "create", config, project=target.project),
        gcloud(*group, "list", "--format=json", project=target.project),
        _is_marked(title, "labels", content),
        Change(
            _is_titled(title), gcloud(*group, "update", _named(group, title, target), config, project=target.project)
        ),
    )


def _told(target: Target) -> list[Command]:
    if not target.alert_email:
        return []
    return [channel_named(target, target.named("flow"))]


def channel_named(target: Target, title: str) -> Command:
    words = ("beta", "monitoring", "channels", "list", f"--filter=displayName={title}")
    return gcloud(*words, "--format=value(name)", project=target.project)


def _named(group: tuple[str, ...], title: str, target: Target) -> Word:
    """The cloud's own name for what we know by its title."""
    words = (*group, "list", f'--filter=displayName="{title}"', "--format=value(name)")
    return joined(gcloud(*words, project=target.project))


def _is_titled(title: str) -> Verdict:
    return lambda found: any(each.get("displayName") == title for each in found)


def _is_marked(title: str, labels: str, content: str) -> Verdict:
    mark = json.loads(content)[labels][LABEL]
    return lambda found: any(
        each.get("displayName") == title and each.get(labels, {}).get(LABEL) == mark for each in found
    )
