"""The programs of a suite as files for other benchmarks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from benchmarks.cells import Instance
from benchmarks.data import load_samples
from benchmarks.families import formulation_of, kernel_of
from benchmarks.suite import Suite
from qpsvm.exceptions import SuiteError
from qpsvm.machines import Form
from qpsvm.qp import QuadraticProgram
from qpsvm.qp.exchange import write_parquet

LARGEST = 4_000_000
"""Most numbers in the dense matrices of one program: 32 MB."""


def programs(
    suite: Suite, forms: tuple[Form, ...] = ("primal", "dual"), *, largest: int = LARGEST
) -> Iterator[tuple[str, QuadraticProgram]]:
    """Yield every program of a suite in every form, with a descriptive name.

    Parameters
    ----------
    suite : Suite
    forms : tuple of "primal", "dual"
        What a family does not have is left out.
    largest : int
        Programs with more numbers in P, G and A, written densely, are left out.

    Yields
    ------
    str and QuadraticProgram
        ``SoftMargin(C=1.0), iris, linear, dual``.
    """
    for instance in suite.instances():
        for form in forms:
            program = _program(instance, form)
            if program is not None and _numbers(program) <= largest:
                yield f"{instance}, {form}", program


def write_test_set(
    suite: Suite,
    path: str | os.PathLike[str],
    forms: tuple[Form, ...] = ("primal", "dual"),
    *,
    largest: int = LARGEST,
) -> tuple[str, ...]:
    """Write a suite's programs as a test set of the qpbenchmark project.

    Parameters
    ----------
    suite, forms, largest
        As for ``programs``.
    path : path
        A Parquet file, see ``qpsvm.qp.exchange.write_parquet``; replaced if it exists.

    Returns
    -------
    tuple of str
        The names of the programs written.

    Raises
    ------
    SuiteError
        None of the programs is small enough, or a name in the suite stands for nothing.
    MissingPackageError
        pyarrow is not installed.
    DataFileError
        The path cannot be written to.
    """
    found: Mapping[str, QuadraticProgram] = dict(programs(suite, forms, largest=largest))
    if not found:
        raise SuiteError(
            f"The suite {suite.name} has no program of at most {largest:,} numbers; pass a larger "
            "limit or another suite."
        )
    write_parquet(found, path)
    return tuple(found)


def _program(instance: Instance, form: Form) -> QuadraticProgram | None:
    samples = load_samples(instance.data)
    build = getattr(formulation_of(instance.family), form, None)
    if build is None:
        return None
    program: QuadraticProgram = build(samples.X, samples.y, kernel=kernel_of(instance.kernel)).qp
    return program


def _numbers(program: QuadraticProgram) -> int:
    n = program.n_variables
    return n * (n + program.n_inequalities + program.n_equalities)
