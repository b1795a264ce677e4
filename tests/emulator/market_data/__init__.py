"""Candles, real and invented."""
