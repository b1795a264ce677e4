"""The local BigQuery, seen through the client library that production uses, unmodified."""
