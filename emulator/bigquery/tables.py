"""What is known of a table and of a dataset, apart from the rows."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from emulator.bigquery.errors import LOCATION
from emulator.bigquery.schema import Field, quoted


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns; `partitioned_by` is the column whose date decides which part a row lies in."""

    dataset: str
    name: str
    schema: tuple[Field, ...]
    partitioned_by: str | None
    created: datetime
    inserted: set[str] = field(default_factory=set, compare=False)  # the insert ids that have been seen

    @property
    def sql(self) -> str:
        return f"{quoted(self.dataset)}.{quoted(self.name)}"

    def resource(self, project: str, rows: int, size: int) -> dict[str, Any]:
        parts = {"timePartitioning": {"type": "DAY", "field": self.partitioned_by}} if self.partitioned_by else {}
        created = str(int(self.created.timestamp() * 1000))
        return {
            "kind": "bigquery#table",
            "id": f"{project}:{self.dataset}.{self.name}",
            "tableReference": {"projectId": project, "datasetId": self.dataset, "tableId": self.name},
            "schema": {"fields": [one.resource() for one in self.schema]},
            "numRows": str(rows),
            "numBytes": str(size),
            "type": "TABLE",
            "location": LOCATION,
            "creationTime": created,
            "lastModifiedTime": created,
            **parts,
        }


def dataset_resource(project: str, dataset: str) -> dict[str, Any]:
    return {
        "kind": "bigquery#dataset",
        "id": f"{project}:{dataset}",
        "datasetReference": {"projectId": project, "datasetId": dataset},
        "location": LOCATION,
    }
