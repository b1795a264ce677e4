"""The documents of one database at one moment, by collection."""

from collections.abc import Iterable, Iterator

from emulator.firestore import paths
from emulator.firestore.changes import Commit
from emulator.firestore.wire import Document


class Documents:
    """A stored document is never changed, only replaced; so whoever has been given one can keep it."""

    def __init__(self, collections: dict[str, dict[str, Document]] | None = None) -> None:
        self._collections = collections if collections is not None else {}

    def get(self, name: str) -> Document | None:
        return self._collections.get(paths.collection_of(name), {}).get(name)

    def put(self, name: str, document: Document | None) -> None:
        """Replace a document, or remove it when there is none."""
        collection = paths.collection_of(name)
        if document is not None:
            self._collections.setdefault(collection, {})[name] = document
        elif name in self._collections.get(collection, {}):
            del self._collections[collection][name]
            if not self._collections[collection]:
                del self._collections[collection]

    def __iter__(self) -> Iterator[Document]:
        return (document for collection in self._collections.values() for document in collection.values())

    def in_collection(self, collection: str) -> Iterable[Document]:
        return self._collections.get(collection, {}).values()

    def collections_below(self, parent: str) -> list[str]:
        """The collections that a document, or the root, is an ancestor of."""
        return [collection for collection in self._collections if collection.startswith(parent + "/")]

    def without(self, later: Iterable[Commit]) -> "Documents":
        """As it was before these commits, which come newest first."""
        earlier = Documents({collection: dict(held) for collection, held in self._collections.items()})
        for commit in later:
            for change in reversed(commit.changes):
                earlier.put(change.name, change.before)
        return earlier
