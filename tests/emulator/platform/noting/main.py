"""A function that says who it is, writes a note for each run, and asks Cloud Storage for its buckets."""

import os
import urllib.request
from pathlib import Path
from typing import Any

import functions_framework
from google.cloud import firestore

db = firestore.Client()


@functions_framework.cloud_event
def note(event: Any) -> None:
    run = event["document"].rpartition("/")[2]
    with Path(os.environ["BEGUN"]).open("a", encoding="utf-8") as begun:
        begun.write(f"{event['id']} {os.getpid()}\n")
    db.document(f"notes/{run}").set({"by": os.getpid()}, retry=None)
    urllib.request.urlopen(f"{os.environ['STORAGE_EMULATOR_HOST']}/storage/v1/b?project=p").close()
