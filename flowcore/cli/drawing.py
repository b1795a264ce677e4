"""A graph of steps in a column of text, one line a step, each below what it needs.

    ● candles
    ├─● charts
    └─┴─● report

A step's line runs down from its sign to the last step that needs it. A line that turns right belongs to what stands at
the end of the turn; one that is merely crossed is interrupted by nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowcore.domain.model import Step

WIDEST = 24  # lines beside each other; beyond it a drawing explains nothing


@dataclass(slots=True)
class _Line:
    owner: str
    left: set[str]  # who still needs it


def drawn(ordered: Sequence[Step], signs: Mapping[str, str]) -> list[str]:
    """One text for each step, all of one width, its own sign in it; the signs alone when there are too many lines."""
    needed_by = {
        step.step_id: {other.step_id for other in ordered if step.step_id in other.depends_on} for step in ordered
    }
    columns: list[_Line | None] = []
    rows = []
    for step in ordered:
        turning = [place for place, line in enumerate(columns) if line and line.owner in step.depends_on]
        for place in turning:
            line = columns[place]
            if line:
                line.left.discard(step.step_id)
        place = _free(columns, after=turning[-1] if turning else -1)
        rows.append(_row(columns, turning, place, signs[step.status]))
        columns = [None if line and not line.left else line for line in columns]
        if needed_by[step.step_id]:
            columns += [None] * (place + 1 - len(columns))
            columns[place] = _Line(step.step_id, needed_by[step.step_id])
    width = max((len(row) for row in rows), default=0)
    if width > 2 * WIDEST:
        return [signs[step.status] for step in ordered]
    return [row.ljust(width) for row in rows]


def _free(columns: Sequence[_Line | None], after: int) -> int:
    return next(
        (place for place in range(after + 1, len(columns)) if columns[place] is None), max(len(columns), after + 1)
    )


def _row(columns: Sequence[_Line | None], turning: Sequence[int], place: int, sign: str) -> str:
    texts = []
    for column in range(max(len(columns), place + 1)):
        line = columns[column] if column < len(columns) else None
        across = bool(turning) and turning[0] < column < place
        if column == place:
            mark = sign
        elif column in turning and line:
            mark = _CORNERS[bool(line.left), column == turning[0]]
        elif line:
            mark = "│"
        else:
            mark = "─" if across else " "
        texts.append(mark + ("─" if turning and turning[0] <= column < place else " "))
    return "".join(texts).rstrip()


# (goes on below, is where the turn begins) → its mark
_CORNERS = {(True, True): "├", (False, True): "└", (True, False): "┼", (False, False): "┴"}
