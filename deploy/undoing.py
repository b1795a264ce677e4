"""What takes a deployment away again: the plan's own commands, backwards, each turned into its opposite.

So nothing can be deployed that a teardown forgets. Data is another matter: runs, objects, secrets and letters that
nobody could read stay, unless somebody asks for their end in so many words. The database itself and the services of
the project always stay: others may use them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deploy.commands import Command, Step, Word, gcloud, joined
from deploy.observing import channel_named
from deploy.target import Target


@dataclass(frozen=True, slots=True)
class Removal:
    words: str
    command: Command


def removals(target: Target, steps: Sequence[Step], *, data: bool) -> list[Removal]:
    opposites = [opposite(target, step, data=data) for step in reversed(steps)]
    found = [each for each in opposites if each]
    if data:
        found.append(
            Removal(
                f"the runs in {target.runs_collection}",
                gcloud(
                    "firestore", "bulk-delete", f"--collection-ids={target.runs_collection}",
                    f"--database={target.database}", project=target.project,
                ),
            )
        )  # fmt: skip
    return found


def opposite(target: Target, step: Step, *, data: bool) -> Removal | None:
    """None for what stays: settings go with the thing that they are settings of."""

    def away(what: str, *words: Word) -> Removal:
        return Removal(what, gcloud(*words, project=target.project))

    match step.command[1:]:
        case ("iam", "service-accounts", "create", str(name), *_):
            email = f"{name}@{target.project}.iam.gserviceaccount.com"
            return away(f"the account {name}", "iam", "service-accounts", "delete", email)
        case ("projects", "add-iam-policy-binding", str(project), str(member), str(role), str(condition), *_):
            said = f"{member.partition(':')[2]} loses {role.partition('=')[2]}"
            return away(said, "projects", "remove-iam-policy-binding", project, member, role, condition)
        case ("functions", "deploy", str(name), "--gen2", str(region), *_):
            return away(f"the function {name}", "functions", "delete", name, region)
        case ("scheduler", "jobs", "create", "http", str(job), str(location), *_):
            return away(f"the job {job}", "scheduler", "jobs", "delete", job, location)
        case ("alpha", "monitoring", "policies", "create", *_) if step.change:
            return away(step.words, "alpha", "monitoring", "policies", "delete", step.change.command[5])
        case ("beta", "monitoring", "channels", "create", str(title), *_):
            channel = joined(channel_named(target, title.partition("=")[2]))
            return away("whom the alerts tell", "beta", "monitoring", "channels", "delete", channel, "--force")
        case ("monitoring", "dashboards", "create", *_) if step.change:
            return away(step.words, "monitoring", "dashboards", "delete", step.change.command[4])
        case ("logging", "metrics", "create", str(metric), *_):
            return away(f"the metric {metric}", "logging", "metrics", "delete", metric)
        case ("pubsub", "subscriptions" | "topics" as kind, "create", str(name), *_) if data:
            return away(f"the dead letters ({kind})", "pubsub", kind, "delete", name)
        case ("secrets", "create", str(name), *_) if data:
            return away(f"the secret {name}", "secrets", "delete", name)
        case ("storage", "buckets", "create", str(url), *_) if data:
            return away(f"the bucket {url} and every object in it", "storage", "rm", "--recursive", url)
    return None


def told(removal: Sequence[Removal]) -> Iterator[str]:
    for each in removal:
        yield f"  {each.words}"
