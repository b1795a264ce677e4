"""Cloud Storage on a laptop: the JSON API at the wire, for the unmodified client library.

What the existing emulators leave out is what an orchestrator stands on: a create-only write that exactly one of many
racing writers wins. So here every operation honours its preconditions, generations only ever rise, and checksums are
compared in both directions.

From the inside out: `records` and `conditions` are values; `store` is the one place where state changes; `disk` makes
it survive; `uploads`, `ranges` and `listing` are the JSON API's own ideas; `api` turns requests into calls of these.
"""

from emulator.storage.server import StorageServer

__all__ = ["StorageServer"]
