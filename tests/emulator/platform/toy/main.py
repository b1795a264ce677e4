"""A function that notes every event that it gets, and then sometimes fails. Knows nothing of the platform."""

import json
import os
import random

import functions_framework
from cloudevents.http import CloudEvent
from google.events.cloud.firestore import DocumentEventData

SEEN = os.environ["SEEN"]
FAILING = float(os.environ.get("FAILING", "0"))


@functions_framework.cloud_event
def count(event: CloudEvent) -> None:
    data = DocumentEventData.deserialize(event.data)
    line = {
        "id": event["id"],
        "document": event["document"],
        "new": data.value.fields["v"].integer_value,
        "old": data.old_value.fields["v"].integer_value if "old_value" in data else None,
    }
    if random.random() < FAILING:
        raise RuntimeError("one of the bad days")
    with open(SEEN, "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
