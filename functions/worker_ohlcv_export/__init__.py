"""OHLCV_EXPORT: candles from BigQuery or from a file, as one JSON object."""
