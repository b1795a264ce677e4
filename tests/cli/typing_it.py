"""`flow` as it is typed, in this process: everything from the words on the line to the exit code, and no start-up."""

import contextlib
import io
import json
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from flowcore.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """The answer for programs."""
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line that a person gets to see."""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("flow: "), self.err
        assert "Traceback" not in self.out + self.err
        return self.err.removeprefix("flow: ").rstrip("\n")


def typed(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["flow", *words])
        with pytest.raises(SystemExit) as end:
            main()
    code = end.value.code
    assert isinstance(code, int)
    return Said(int(code), out.getvalue(), err.getvalue())
