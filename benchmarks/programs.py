"""The programs of suites: formulations and kernels by name, and files for other benchmarks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.cells import Call, Instance, parse
from benchmarks.data import load_samples
from benchmarks.suite import Suite
from qpsvm import formulations
from qpsvm.exceptions import InvalidParameterError, SuiteError
from qpsvm.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from qpsvm.machines import Form
from qpsvm.qp import QuadraticProgram
from qpsvm.qp.exchange import write_parquet

SEVERAL_PROGRAMS = ("OneVsOne", "OneVsRest")

FAMILIES: Mapping[str, type[object]] = {
    name: getattr(formulations, name)
    for name in formulations.__all__
    if name not in SEVERAL_PROGRAMS
}
"""Formulations that are one program, by name."""

KERNELS: Mapping[str, type[Kernel]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}


def formulation_of(text: Call | str) -> object:
    """Build the formulation that a suite's text names, such as ``SoftMargin(C=1.0)``.

    Parameters
    ----------
    text : Call or str
        ``SoftMargin(C=10.0, intercept='penalized')``: a name of ``FAMILIES``, parameters of
        its class.

    Raises
    ------
    SuiteError
        An unknown name or parameter, or a value outside its domain.

    Examples
    --------
    >>> formulation_of("NuClassification(nu=0.3)")
    NuClassification(nu=0.3)
    """
    return _made(FAMILIES, text, "formulation")


def kernel_of(text: Call | str) -> Kernel:
    """Build the kernel that a suite's text names; ``gamma='scale'`` is resolved later.

    Parameters
    ----------
    text : Call or str
        ``linear``, ``rbf(gamma='scale')``, ``polynomial(coef0=1.0, degree=2)``.

    Raises
    ------
    SuiteError
        An unknown name or parameter, or a value outside its domain.

    Examples
    --------
    >>> kernel_of("rbf(gamma=0.5)")
    RBF(gamma=0.5)
    """
    made: Kernel = _made(KERNELS, text, "kernel")
    return made


def _made(classes: Mapping[str, type[object]], text: Call | str, what: str) -> Any:
    call = parse(text)
    if call.name not in classes:
        raise SuiteError(f"There is no {what} {call.name!r}; there are {', '.join(classes)}.")
    try:
        return classes[call.name](**call.arguments)
    except (InvalidParameterError, TypeError) as error:
        raise SuiteError(f"The {what} {call} cannot be made: {error}") from error


# --- files ----------------------------------------------------------------------------------------

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
