"""Programs of the demo, and the number of samples that each backend gets of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from qpsvm.machines import SVMProblem

PROGRAMS = (("linear", "dual"), ("linear", "primal"), ("rbf", "dual"), ("rbf", "primal"))
FEW_SAMPLES = 100
"""Samples for a solver that is slow on all: its time grows with the cube of their number."""

SLOW = frozenset(
    {
        *(("slsqp", kernel, form) for kernel, form in PROGRAMS),
        ("classical:dual-ascent", "rbf", "dual"),
        ("classical:frank-wolfe", "rbf", "dual"),
        ("classical:slsqp", "linear", "dual"),
        ("classical:slsqp", "rbf", "dual"),
        ("cvxopt", "rbf", "primal"),
        ("cvxpy", "rbf", "primal"),
        ("cvxpy:CLARABEL", "rbf", "primal"),
        ("cvxpy:HIGHS", "linear", "primal"),
        ("cvxpy:HIGHS", "rbf", "primal"),
        ("qpsolvers:clarabel", "rbf", "primal"),
        ("qpsolvers:cvxopt", "rbf", "primal"),
        ("qpsolvers:highs", "linear", "primal"),
        ("qpsolvers:highs", "rbf", "primal"),
        ("qpsolvers:piqp", "rbf", "primal"),
        ("qpsolvers:qpalm", "rbf", "primal"),
    }
)
"""Backends that get fewer samples of a program, with kernel and form: on all samples they take
about a second of processor time or more, on one thread. With them the demo takes twice as long."""

PARTNER = "auto"
"""Backend that also solves every program of fewer samples, so that each answer has a comparison."""


@dataclass(frozen=True, eq=False)
class Task:
    """One program with the backends that solve it; ``in_detail``: report on the best answer."""

    kernel: str
    form: str
    problem: SVMProblem
    names: tuple[str, ...]
    in_detail: bool = True


def with_fewer_samples(tasks: list[Task], smaller: list[tuple[str, str, SVMProblem]]) -> list[Task]:
    """Move slow solvers from the tasks to further tasks on fewer samples.

    Parameters
    ----------
    tasks : list of Task
    smaller : list of (kernel, form, problem)
        The programs of the tasks, in the same order, on ``FEW_SAMPLES`` samples.
    """
    quick, few = list[Task](), list[Task]()
    for task, (kernel, form, problem) in zip(tasks, smaller, strict=True):
        slow = tuple(name for name in task.names if (name, kernel, form) in SLOW)
        quick.append(replace(task, names=tuple(name for name in task.names if name not in slow)))
        if slow:
            few.append(Task(f"{kernel}/{FEW_SAMPLES}", form, problem, (PARTNER, *slow), False))
    return quick + few


def choose_backends() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose the installed backends to compare; list the others with the reason."""
    from qpsvm.backends import available
    from qpsvm.backends.solver_table import BEHIND_CVXPY

    installed = [info.name for info in available() if info.installed]
    chosen, left_out = [], []
    for name in installed:
        bridge, _, solver = name.partition(":")
        same = [n for n in (solver.lower(), f"qpsolvers:{solver.lower()}") if n in installed]
        if bridge != "cvxpy" or not solver or solver == "CLARABEL":
            chosen.append(name)
        elif solver in BEHIND_CVXPY and not BEHIND_CVXPY[solver].quadratic:
            left_out.append(f"{name} (linear programs only)")
        elif same:
            left_out.append(f"{name} (same solver as {same[0]})")
        else:
            chosen.append(name)
    return tuple(chosen), tuple(left_out)


def problems_on(count: int | None) -> tuple[str, list[tuple[str, str, SVMProblem]]]:
    """Return a description of the data, and (kernel, form, problem) on the first count samples."""
    from sklearn.datasets import load_breast_cancer

    import qpsvm
    from qpsvm.models import Scaling

    bunch = load_breast_cancer()
    X, y = bunch.data[:count], bunch.target_names[bunch.target[:count]]
    X = Scaling.fit(X)(X)
    source = (
        f"Wisconsin breast cancer (bundled with scikit-learn), {X.shape[0]} samples x "
        f"{X.shape[1]} features, standardised; soft margin, C = 1"
    )
    svm = qpsvm.SoftMargin(C=1.0)
    return source, [
        (kernel, form, getattr(svm, form)(X, y, kernel=kernel)) for kernel, form in PROGRAMS
    ]
