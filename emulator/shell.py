"""What a shell can evaluate."""

import shlex
from collections.abc import Mapping


def exports(variables: Mapping[str, str]) -> str:
    """One line for each variable."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
