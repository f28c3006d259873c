"""The hunt for a false PASS: random mutations of certified solutions, judged without the verifier.

Usage, from the root of the repository::

    python -m benchmarks.soundness.hunt --count 100000 --seeds 0-9 --jobs 2
    python -m benchmarks.soundness.hunt --seeds 0 --only 1234     # one draw again, with its report
    python -m benchmarks.soundness.hunt --part "kernel values" --count 20000 --seeds 0 --jobs 2

Each draw takes a random problem with a known optimum, changes its solution at random, and holds
what ``qpsvm.verify`` at 1e-8, ``qpsvm.certify`` and ``qpsvm.audit`` say of it against a judge:

- problems of every family (``family_part``): the textbook's formulas in extended precision;
- small machines at the ends of the range, bare programs of bad scales, models of scikit-learn
  (``exact_part``): an optimum in rational numbers.

``--part "kernel values"`` hunts among problems whose kernel values may be nothing but rounding
(``kernel_part``; ``--count`` is the number of problems): kernel values with 60 digits.

The outcome of each seed goes to ``results/seed-<seed>.json``, of a part to
``results/<part>-<seed>.json``, when its draws are done; a seed that has one, for the same count and
code, is not hunted again. ``report.py`` makes ``docs/soundness.md`` from those files alone. Draw
number and seed determine a mutant: another seed is another hunt. The exit code is 1 if anything is
suspicious.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

from rich.progress import track
from threadpoolctl import threadpool_limits

from benchmarks.soundness import exact_part, family_part, kernel_part
from benchmarks.soundness.exact_part import AUDITS, BARE, MACHINES
from benchmarks.soundness.fields import CERTIFIED
from benchmarks.soundness.judge import EPS
from benchmarks.soundness.kernel_part import KERNELS
from benchmarks.soundness.tally import Tally, as_json, is_done

RESULTS = Path(__file__).with_name("results")
DRAWS = family_part.DRAWS
"""Draws of one block, which one process makes without a break."""
FAMILIES = family_part.PART
BLOCKS = 2 * [MACHINES, BARE, FAMILIES, MACHINES, FAMILIES, MACHINES, BARE, MACHINES, MACHINES]
"""Which part of the hunt a block belongs to, over and over: most exact ones are cheap."""
BLOCKS += [FAMILIES, AUDITS]


def part_of(index: int, part: str = "") -> str:
    """The part of the hunt that a block belongs to: the one given, or each in its turn."""
    return part or BLOCKS[index % len(BLOCKS)]


def hunt_in(task: tuple[str, int, int, int]) -> Tally:
    """All draws of one block: (part or "", seed, number of the block, number of draws)."""
    part, seed, index, draws = task
    tally = Tally()
    numbers = range(index * DRAWS, index * DRAWS + draws)
    part = part_of(index, part)
    with threadpool_limits(1):
        try:
            if part == FAMILIES:
                family_part.hunt_block(seed, index, numbers, tally)
            elif part == KERNELS:
                kernel_part.hunt_block(seed, numbers, tally)
            else:
                exact_part.hunt_block(part, seed, numbers, tally)
        except Exception:  # noqa: BLE001 - a hunt of an hour is not lost, and does not end well
            row = {"draw": numbers.start, "seed": seed, "error": traceback.format_exc()}
            tally.suspicious.append(row)
    return tally


def hunt(count: int, seed: int, jobs: int = 1, part: str = "") -> Iterator[Tally]:
    """The tallies of all blocks, as they are done."""
    tasks = [
        (part, seed, index, min(DRAWS, count - index * DRAWS))
        for index in range(-(-count // DRAWS))
    ]
    if jobs == 1:
        yield from map(hunt_in, tasks)
        return
    with multiprocessing.get_context("spawn").Pool(jobs) as pool:
        yield from pool.imap_unordered(hunt_in, tasks)


def show(seed: int, number: int, part: str = "") -> None:
    """One draw again, with everything there is to know about it."""
    index = number // DRAWS
    if part == KERNELS:
        kernel_part.show(seed, number)
    elif part_of(index) == FAMILIES:
        family_part.show(seed, index, number)
    else:
        exact_part.show(part_of(index), seed, number, index * DRAWS)


def hunted(count: int, seed: int, jobs: int, path: Path, part: str = "") -> int:
    """Hunt with one seed, keep the outcome; how much of it is suspicious."""
    total, began = Tally(), time.perf_counter()
    blocks = -(-count // DRAWS)
    for block in track(hunt(count, seed, jobs, part), f"seed {seed}", total=blocks):
        for row in block.suspicious:
            print(json.dumps(row), flush=True)
        total.add(block)
    seconds = time.perf_counter() - began
    path.parent.mkdir(exist_ok=True)
    text = as_json(total, count, seed, seconds, part=part, eps=EPS, certified=CERTIFIED)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
    print(
        dict(total.outcomes), f"{len(total.suspicious)} suspicious, {seconds:.0f} s, "
        f"{count / seconds:.1f} draws per second, {path}",
    )  # fmt: skip
    return len(total.suspicious)


def seeds_of(text: str) -> list[int]:
    """``"3"``, ``"0-9"`` or ``"0,4,7"``."""
    seeds = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds


def main() -> None:
    """Hunt, or look at one draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="mutants of each seed")
    parser.add_argument("--seeds", type=seeds_of, default=[0], help="3, or 0-9, or 0,4,7")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", type=int, help="number of the only draw to be made")
    parser.add_argument("--again", action="store_true", help="also the seeds that are done")
    parser.add_argument("--part", choices=["", KERNELS], default="", help="the only part hunted in")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of the results")
    options = parser.parse_args()
    if options.only is not None:
        show(options.seeds[0], options.only, options.part)
        return
    suspicious = 0
    for seed in options.seeds:
        name = options.part.replace(" ", "-") or "seed"
        path = options.output / f"{name}-{seed}.json"
        if is_done(path, options.count) and not options.again:
            print(f"seed {seed} is done: {path}")
            suspicious += len(json.loads(path.read_text(encoding="utf-8"))["suspicious"])
        else:
            suspicious += hunted(options.count, seed, options.jobs, path, options.part)
    if suspicious:
        sys.exit(1)


if __name__ == "__main__":
    main()
