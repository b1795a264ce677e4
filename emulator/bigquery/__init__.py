"""BigQuery on a laptop: its REST API, and behind it DuckDB, which is asked in its own dialect.

What matters to a caller is not that SQL is executed but what surrounds it: jobs and their failures, pages, bytes that
are billed and limits on them, parameters, and the reasons by which the client library decides whether to try again.

`dialect` and `parameters` understand a query, `scanning` says what it costs, `jobs` runs it, `results` pages through
what was found, `cells` writes it down, `warehouse` keeps the tables, `seeds` fills `market.candles`, and the two
`…_routes` are the wire. What is not covered is in DIFFERENCES.md.
"""

from emulator.bigquery.server import BigQueryServer

__all__ = ["BigQueryServer"]
