"""BigQuery on a port."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from emulator.bigquery.api import Api
from emulator.bigquery.errors import BigQueryError
from emulator.bigquery.schema import parsed
from emulator.bigquery.warehouse import Warehouse
from emulator.faults import Faults
from emulator.service import HttpService
from emulator.web import Reply, Request

PROJECT: Final = "local"  # in the words of errors; the tables serve every project
PATIENCE: Final = 30.0  # seconds, with a query that is still at work when it ends


def _now() -> datetime:
    return datetime.now(UTC)


def _market(warehouse: Warehouse) -> None:
    # numpy takes a quarter of a second to import; a platform that is never asked for a candle need not spend it
    from emulator.bigquery.seeds import market  # noqa: PLC0415

    market(warehouse)


class BigQueryServer(HttpService):
    """Start it, and point `BIGQUERY_EMULATOR_HOST` to its `url`. The seeded candles are those closed by the `clock`."""

    def __init__(self, *, port: int = 0, faults: Faults | None = None, clock: Callable[[], datetime] = _now) -> None:
        faults = faults or Faults()
        self._warehouse = Warehouse(clock, {"market": _market})
        self._api = Api(self._warehouse, faults)
        self._at_work = 0
        self._changed = threading.Condition()
        try:
            super().__init__(self._answer, port=port, faults=faults)
        except OSError:
            self._warehouse.close()  # the port is taken
            raise

    def stop(self) -> None:
        """The engine refuses to end under a query, and a thread that ends inside of it takes the process along."""
        super().stop()
        with self._changed:
            self._changed.wait_for(lambda: not self._at_work, PATIENCE)
        self._warehouse.close()

    def _answer(self, request: Request) -> Reply:
        with self._changed:
            self._at_work += 1
        try:
            return self._api(request)
        finally:
            with self._changed:
                self._at_work -= 1
                self._changed.notify_all()

    def reset(self) -> None:
        self._api.clear()

    # --- for tests: without the wire ---------------------------------------------------------------------

    def create_table(
        self, name: str, fields: Sequence[Mapping[str, Any]], *, partitioned_by: str | None = None
    ) -> None:
        """Make `dataset.table` with fields as the API has them, and its dataset if there is none."""
        dataset, table = name.split(".")
        try:
            self._warehouse.dataset(PROJECT, dataset)
        except BigQueryError:
            self._warehouse.create_dataset(PROJECT, dataset)
        self._warehouse.create_table(PROJECT, dataset, table, parsed({"fields": fields}), partitioned_by)

    def load(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows to `dataset.table`; a column that a row does not name is NULL."""
        dataset, table = name.split(".")
        self._warehouse.load(self._warehouse.table(PROJECT, dataset, table), rows)
