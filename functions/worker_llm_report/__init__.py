"""LLM_REPORT: candles, charts and earlier reports go in, one report in the shape of a known schema comes out."""
