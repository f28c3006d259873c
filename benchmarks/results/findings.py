"""Writes the tables of ``README.md`` from the stores beside it, between the marks of each.

Usage: ``python benchmarks/results/findings.py``
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks import store
from benchmarks.cells import Instance
from benchmarks.compare import compare
from benchmarks.metrics.bounds import best_dual, without_bound
from benchmarks.metrics.outcomes import FalseClaim, false_claims
from benchmarks.metrics.rankings import Rank, ranking
from benchmarks.metrics.scaling import scaling_fits
from benchmarks.metrics.times import by_kind, measurements, times_to
from benchmarks.report import targets_of
from benchmarks.rows import Row
from benchmarks.store import Results

HERE = Path(__file__).parent
PAGE = HERE / "README.md"

TIMED = ("linear", "kernel")
"""Suites whose seconds count."""

ENGINE = "ipm(form='dual')"
"""For linear machines; what its peers reach are the marks."""

KERNEL_ENGINE = "active-set(form='dual')"
"""The solver of kernel machines that is compared with its peers."""

SLOWER = 1.5

SUMMARY = (
    "programs reached",
    "of these, reached by a peer too",
    "best peer's seconds over ours there, geometric mean",
    "faster than every peer",
    f"slower than {SLOWER} times the best peer",
)

SIGNS = {
    "optimal": "●",
    "unclaimed optimal": "◐",
    "false optimal": "✗",
    "above eps": "△",
    "undecided": "≈",
    "false infeasible": "⊗",
    "inaccurate": "○",
    "infeasible": "⊘",
    "unproven infeasible": "?",
    "time limit": "t",
    "memory limit": "m",
    "crash": "!",
    "error": "!",
    "not measured": "–",
    "not installed": "∅",
    "unsupported": "",
    "not run": "",
}


def main() -> None:
    """Rewrite the page."""
    from threads import by_threads  # beside this script

    page = PAGE.read_text(encoding="utf-8")
    for name in ("backends", "infeasible", "ill-conditioned"):
        rows = store.read_results(HERE / f"{name}.jsonl").rows
        page = between(page, f"{name}: every cell", every_cell(rows))
        page = between(page, f"{name}: refuted", refuted(rows))
    rows = store.read_results(HERE / "accuracy.jsonl").rows
    page = between(page, "accuracy: reached", reached(rows))
    page = between(page, "accuracy: refuted", refuted(rows))
    page = between(page, "large: growth", growth(store.read_results(HERE / "large.jsonl")))
    page = between(page, "repeatability", repeated("repeatability-a", "repeatability-b"))
    for name in TIMED:
        if (HERE / f"{name}.jsonl").exists():
            results = store.read_results(HERE / f"{name}.jsonl")
            page = between(page, f"{name}: means", means(results))
            page = between(page, f"{name}: marks", marks(results))
    page = between(page, "kernel-long: every row", every_row(HERE / "kernel-long.jsonl"))
    for name in ("threads-kernel", "threads-linear"):
        page = between(page, name, by_threads(store.read_results(HERE / f"{name}.jsonl").rows))
    page = between(
        page, "linear: engine", against_peers(store.read_results(HERE / "linear.jsonl"), ENGINE)
    )
    small = store.read_results(HERE / "kernel-small.jsonl")
    page = between(page, "kernel-small: means", means(small))
    page = between(page, "kernel-small: engine", against_peers(small, KERNEL_ENGINE))
    PAGE.write_text(page, encoding="utf-8")


def between(page: str, mark: str, text: str) -> str:
    """The page with what stands between ``<!-- mark -->`` and ``<!-- /mark -->`` replaced."""
    pattern = rf"(<!-- {re.escape(mark)} -->\n).*?(<!-- /{re.escape(mark)} -->)"
    return re.sub(pattern, lambda found: f"{found[1]}\n{text}\n{found[2]}", page, flags=re.DOTALL)


def every_cell(rows: Iterable[Row]) -> str:
    """Programs by contestants: the outcome at every tolerance, from loose to tight."""
    cells: dict[tuple[Instance, str], dict[float, Row]] = {}
    for row in rows:
        cells.setdefault((row.instance, row.contestant), {})[row.cell.eps] = row
    programs = sorted({instance for instance, _ in cells})
    contestants = sorted({contestant for _, contestant in cells})
    lines = [f"{number}. `{contestant}`" for number, contestant in enumerate(contestants, 1)]
    lines += ["", "| program | " + " | ".join(map(str, range(1, len(contestants) + 1))) + " |"]
    lines.append("|---" * (len(contestants) + 1) + "|")
    for program in programs:
        signs = [sign(cells.get((program, contestant), {})) for contestant in contestants]
        lines.append(f"| {program} | " + " | ".join(signs) + " |")
    used = Counter(row.outcome for row in rows)
    lines += ["", ", ".join(f"{n} {outcome}" for outcome, n in used.most_common()) + "."]
    return "\n".join(lines)


def every_row(path: Path) -> str:
    """How every cell of a small suite ended."""
    lines = ["| program | contestant | tolerance | outcome | certified gap | seconds |"]
    lines.append("|---" * 6 + "|")
    rows = store.read_results(path).rows
    for row in sorted(rows, key=lambda row: (row.instance, row.contestant, -row.cell.eps)):
        ended = row.outcome not in ("time limit", "not run")
        gap, seconds = f"{row.gap:.1e}", f"{row.total_seconds:.0f}"
        entries = [row.instance, row.contestant.partition("(")[0], f"{row.cell.eps:.0e}"]
        entries += [row.outcome, gap if ended else "", seconds if ended else ""]
        lines.append("| " + " | ".join(map(str, entries)) + " |")
    return "\n".join(lines)


def sign(sweep: dict[float, Row]) -> str:
    """One sign for each tolerance; "not run" where the tightest target was there before is none."""
    loose_to_tight = [sweep[eps] for eps in sorted(sweep, reverse=True)]
    return "".join(SIGNS[row.outcome] for row in loose_to_tight)


def refuted(rows: Iterable[Row]) -> str:
    """Who claimed what, by contestant: how often, and the worst of it."""
    claims: dict[str, list[FalseClaim]] = {}
    for claim in false_claims(rows):
        claims.setdefault(claim.contestant, []).append(claim)
    lines = ["| contestant | refuted | of these, only the multipliers | the furthest off |"]
    lines.append("|---|---|---|---|")
    for contestant, found in sorted(claims.items(), key=lambda item: (-len(item[1]), item[0])):
        worst = max(found, key=lambda claim: claim.gap / claim.eps)
        gap = (
            "no optimum claimed" if worst.outcome == "false infeasible" else f"gap {worst.gap:.0e}"
        )
        only = sum(claim.machine_is_optimal for claim in found)
        lines.append(
            f"| `{contestant}` | {len(found)} | {only} | {worst.instance}: {gap} at eps "
            f"{worst.eps:.0e} |"
        )
    return "\n".join(lines) if claims else "None."


def reached(rows: Iterable[Row]) -> str:
    """Contestants by programs: the smallest gap at any tolerance, and the median over programs."""
    sweeps = measurements(rows)
    programs = sorted({instance for instance, _ in sweeps})
    best: dict[str, dict[Instance, float]] = {}
    for (instance, who), sweep in sweeps.items():
        best.setdefault(who, {})[instance] = min(m.gap for m in sweep)
    lines = [f"{number}. {program}" for number, program in enumerate(programs, 1)]
    lines += ["", "| contestant | " + " | ".join(map(str, range(1, len(programs) + 1)))]
    lines[-1] += " | median |"
    lines.append("|---" * (len(programs) + 2) + "|")
    for who in sorted(best, key=lambda each: float(np.median(list(best[each].values())))):
        gaps = [f"{best[who][p]:.0e}" if p in best[who] else "" for p in programs]
        middle = f"{np.median(list(best[who].values())):.0e}"
        lines.append(f"| `{who}` | " + " | ".join([*gaps, middle]) + " |")
    return "\n".join(lines)


def growth(results: Results) -> str:
    """How times grow with the number of samples: exponents, and the seconds they are fits of."""
    (target,) = targets_of(results)
    lines = ["| programs | contestant | exponent (95%) | seconds at n | sizes not reached |"]
    lines.append("|---|---|---|---|---|")
    for fit in sorted(scaling_fits(results.rows, target), key=lambda f: (f.series, f.exponent)):
        exponent = "" if np.isnan(fit.exponent) else f"{fit.exponent:.2f}"
        if not np.isnan(fit.low):
            exponent += f" ({fit.low:.2f} to {fit.high:.2f})"
        points = ", ".join(f"{n:.0e}: {seconds:.3g}" for n, seconds in fit.points)
        lines.append(
            f"| {fit.series} | `{fit.contestant}` | {exponent} | {points} | {fit.censored} |"
        )
    return "\n".join(lines)


def repeated(a: str, b: str) -> str:
    """What ``python -m benchmarks compare`` says of two runs."""
    lines = [
        "| certified gap | times in both | within their 95% uncertainty | median ratio | rankings |"
    ]
    lines.append("|---|---|---|---|---|")
    for target in targets_of(store.read_results(HERE / f"{a}.jsonl")):
        found = compare(
            store.read_results(HERE / f"{a}.jsonl"), store.read_results(HERE / f"{b}.jsonl"), target
        )
        orders = ", ".join(
            f"{kind}: tau = {agreement.tau:.2g}" for kind, agreement in found.rankings.items()
        )
        verdict = {True: "agree", False: "differ", None: "cannot be told"}[found.agrees]
        lines.append(
            f"| {target:.0e} | {len(found.times)} | {found.within:.0%} | {found.speed:.3f} | "
            f"{verdict} ({orders}) |"
        )
    return "\n".join(lines)


def means(results: Results) -> str:
    """Shifted geometric means to every target, and how many programs were reached."""
    targets = targets_of(results)
    found: dict[str, dict[str, dict[float, Rank]]] = {}
    for target in targets:
        for kind, times in by_kind(times_to(results.rows, target)).items():
            for rank in ranking(times).ranks:
                found.setdefault(kind, {}).setdefault(rank.contestant, {})[target] = rank
    lines = ["| kind of program | contestant | " + " | ".join(f"{t:.0e}" for t in targets) + " |"]
    lines.append("|---|---|" + "---|" * len(targets))
    for kind, contestants in found.items():
        order = sorted(
            contestants, key=lambda who: min(m.seconds.value for m in contestants[who].values())
        )
        for who in order:
            entries = [mean_entry(contestants[who].get(target)) for target in targets]
            lines.append(f"| {kind} | `{who}` | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def mean_entry(rank: Rank | None) -> str:
    """Seconds, and in brackets the programs reached; a bound where some were not."""
    if rank is None:
        return ""
    bound = "> " if rank.failed else ""
    return f"{bound}{rank.seconds.value:.3g} ({rank.solved} of {rank.solved + rank.failed})"


def marks(results: Results) -> str:
    """Program by program the shortest time to every target, and whose it is."""
    targets = targets_of(results)
    unmeasurable = without_bound(results.rows, best_dual(results.rows))
    best: dict[Instance, dict[float, tuple[float, str]]] = {}
    for target in targets:
        for (instance, who), timing in times_to(results.rows, target).items():
            fastest = best.setdefault(instance, {})
            if timing.reached and who != ENGINE:
                own = (timing.seconds, who)
                fastest[target] = min(fastest.get(target, own), own)
    lines = ["| program | " + " | ".join(f"{target:.0e}" for target in targets) + " |"]
    lines.append("|---" * (len(targets) + 1) + "|")
    for instance in sorted(best):
        entries = [
            "no bound" if instance in unmeasurable else mark(best[instance].get(target))
            for target in targets
        ]
        lines.append(f"| {instance} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def against_peers(results: Results, engine: str) -> str:
    """Program by program the seconds of an engine of ours and how many times faster it is."""
    targets = targets_of(results)
    own: dict[Instance, dict[float, float]] = {}
    best: dict[Instance, dict[float, tuple[float, str]]] = {}
    for target in targets:
        for (instance, who), timing in times_to(results.rows, target).items():
            if not timing.reached:
                continue
            if who == engine:
                own.setdefault(instance, {})[target] = timing.seconds
            else:
                fastest = best.setdefault(instance, {})
                fastest[target] = min(fastest.get(target, (np.inf, "")), (timing.seconds, who))
    programs = sorted({row.instance for row in results.rows if row.contestant == engine})
    lines = ["| | " + " | ".join(f"{target:.0e}" for target in targets) + " |"]
    lines.append("|---" * (len(targets) + 1) + "|")
    columns = [faster(programs, own, best, target) for target in targets]
    for name, entries in zip(SUMMARY, zip(*columns, strict=True), strict=True):
        lines.append(f"| {name} | " + " | ".join(entries) + " |")
    lines += ["", "| program | " + " | ".join(f"{target:.0e}" for target in targets) + " |"]
    lines.append("|---" * (len(targets) + 1) + "|")
    for program in programs:
        entries = []
        for target in targets:
            seconds = own.get(program, {}).get(target)
            peer = best.get(program, {}).get(target)
            entry = "not reached" if seconds is None else f"{seconds:.3g}"
            if peer is not None and seconds is not None:
                entry += f" ({peer[0] / seconds:.2g} x {peer[1].partition('(')[0]})"
            entries.append(entry)
        lines.append(f"| {program} | " + " | ".join(entries) + " |")
    return "\n".join(lines)


def faster(
    programs: list[Instance],
    own: dict[Instance, dict[float, float]],
    best: dict[Instance, dict[float, tuple[float, str]]],
    target: float,
) -> tuple[str, ...]:
    """What ``SUMMARY`` names, at one target."""
    reached = [p for p in programs if target in own.get(p, {})]
    common = [p for p in reached if target in best.get(p, {})]
    ratios = np.array([best[p][target][0] / own[p][target] for p in common])
    return (
        f"{len(reached)} of {len(programs)}",
        f"{len(common)}",
        f"{np.exp(np.mean(np.log(ratios))):.2g}",
        f"{int(np.sum(ratios > 1.0))}",
        f"{int(np.sum(ratios < 1.0 / SLOWER))}",
    )


def mark(fastest: tuple[float, str] | None) -> str:
    """Seconds and the contestant without its settings."""
    return "nobody" if fastest is None else f"{fastest[0]:.3g} {fastest[1].partition('(')[0]}"


if __name__ == "__main__":
    main()
