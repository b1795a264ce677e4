"""Where in a query something stands, as the real service says it: `[line:column]`, both from one."""


def position(sql: str, offset: int) -> str:
    before = sql[: max(0, offset)]
    return f"[{before.count(chr(10)) + 1}:{len(before) - before.rfind(chr(10))}]"
