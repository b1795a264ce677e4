"""Rows as the REST API writes them: `{"f": [{"v": …}]}`, with a text in the shape of its type for each value.

It is the engine that writes them: what is built here is an expression, and what comes back is a row as JSON. A million
rows then cost Python a million texts to pass on, and not ten million values to look at.
"""

from collections.abc import Sequence
from typing import Final

from emulator.bigquery.schema import Field, quoted

# How each type is spelled, as a text without quotation marks around it; STRING and JSON need more care than that.
SPELLED: Final = {
    "INTEGER": "CAST({0} AS VARCHAR)",
    "FLOAT": (
        "CASE WHEN isnan({0}) THEN 'NaN' WHEN isinf({0}) THEN CASE WHEN {0} > 0 THEN 'Infinity' ELSE '-Infinity' END"
        " ELSE CAST({0} AS VARCHAR) END"
    ),
    "BOOLEAN": "CAST({0} AS VARCHAR)",
    "DATE": "CAST({0} AS VARCHAR)",
    "DATETIME": "replace(CAST({0} AS VARCHAR), ' ', 'T')",
    "TIME": (  # with six digits after the point, or with none: clients know no other
        "CASE WHEN strlen(CAST({0} AS VARCHAR)) = 8 THEN CAST({0} AS VARCHAR)"
        " ELSE rpad(CAST({0} AS VARCHAR), 15, '0') END"
    ),
    "NUMERIC": "rtrim(rtrim(CAST(CAST({0} AS DECIMAL(38,9)) AS VARCHAR), '0'), '.')",
    "BIGNUMERIC": "rtrim(rtrim(CAST(CAST({0} AS DECIMAL(38,9)) AS VARCHAR), '0'), '.')",
    "BYTES": "base64({0})",
}
MICROSECONDS: Final = "CAST(epoch_us({0}) AS VARCHAR)"
SECONDS: Final = "CAST(epoch({0}) AS VARCHAR)"


def row_as_json(schema: Sequence[Field], *, int64_timestamps: bool) -> str:
    """The expression that is a whole row. Timestamps are microseconds if asked for so, as clients do, else seconds."""
    return _record([(field, quoted(field.name)) for field in schema], int64_timestamps, 0)


def _record(parts: Sequence[tuple[Field, str]], int64_timestamps: bool, depth: int) -> str:
    cells = [f"""'{{"v":' || {_cell(field, value, int64_timestamps, depth)} || '}}'""" for field, value in parts]
    return f"""'{{"f":[' || {" || ',' || ".join(cells)} || ']}}'"""


def _cell(field: Field, value: str, int64_timestamps: bool, depth: int) -> str:
    if field.mode == "REPEATED":
        one = f"x{depth}"
        inner = _value(field, one, int64_timestamps, depth + 1)
        items = f"""['{{"v":' || {inner} || '}}' FOR {one} IN {value}]"""
        return f"'[' || coalesce(array_to_string({items}, ','), '') || ']'"  # no list is an empty one, on this wire
    return _value(field, value, int64_timestamps, depth)


def _value(field: Field, value: str, int64_timestamps: bool, depth: int) -> str:
    match field.type:
        case "RECORD":
            parts = [(inner, f"{value}.{quoted(inner.name)}") for inner in field.fields]
            return f"CASE WHEN {value} IS NULL THEN 'null' ELSE {_record(parts, int64_timestamps, depth)} END"
        case "STRING" | "JSON":
            return f"coalesce(CAST(to_json(CAST({value} AS VARCHAR)) AS VARCHAR), 'null')"
        case "TIMESTAMP":
            spelled = MICROSECONDS if int64_timestamps else SECONDS
        case other:
            spelled = SPELLED[other]
    return f"""coalesce('"' || {spelled.format(value)} || '"', 'null')"""
