"""`make mutants`: break the kernel in every way of the catalogue; each break must be noticed."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.catalogue import MUTANTS, Mutant
from tests.mutants.killers import EXPLORER, KILLERS, SUITE, Killer, Unable, Verdict, killed
from tests.mutants.workbench import OutOfDate, Workbench

PROCESSES = 2
REPORT = Path("build/mutants.json")
# A broken kernel may loop; a whole one may be slow because the machine is busy. This tells them apart.
PATIENCE = 6


class Workshop:
    """As many workbenches as processes; each is used by one of them at a time."""

    def __init__(self, place: Path) -> None:
        self._free: SimpleQueue[Workbench] = SimpleQueue()
        for number in range(PROCESSES):
            self._free.put(Workbench.prepare(place / str(number)))

    @contextmanager
    def bench(self) -> Iterator[Workbench]:
        bench = self._free.get()
        try:
            yield bench
        finally:
            self._free.put(bench)


def main() -> int:
    options = _options()
    chosen = [mutant for mutant in MUTANTS if not options.only or mutant.name in options.only]
    if options.list:
        print("\n".join(f"{mutant.file:<32} {mutant.name}" for mutant in chosen))
        return 0
    sides = [options.killer] if options.killer else [SUITE, EXPLORER]
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flowcore-mutants-") as place:
        pool = ThreadPoolExecutor(PROCESSES)
        try:
            workshop = Workshop(Path(place))
            limits = {} if options.trust else _whole_kernel(pool, workshop, sides)
            verdicts = _broken_kernels(pool, workshop, chosen, sides, limits)
        except (Unable, OutOfDate) as problem:
            print(problem, file=sys.stderr)
            return 2
        finally:
            pool.shutdown(cancel_futures=True)
    survivors = [mutant.name for mutant in chosen if verdicts[mutant.name].killed_by is None]
    _print_table(chosen, verdicts)
    print(f"\n{len(chosen)} mutants, {len(chosen) - len(survivors)} killed, {time.monotonic() - began:.0f} s")
    for name in survivors:
        print(f"SURVIVED: {name}")
    out = options.out or (None if options.only or options.killer else REPORT)
    if out:
        _write_report(out, chosen, verdicts, survivors)
    return 1 if survivors else 0


def _options() -> argparse.Namespace:
    arguments = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    arguments.add_argument("--list", action="store_true", help="only say which mutants there are")
    arguments.add_argument("--only", action="append", metavar="NAME", help="only this one (may be given several times)")
    arguments.add_argument("--killer", choices=[SUITE, EXPLORER], help="only this one: what does it notice by itself?")
    arguments.add_argument("--trust", action="store_true", help="do not try the whole kernel first")
    arguments.add_argument("--out", type=Path, help="where the report goes (default: build/mutants.json, if all ran)")
    options = arguments.parse_args()
    unknown = set(options.only or ()) - {mutant.name for mutant in MUTANTS}
    if unknown:
        arguments.error(f"no mutant {', '.join(map(repr, sorted(unknown)))}; --list says which there are")
    return options


def _whole_kernel(pool: ThreadPoolExecutor, workshop: Workshop, sides: Collection[str]) -> dict[str, float]:
    """Nobody may complain about the kernel as it is. How long they take for it says when a broken one loops."""
    print("the kernel as it is: ", end="", flush=True)

    def strike(killer: Killer) -> float:
        began = time.monotonic()
        with workshop.bench() as bench:
            noticed = killer.strike(bench)
        if noticed:
            raise Unable(f"\nnothing is broken yet, and still it was noticed ({noticed}); mend that first")
        return time.monotonic() - began

    # The slowest first: then both processes are done at about the same time.
    called = sorted((killer for killer in KILLERS if killer.side in sides), key=lambda killer: -killer.limit)
    seconds = dict(zip(called, pool.map(strike, called), strict=True))
    print(", ".join(f"{killer.name} {taken:.0f} s" for killer, taken in seconds.items()), flush=True)
    return {killer.name: 30 + PATIENCE * taken for killer, taken in seconds.items()}


def _broken_kernels(
    pool: ThreadPoolExecutor,
    workshop: Workshop,
    chosen: Collection[Mutant],
    sides: Collection[str],
    limits: dict[str, float],
) -> dict[str, Verdict]:
    def judge(mutant: Mutant) -> Verdict:
        with workshop.bench() as bench, bench.broken(mutant):
            return killed(bench, sides, limits)

    return dict(_as_they_come(pool, judge, chosen))


def _as_they_come(
    pool: ThreadPoolExecutor, judge: Callable[[Mutant], Verdict], chosen: Collection[Mutant]
) -> Iterator[tuple[str, Verdict]]:
    waiting = {pool.submit(judge, mutant): mutant for mutant in chosen}
    for number, future in enumerate(as_completed(waiting), 1):
        mutant, verdict = waiting[future], future.result()
        by = verdict.killed_by or "SURVIVED"
        print(f"[{number}/{len(chosen)}] {verdict.seconds:5.1f} s  {mutant.name}\n{'':>16}{by}", flush=True)
        yield mutant.name, verdict


def _print_table(chosen: Collection[Mutant], verdicts: dict[str, Verdict]) -> None:
    width = max(len(mutant.name) for mutant in chosen)
    print(f"\n{'the kernel, broken':<{width}}  {'seconds':>7}  killed by")
    for mutant in chosen:
        verdict = verdicts[mutant.name]
        print(f"{mutant.name:<{width}}  {verdict.seconds:>7.1f}  {verdict.killed_by or 'NOBODY'}")


def _write_report(
    out: Path, chosen: Collection[Mutant], verdicts: dict[str, Verdict], survivors: Collection[str]
) -> None:
    details = [
        {"name": name, "killed_by": verdict.killed_by, "seconds": round(verdict.seconds, 1)}
        for name, verdict in ((mutant.name, verdicts[mutant.name]) for mutant in chosen)
    ]
    killed_ones = len(chosen) - len(survivors)
    report = {"mutants": len(chosen), "killed": killed_ones, "survivors": list(survivors), "details": details}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
