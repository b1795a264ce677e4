"""Eventarc: a trigger belongs to a function, and brings a topic and a subscription of Pub/Sub with it.

The local Eventarc delivers to an address of ours, where the trigger's account has to show that it may call the service.
"""

import zlib
from typing import Final, Protocol

from emulator.control_plane.collection import Collection, State
from emulator.control_plane.errors import Refused, invalid
from emulator.control_plane.resources import Json, Name
from emulator.control_plane.routing import GoogleApi
from emulator.eventarc import Kind, Subscription

API: Final = "eventarc"
HOST: Final = "eventarc.googleapis.com"
RECEIVER: Final = "roles/eventarc.eventReceiver"
EVENTS: Final = "google.cloud.firestore.document.v1."


class Subscriber(Protocol):
    """The local Eventarc, as far as it is needed here."""

    def subscribe(self, subscription: Subscription) -> None: ...
    def unsubscribe(self, function: str) -> None: ...


class Triggers(Collection):
    def __init__(self, state: State, events: Subscriber) -> None:
        super().__init__(state, API, "projects/*/locations/*/triggers/*", id_parameter="triggerId", slow=True)
        self._events = events

    def check_wish(self, wish: Json) -> None:
        """What Eventarc refuses to make a trigger of; what it may do is asked later."""
        kind_of(wish)
        filters = filters_of(wish)
        if "document" not in filters:
            raise invalid("A trigger on documents needs a filter on the attribute `document`.")

    def establish(self, function: Name, wish: Json, url: str, *, concurrency: int, timeout: float) -> str:
        """Make or renew the trigger of a function, and have its events delivered. Returns the trigger's name."""
        filters, email = filters_of(wish), wish.get("serviceAccountEmail", "")
        project = Name("cloudresourcemanager", f"projects/{function.project}")
        if f"serviceAccount:{email}" not in self._state.resources.grants(project, RECEIVER):
            raise Refused(
                403,
                f"Permission 'eventarc.events.receiveEvent' denied on the trigger's service account {email}: "
                f"it needs {RECEIVER} on the project.",
            )
        name = self.name_of(function, wish)
        wanted = {
            "eventFilters": [{"attribute": "type", "value": wish["eventType"]}, *wish.get("eventFilters", [])],
            "serviceAccount": email,
        }
        if self._state.resources.find(name) is None:
            self._state.resources.create(name, self._trigger(name, function))
        self._state.resources.change(name, lambda trigger: trigger | wanted)
        self._events.subscribe(
            Subscription(
                function.id,
                url,
                filters["document"],
                kind_of(wish),
                function.project,
                filters.get("database", "(default)"),
                retry=wish.get("retryPolicy") == "RETRY_POLICY_RETRY",
                concurrency=concurrency,
                timeout=timeout,
            )
        )
        return name.path

    def remove(self, name: Name) -> None:
        """With its topic, its subscription, and what was still in there."""
        trigger = self._state.resources.find(name)
        if trigger is None:
            return
        self._events.unsubscribe(trigger["destination"]["cloudFunction"].rpartition("/")[2])
        transport = trigger["transport"]["pubsub"]
        for path in (transport["subscription"], transport["topic"]):
            self._state.resources.delete(Name("pubsub", path))
        self._state.resources.delete(name)

    def name_of(self, function: Name, wish: Json) -> Name:
        number = zlib.crc32(function.path.encode()) % 1_000_000
        return Name(
            API, f"projects/{function.project}/locations/{wish['triggerRegion']}/triggers/{function.id}-{number:06d}"
        )

    def _trigger(self, name: Name, function: Name) -> Json:
        location = name.path.split("/")[3]
        topic = Name("pubsub", f"projects/{name.project}/topics/eventarc-{location}-{name.id}-000")
        subscription = Name("pubsub", f"projects/{name.project}/subscriptions/eventarc-{location}-{name.id}-sub-000")
        self._state.resources.create(topic, {"name": topic.path, "labels": {"goog-eventarc": ""}})
        self._state.resources.create(
            subscription,
            {
                "name": subscription.path,
                "topic": topic.path,
                "ackDeadlineSeconds": 600,
                "messageRetentionDuration": "86400s",
                "retryPolicy": {"minimumBackoff": "10s", "maximumBackoff": "600s"},
                "labels": {"goog-eventarc": ""},
                "state": "ACTIVE",
            },
        )
        return {
            "name": name.path,
            "createTime": self._state.now(),
            "destination": {"cloudFunction": function.path},
            "transport": {"pubsub": {"topic": topic.path, "subscription": subscription.path}},
            "eventDataContentType": "application/protobuf",
            "labels": {"goog-managed-by": "cloudfunctions"},
        }


def filters_of(wish: Json) -> dict[str, str]:
    return {each["attribute"]: each["value"] for each in wish.get("eventFilters", [])}


def kind_of(wish: Json) -> Kind:
    event = str(wish.get("eventType", ""))
    if event.removeprefix(EVENTS) not in list(Kind):
        raise invalid(f"The local Eventarc knows no events of the type {event!r}, only {EVENTS}{{{','.join(Kind)}}}.")
    return Kind(event.removeprefix(EVENTS))


def eventarc(triggers: Triggers) -> GoogleApi:
    return GoogleApi(API, triggers.routes(), host=HOST)
