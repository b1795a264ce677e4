"""Events that nobody could process are kept, not dropped: a topic, and a subscription that holds them for a week.

Eventarc tries an event again for 24 hours, with rests that grow from 10 to 600 seconds, and then forgets it. Pub/Sub
counts attempts instead of hours, to 100 at most, and rests for 600 seconds at most. So no limit reaches 24 hours, and
the highest comes closest: 100 attempts are a little under 16 hours. An event that is moved is not lost, as it would be
after 24; and no run depends on it, because the sweep does what events should have done.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deploy.commands import Command, Step, Verdict, Word, gcloud, joined
from deploy.grants import agent_grant
from deploy.target import Target

TOPIC = "flow_dead_letters"
ATTEMPTS, SHORTEST_REST, LONGEST_REST = 100, 10, 600
KEPT_FOR = "7d"


def tried_for(attempts: int = ATTEMPTS, shortest: int = SHORTEST_REST, longest: int = LONGEST_REST) -> int:
    """Seconds from the first attempt to the last one, if each fails at once."""
    return sum(min(shortest * 2**number, longest) for number in range(attempts - 1))


def dead_letters(target: Target) -> Iterator[Step]:
    topic = target.named(TOPIC)
    yield Step(
        f"a topic for events that nobody could process: {topic}",
        gcloud("pubsub", "topics", "create", topic, project=target.project),
        gcloud("pubsub", "topics", "list", "--format=json", project=target.project),
        lambda found: any(each["name"].rpartition("/")[2] == topic for each in found),
    )
    yield Step(
        "they are kept for a week",
        gcloud(
            "pubsub", "subscriptions", "create", topic, f"--topic={topic}",
            f"--message-retention-duration={KEPT_FOR}", "--expiration-period=never", project=target.project,
        ),
        _subscriptions(target),
        lambda found: any(each["name"].rpartition("/")[2] == topic for each in found),
    )  # fmt: skip
    yield agent_grant(target, "topics", topic, "roles/pubsub.publisher", "Pub/Sub may put events there")


def kept(target: Target, function: str) -> Iterator[Step]:
    """For the subscription that Eventarc has made for the function's trigger."""
    subscription = _subscription_of(target, function)
    yield agent_grant(
        target,
        "subscriptions",
        subscription,
        "roles/pubsub.subscriber",
        f"Pub/Sub may take events from {target.named(function)}",
    )
    yield Step(
        f"{target.named(function)}: an event goes to the dead letters after {ATTEMPTS} attempts",
        gcloud(
            "pubsub", "subscriptions", "update", subscription,
            f"--dead-letter-topic={target.named(TOPIC)}", f"--max-delivery-attempts={ATTEMPTS}",
            f"--min-retry-delay={SHORTEST_REST}s", f"--max-retry-delay={LONGEST_REST}s", project=target.project,
        ),
        gcloud("pubsub", "subscriptions", "describe", subscription, "--format=json", project=target.project),
        _has_dead_letters(target),
    )  # fmt: skip


def _subscriptions(target: Target) -> Command:
    return gcloud("pubsub", "subscriptions", "list", "--format=json", project=target.project)


def _subscription_of(target: Target, function: str) -> Word:
    trigger = gcloud(
        "functions", "describe", target.named(function), f"--region={target.region}",
        "--format=value(eventTrigger.trigger)", project=target.project,
    )  # fmt: skip
    return joined(
        gcloud(
            "eventarc", "triggers", "describe", joined(trigger),
            "--format=value(transport.pubsub.subscription)", project=target.project,
        )
    )  # fmt: skip


def _has_dead_letters(target: Target) -> Verdict:
    topic = f"projects/{target.project}/topics/{target.named(TOPIC)}"

    def settled(subscription: Any) -> bool:
        policy, rests = subscription.get("deadLetterPolicy", {}), subscription.get("retryPolicy", {})
        wished = {"deadLetterTopic": topic, "maxDeliveryAttempts": ATTEMPTS}
        wished_rests = {"minimumBackoff": f"{SHORTEST_REST}s", "maximumBackoff": f"{LONGEST_REST}s"}
        return bool(policy == wished and rests == wished_rests)

    return settled
