"""Values that nobody meant: everything that Firestore or JSON can hold, and in the odd corners of it.

Which of them, and where, is hypothesis's choice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeVar

from google.cloud.firestore import DocumentReference, GeoPoint

from tests.chaos.inputs.chance import Chance

T = TypeVar("T")

TEXTS: Final = (
    *(
        "",
        " ",
        "\x00",
        "a\x00b",
        "\n",
        "\r\n{}",
        "\u202egnitirw",
        "é" * 300,
        "名前",
        "😀" * 40,
        "\ufeff",
        "null",
        "NaN",
    ),
    *(
        "../../etc/passwd",
        "..",
        ".",
        "a/b",
        "/",
        "gs://",
        "gs://artifacts/",
        "gs://artifacts/../x",
        "gs://other/x.json",
    ),
    *("__proto__", "__name__", "`a`", "a.b", "a~b", "a*b", "a[0]", "%2e%2e%2f", "${symbol}", "{symbol}", "{{7*7}}"),
    *("<script>alert(1)</script>", "</candles><task>", "'; DROP TABLE candles; --", "-1", "0", "1e999", "true"),
    *("2025-12-24T12:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2025-13-40", "1970-01-01"),
    *("PENDING", "READY", "RUNNING", "SUCCEEDED", "FAILED", "CANCELLED", "SKIPPED", "LLM_REPORT", "CHART_EXPORT"),
    *("OHLCV_EXPORT", "INTERNAL", "x" * 129, "x" * 5000, "1M", "1d", "BTCUSDT", "generated_btcusdt.csv"),
)
NUMBERS: Final = (
    *(0, 1, -1, 2, 3, 7, 200, 2**31, 2**53 + 1, 2**63 - 1, -(2**63)),
    *(0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, float("nan"), float("inf"), float("-inf")),
)
MOMENTS: Final = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC),
    datetime(2025, 12, 24, 12, tzinfo=UTC),
    datetime(2031, 1, 1, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
DEEPEST: Final = 17  # below the field it is put into; Firestore's own end is 20


class Hostile:
    def __init__(self, chance: Chance) -> None:
        self.chance = chance

    # --- of choosing ---

    def one(self, options: Sequence[T]) -> T:
        return self.chance.choice(options)

    def likely(self, probability: float) -> bool:
        return self.chance.likely(probability)

    def some(self, options: Sequence[T]) -> list[T]:
        """A few of them, or none."""
        return [self.one(options) for _ in range(self.one((0, 0, 1, 1, 2, 3, 4)))]

    # --- what Firestore can hold ---

    def value(self, depth: int = 3) -> Any:
        kind = self.chance.randrange(14 if depth > 0 else 9)
        match kind:
            case 0 | 1 | 2:
                return self.text()
            case 3 | 4:
                return self.one(NUMBERS)
            case 5:
                return self.one((None, True, False))
            case 6:
                return self.one(MOMENTS) + timedelta(0)
            case 7:
                return self.one((b"", b"\x00\xff", b"PNG" * 50))
            case 8:
                geo: Any = GeoPoint
                return self.one((geo(1.5, -2.5), DocumentReference("flow_runs", "another"), geo(-90, 180)))
            case 9:
                return [
                    item for item in (self.value(depth - 1) for _ in range(self.chance.randrange(4))) if _single(item)
                ]
            case 10:
                return self.nested(self.chance.randrange(1, DEEPEST))
            case _:
                return {self.key(): self.value(depth - 1) for _ in range(self.chance.randrange(5))}

    def text(self) -> str:
        if self.likely(0.8):
            return self.one(TEXTS)
        last = self.one((128, 0x300, 0xD800, 0x10FFFF))
        return "".join(_letter(self.chance.randrange(1, last)) for _ in range(self.chance.randrange(1, 30)))

    def key(self) -> str:
        """A name of a field that Firestore would take."""
        text = self.one(("stepType", "status", "inputs", "outputs", "gcs_uri", "error", "code", "x", self.text()))
        return text if text and not (text.startswith("__") and text.endswith("__")) else "k" + text

    def nested(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        names = self.one((("a",), ("inputs", "a"), ("steps", "inputs", "a")))
        for level in range(depth):
            found = {names[level % len(names)]: found}
        return found

    # --- what JSON can hold ---

    def json_value(self, depth: int = 3) -> Any:
        match self.chance.randrange(9 if depth > 0 else 6):
            case 0 | 1 | 2:
                return self.one((self.text(), "\ud800", "a\udfffb"))
            case 3 | 4:
                return self.one((*NUMBERS, 10**400, -(10**30)))
            case 5:
                return self.one((None, True, False))
            case 6:
                return [self.json_value(depth - 1) for _ in range(self.chance.randrange(4))]
            case _:
                return {self.text(): self.json_value(depth - 1) for _ in range(self.chance.randrange(4))}

    def json_bytes(self, value: object) -> bytes:
        """The value as a file, and then perhaps something is done to the file."""
        content = json.dumps(value, ensure_ascii=self.likely(0.9)).encode("utf-8", "surrogatepass")
        return self.damaged(content) if self.likely(0.4) else content

    def damaged(self, content: bytes) -> bytes:
        """Cut, mixed up, wrapped or replaced."""
        size = len(content)
        match self.chance.randrange(9):
            case 0:
                return content[: self.chance.randrange(size + 1)]
            case 1:
                return content[self.chance.randrange(size + 1) :]
            case 2:
                return self.noisy(content)
            case 3:
                return self.one((b"\xef\xbb\xbf", b"\xff\xfe", b" " * 1000, b"\x00")) + content
            case 4:
                deep = self.one((50, 900, 940, 960, 970, 980, 990, 1000, 100_000))
                return b"[" * deep + content + b"]" * deep
            case 5:
                deep = self.one((900, 950, 970, 980, 990, 100_000))
                return b'{"output":' * deep + content + b"}" * deep
            case 6:
                return self.chance.randbytes(self.chance.randrange(200))
            case 7:
                return b"1" * self.one((400, 5000))
            case _:
                return self.one((b"", b"null", b"{}", b"[]", b'"', b"NaN", b"true", b"0", b'{"a":1,"a":2}'))

    def noisy(self, content: bytes) -> bytes:
        noisy = bytearray(content)
        for _ in range(self.chance.randrange(1, 8)):
            if noisy:
                noisy[self.chance.randrange(len(noisy))] = self.chance.randrange(256)
        return bytes(noisy)

    # --- something good, spoiled ---

    def spoiled(self, tree: Any, times: int | None = None, value: Any = None) -> Any:
        """A copy of the tree with some of its places taken away, filled with something else, or doubled."""
        make = value or self.value
        for _ in range(times if times is not None else self.chance.randrange(1, 6)):
            tree = self._spoiled_once(tree, make)
        return tree

    def _spoiled_once(self, tree: Any, make: Any) -> Any:
        if isinstance(tree, Mapping) and tree and self.likely(0.88):
            key = self.one(sorted(tree))
            rest = {name: item for name, item in tree.items() if name != key}
            match self.chance.randrange(12):
                case 0:
                    return rest
                case 1:
                    return {**tree, self.key(): tree[key]}
                case 2:
                    return {**rest, self.key(): tree[key]}
                case _:
                    return {**tree, key: self._spoiled_once(tree[key], make)}
        if isinstance(tree, list) and tree and self.likely(0.8):
            place = self.chance.randrange(len(tree))
            changed = self._spoiled_once(tree[place], make)
            return [*tree[:place], *([changed] if _single(changed) else []), *tree[place + 1 :]]
        return make()


def _letter(code: int) -> str:
    return chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"


def _single(item: object) -> bool:
    """No list: Firestore has no lists inside of lists."""
    return not isinstance(item, list)
