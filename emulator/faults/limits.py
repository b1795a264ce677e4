"""How fast one document may be written, as in the cloud: short bursts pass, a sustained stream does not."""

import threading
from collections.abc import Iterable


class WriteLimit:
    """A bucket of tokens for each document; a write that touches several takes a token from each, or from none."""

    def __init__(self, per_second: float, burst: float) -> None:
        if per_second <= 0 or burst < 1:
            raise ValueError(f"a write limit of {per_second}/s with a burst of {burst} lets nothing through")
        self._rate = per_second
        self._burst = burst
        self._tokens: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def admits(self, documents: Iterable[str], now: float) -> bool:
        with self._lock:
            left = {document: self._left(document, now) for document in set(documents)}
            if any(tokens < 1 for tokens in left.values()):
                return False
            self._tokens.update({document: (tokens - 1, now) for document, tokens in left.items()})
            return True

    def _left(self, document: str, now: float) -> float:
        tokens, then = self._tokens.get(document, (self._burst, now))
        return min(self._burst, tokens + (now - then) * self._rate)
