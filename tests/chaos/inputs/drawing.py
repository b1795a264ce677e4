"""Cases that hypothesis makes: from a seed so many of them, and of one that is broken the smallest that still is.

No case is there twice, and what hypothesis leaves unfinished, because it has grown too long, is no case: it makes
another.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.chaos.inputs.chance import Chance
from tests.chaos.inputs.hostile import Hostile

T = TypeVar("T")
BLOCK: Final = 100  # cases of one seed of hypothesis's
_SETTINGS: Final = hypothesis.settings(
    database=None,
    deadline=None,
    derandomize=False,  # the seed is ours
    verbosity=Verbosity.quiet,
    report_multiple_bugs=False,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)


@dataclass(frozen=True, slots=True)
class Case(Generic[T]):
    """`name` is the seed, the number of the block, and the number in the block."""

    name: str
    value: T
    taken: int  # a hash of the choices that made it


@st.composite
def _made(draw: st.DrawFn, make: Callable[[Hostile], T]) -> tuple[T, int]:
    chance = Chance(draw)
    return make(Hostile(chance)), hash(tuple(chance.taken))


def block(make: Callable[[Hostile], T], seed: str, count: int = BLOCK) -> list[Case[T]]:
    """So many cases; the same seed and count are the same cases."""
    found: dict[int, Case[T]] = {}

    @hypothesis.seed(seed)
    @hypothesis.settings(_SETTINGS, max_examples=count)
    @hypothesis.given(_made(make))
    def keep(made: tuple[T, int]) -> None:
        value, taken = made
        hypothesis.assume(taken not in found)
        found[taken] = Case(f"{seed}/{len(found)}", value, taken)

    with _alike_everywhere():
        keep()
    return list(found.values())


def named(make: Callable[[Hostile], T], name: str) -> Case[T]:
    """The case of this name, of an order of at least a block."""
    seed, _, number = name.rpartition("/")
    return block(make, seed)[int(number)]


def cases(make: Callable[[Hostile], T], seed: int, count: int = BLOCK) -> Iterator[list[Case[T]]]:
    """Block after block, without end; of a small order the blocks are small."""
    seen: set[int] = set()
    for number in itertools.count():
        found = block(make, f"{seed}/{number}", min(count, BLOCK))
        yield [case for case in found if case.taken not in seen]
        seen |= {case.taken for case in found}


def smallest(make: Callable[[Hostile], T], name: str, count: int, broken: Callable[[T], bool]) -> T | None:
    """The smallest case that hypothesis finds broken, from the block of the one with this name; none if none is."""
    found: list[T] = []

    @hypothesis.seed(name.rpartition("/")[0])
    @hypothesis.settings(_SETTINGS, max_examples=min(count, BLOCK), phases=[Phase.generate, Phase.shrink])
    @hypothesis.given(_made(make))
    def hold(made: tuple[T, int]) -> None:
        value, _ = made
        if broken(value):
            found.append(value)
            raise _Broken

    with _alike_everywhere(), suppress(_Broken, Flaky):  # flaky: `broken` had no more time
        hold()
    return found[-1] if found else None


class _Broken(Exception):
    """For hypothesis only."""


@contextmanager
def _alike_everywhere() -> Iterator[None]:
    """Hypothesis likes the constants of whichever of our modules are loaded, so a seed would not be the same cases in
    another program, or after the next edit. Its own constants it keeps.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(providers, "_get_local_constants", Constants)
        patch.setattr(providers, "CONSTANTS_CACHE", _CONSTANTS)
        yield


_CONSTANTS: Final[dict[object, object]] = {}
