"""Reader of model files: LIBSVM, LIBLINEAR, plain arrays, and qpsvm's own."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from qpsvm.audits.claims import Claim, Library, Reading
from qpsvm.audits.files import ArrayModel, LiblinearModel, LibsvmModel, read_model
from qpsvm.audits.readers import liblinear_files, libsvm_files
from qpsvm.audits.readers.arrays import Arrays, arrays
from qpsvm.audits.readers.inputs import Inputs
from qpsvm.data.samples import as_samples
from qpsvm.data.targets import as_classes
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneVsOne, Ranking
from qpsvm.machines.reduced import ReducedProblem
from qpsvm.models import SavedModel

Parsed: TypeAlias = LibsvmModel | LiblinearModel | ArrayModel | SavedModel

OWN = "qpsvm"
"""Name of this package as the library of a model."""

SAME_PREDICTIONS = 1e-9
"""Difference of decision values relative to the largest: two ways of adding them up."""


def read(model: str | os.PathLike[str] | Parsed, inputs: Inputs) -> Reading:
    """Read the model in a file, or a file's parsed content."""
    if isinstance(model, str | os.PathLike):
        return read(read_model(model), inputs)
    if isinstance(model, LibsvmModel):
        return libsvm_files.read(model, inputs)
    if isinstance(model, LiblinearModel):
        return liblinear_files.read(model, inputs)
    if isinstance(model, ArrayModel):
        return _arrays(model, inputs)
    return _saved(model, inputs)


def _arrays(model: ArrayModel, inputs: Inputs) -> Reading:
    inputs.require_only((), "plain arrays")
    if model.formulation is None:
        raise AuditRefusedError(
            f"{model.source!r} does not name the program it solves; add a formulation to it."
        )
    coef, intercept = model.coef, model.intercept
    if model.classes is not None:
        inputs.codes(np.asarray(model.classes), inputs.weights(inputs.samples().shape[0]))
        order = [model.classes.index(label) for label in as_classes(inputs.y)[1].tolist()]
        if coef is not None and coef.ndim == 2:
            coef, intercept = coef[order], np.asarray(intercept)[order]
        elif order[0] > order[1]:  # alpha belongs to samples, not to a side
            coef, intercept = None if coef is None else -coef, -intercept
    numbers = Arrays(
        formulation=model.formulation,
        intercept=intercept,
        alpha=model.alpha,
        coef=coef,
        kernel="linear" if model.kernel is None else model.kernel,
        width=model.width,
    )
    return replace(arrays(numbers, inputs), model=f"model {os.path.basename(model.source)!r}")


def _saved(model: SavedModel, inputs: Inputs) -> Reading:
    inputs.require_only((), "one of qpsvm")
    if inputs.sample_weight is not None:
        raise AuditRefusedError(
            "A model file of qpsvm has the sample weights of its training in it; leave "
            "sample_weight out."
        )
    if isinstance(model.formulation, Ranking):
        raise AuditRefusedError(
            "The audit of a Ranking needs the query groups, which it has no parameter for; use "
            "model.verify(X, y, groups=groups)."
        )
    problem = model.problem(inputs.X, inputs.y)
    solution = model.solution(problem)
    X = as_samples(inputs.X) if model.scaling is None else model.scaling(inputs.X)
    own, audited = model.decision_function(inputs.X), solution.decision_function(X)
    apart = float(np.max(np.abs(own - audited)))
    if not apart <= SAME_PREDICTIONS * float(np.max(np.abs(own))):
        raise AuditRefusedError(
            "The model file predicts with other numbers than those it states as its solution (the "
            f"decision values differ by {apart:.2g}); it was changed."
        )
    parts: list[Any] = [(problem, solution)]
    names: tuple[str, ...] = ("",)
    reduction: Any = None
    if isinstance(problem, ReducedProblem):
        parts, names, reduction = problem.parts(solution), problem.names, problem.reduction
    claims = tuple(
        Claim(name, part, machine.intercept, stated=machine)
        for name, (part, machine) in zip(names, parts, strict=True)
    )
    return Reading(
        repr(model),
        Library(OWN),
        claims,
        X,
        combine=None if reduction is None else reduction.combine,
        n_classes=0 if model.classes is None else len(model.classes),
        classes=model.classes,
        in_pairs=isinstance(reduction, OneVsOne),
    )
