"""OHLCV_EXPORT, from the run document to the object."""
