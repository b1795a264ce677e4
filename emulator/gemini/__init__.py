"""Gemini on a laptop: the `generateContent` wire, and behind it a small analyst instead of a large model.

A fake that always says "lorem ipsum" proves only that strings travel. This one reads the candles in its prompt,
computes trend, levels and volatility, and answers in the shape that the request's own JSON schema demands: so a wrong
prompt, a chart of the wrong run or a field that nobody fills is visible in the report. The same prompt gives the same
words, always.

`prompt` reads the request, `candles` and `analyst` understand it, `schema` writes the answer's shape, `answers` wraps
it up, `script` lets a test speak instead, and `api` is the wire.
"""

from emulator.gemini.server import GeminiServer

__all__ = ["GeminiServer"]
