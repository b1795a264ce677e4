"""The toy function from outside: how it is started, and what it has seen."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from google.cloud import firestore

from emulator.platform import Function

TOY = Path(__file__).parent / "toy"
ASKED = Path(__file__).parent / "asked"
NOTING = Path(__file__).parent / "noting"
BROKEN = Path(__file__).parent / "broken"


def toy(seen: Path, *, failing: float = 0.0, name: str = "toy") -> Function:
    environment = {"SEEN": str(seen), "FAILING": str(failing)}
    return Function(name, TOY, "count", "runs/{id}", environment=environment)


@dataclass
class Writer:
    """Counts up in ten documents, and remembers every change that was acknowledged."""

    acknowledged: list[tuple[str, int | None, int]] = field(default_factory=list)

    def write(self, db: firestore.Client, until: int) -> None:
        """Go on until so many are acknowledged; what fails is raised at once, and can be written again."""
        while (turn := len(self.acknowledged)) < until:
            document = f"runs/r{turn % 10}"
            db.document(document).set({"v": turn}, retry=None, timeout=10)
            self.acknowledged.append((document, turn - 10 if turn >= 10 else None, turn))

    def missing(self, seen: Path) -> set[tuple[str, int | None, int]]:
        """The changes that the function has not seen, with what was before and after."""
        lines = [json.loads(line) for line in seen.read_text().splitlines()] if seen.exists() else []
        return set(self.acknowledged) - {(line["document"], line["old"], line["new"]) for line in lines}


__all__ = ["ASKED", "BROKEN", "TOY", "Writer", "toy"]
