"""The project's own functions, as `flow up` runs them when no `--function` is given. None yet: they are listed here."""

from emulator.platform import Function

FUNCTIONS: tuple[Function, ...] = ()
