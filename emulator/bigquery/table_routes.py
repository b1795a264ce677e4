"""Datasets, tables and their rows: `datasets.*`, `tables.*`, `tabledata.list`, `tabledata.insertAll`."""

from collections.abc import Mapping
from typing import Any

from emulator.bigquery.operation import Operation, object_in
from emulator.bigquery.results import Results, Rows, Wish
from emulator.bigquery.schema import parsed
from emulator.bigquery.tables import Table, dataset_resource
from emulator.bigquery.warehouse import Warehouse
from emulator.web import Reply, Request


class TableRoutes:
    """The calls about what is stored."""

    def __init__(self, warehouse: Warehouse, results: Results) -> None:
        self._warehouse = warehouse
        self._results = results

    def get_dataset(self, _: Request, project: str, dataset: str) -> Operation:
        def run() -> Reply:
            self._warehouse.dataset(project, dataset)
            return Reply.json(dataset_resource(project, dataset))

        return Operation("datasets.get", dataset, run)

    def insert_dataset(self, request: Request, project: str) -> Operation:
        name = str(object_in(request).get("datasetReference", {}).get("datasetId", ""))

        def run() -> Reply:
            self._warehouse.create_dataset(project, name)
            return Reply.json(dataset_resource(project, name))

        return Operation("datasets.insert", name, run)

    def get_table(self, _: Request, project: str, dataset: str, table: str) -> Operation:
        def run() -> Reply:
            return self._shown(project, self._warehouse.table(project, dataset, table))

        return Operation("tables.get", f"{dataset}.{table}", run)

    def insert_table(self, request: Request, project: str, dataset: str) -> Operation:
        asked = object_in(request)
        name = str(asked.get("tableReference", {}).get("tableId", ""))

        def run() -> Reply:
            parts = asked.get("timePartitioning", {}).get("field")
            made = self._warehouse.create_table(project, dataset, name, parsed(asked.get("schema", {})), parts)
            return self._shown(project, made)

        return Operation("tables.insert", f"{dataset}.{name}", run)

    def list_rows(self, request: Request, project: str, dataset: str, table: str) -> Operation:
        def run() -> Reply:
            found = self._warehouse.table(project, dataset, table)
            selected = request.query.get("selectedFields")
            wanted = selected.split(",") if selected else [field.name for field in found.schema]
            columns = [field for field in found.schema if field.name in wanted]
            rows = Rows(found.sql, found.schema, self._warehouse.count(found))
            page = self._results.page(rows, Wish.parsed(request.query), columns)
            return page.reply({"kind": "bigquery#tableDataList", "totalRows": str(rows.total)})

        return Operation("tabledata.list", f"{dataset}.{table}", run)

    def insert_rows(self, request: Request, project: str, dataset: str, table: str) -> Operation:
        def run() -> Reply:
            found = self._warehouse.table(project, dataset, table)
            refused = self._insert(found, object_in(request).get("rows", ()))
            said = {"insertErrors": refused} if refused else {}
            return Reply.json({"kind": "bigquery#tableDataInsertAllResponse", **said})

        return Operation("tabledata.insertAll", f"{dataset}.{table}", run)

    def _insert(self, table: Table, rows: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Insert all rows, or none of them and say which were wrong; what was inserted before is passed over."""
        known = {field.name for field in table.schema}
        wrong = {
            index: _complaint("invalid", name, f"no such field: {name}.")
            for index, row in enumerate(rows)
            for name in row["json"]
            if name not in known
        }
        if wrong:
            stopped = _complaint("stopped", "", "")
            return [{"index": index, "errors": [wrong.get(index, stopped)]} for index in range(len(rows))]
        fresh = [row for row in rows if row.get("insertId") is None or row["insertId"] not in table.inserted]
        self._warehouse.load(table, (row["json"] for row in fresh))
        table.inserted.update(row["insertId"] for row in fresh if row.get("insertId") is not None)
        return []

    def _shown(self, project: str, table: Table) -> Reply:
        return Reply.json(table.resource(project, self._warehouse.count(table), self._warehouse.size(table)))


def _complaint(reason: str, location: str, message: str) -> dict[str, str]:
    return {"reason": reason, "location": location, "debugInfo": "", "message": message}
