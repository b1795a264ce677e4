"""The catalogue fits the kernel as it is. `make mutants` does the rest, and takes minutes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants.catalogue import MUTANTS, Mutant
from tests.mutants.killers import KILLERS
from tests.mutants.workbench import ROOT, OutOfDate, mutated

# Breaks that must be in the catalogue, in words, and the mutant that is meant.
ASKED_FOR = {
    "no precondition on finalize": "finalize that lost a race writes its old decision over whatever is there now",
    "no token check": "whoever finds a RUNNING step holds it, whatever its token",
    'wakeAt without "plan is due"': "wakeAt does not know that something is due",
    "nudge that changes nothing": "a nudge changes nothing",
    "wakeAt dropped on a finished run": "wakeAt is dropped on a finished run with a RUNNING step",
    "promotion on SKIPPED": "SKIPPED satisfies a dependency",
    "attempt compared with maxAttempts": "attempt is compared with maxAttempts",
    "claim despite cancelRequested": "a step is claimed although its run shall be cancelled",
    "artifact not looked for": "the artifact is not looked for before the paid call",
    "412 accepted for another step's object": ("a create that answers 412 takes the object without asking whose it is"),
    "jitter from a random source": "jitter comes from a random source",
}


def _source(mutant: Mutant) -> str:
    return (ROOT / mutant.file).read_text()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_break_fits_the_kernel_as_it_is(mutant: Mutant) -> None:
    broken = mutated(_source(mutant), mutant)
    assert broken != _source(mutant)
    compile(broken, mutant.file, "exec")


def test_broken_kernel_fails_by_what_it_does_and_not_by_a_slip_of_the_pen(tmp_path: Path) -> None:
    for number, mutant in enumerate(MUTANTS):
        (tmp_path / f"m{number}.py").write_text(mutated(_source(mutant), mutant))
    undefined = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--select", "F821,E9", "-q"]
    done = subprocess.run([*undefined, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_no_break_is_listed_twice() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30
    assert len({(mutant.file, mutant.old, mutant.new) for mutant in MUTANTS}) == len(MUTANTS)


def test_breaks_that_the_issue_asks_for_are_there() -> None:
    assert set(ASKED_FOR.values()) - {mutant.name for mutant in MUTANTS} == set()


@pytest.mark.parametrize(("old", "times"), [("not there", 0), ("now", 2)])
def test_break_that_is_out_of_date_says_so(old: str, times: int) -> None:
    with pytest.raises(OutOfDate, match=f"'a lie' is out of date: its old text occurs {times} times in a.py"):
        mutated("now or now", Mutant("a lie", "a.py", old, "later"))


def test_killers_look_at_tests_that_exist() -> None:
    places = {part for killer in KILLERS for part in killer.arguments if part.startswith("tests/")}
    assert [place for place in places if not (ROOT / place).exists()] == []
