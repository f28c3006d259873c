"""The claim of a fitted model: a program of qpsvm and the numbers that the model says solve it.

A reader builds the program and converts alpha, w and b to qpsvm's scale. The rest of an audit does
not depend on the library of the model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from qpsvm.audits.inputs import require_weights
from qpsvm.display import short_repr
from qpsvm.exceptions import AuditRefusedError
from qpsvm.formulations import OneVsOne
from qpsvm.formulations.family import Family
from qpsvm.formulations.multiclass import Reduction
from qpsvm.machines import SVMProblem, SVMSolution
from qpsvm.machines.evaluation import Evaluation, Multiply, evaluated
from qpsvm.machines.intercept import Interval, offsets_of_conditions
from qpsvm.machines.joint.solution import JointSolution
from qpsvm.machines.model import SupportVectorModel
from qpsvm.machines.problem import MachineProblem
from qpsvm.machines.reduced import CombinationRule
from qpsvm.machines.setup import stated_solution
from qpsvm.numerics import compensated
from qpsvm.numerics.arguments import Labels, Targets
from qpsvm.numerics.arrays import Dense, Index, Matrix, Vector, is_sparse
from qpsvm.numerics.precision import product_parts
from qpsvm.numerics.single_precision import Stored
from qpsvm.qp.solution import SolveStatistics

Problem: TypeAlias = MachineProblem
Solution: TypeAlias = SVMSolution | JointSolution


@short_repr
@dataclass(frozen=True)
class Library:
    """The library that fitted a model, with its stopping rule and kernel precision.

    Attributes
    ----------
    name : str
        Of the library that did the arithmetic.
    stopped_at : str
        What ended its iterations, in words: ``"stopping tolerance of 0.001"``. Empty if not known.
    float32_kernel : bool
        It keeps kernel values in single precision.
    tolerance : float or None
        Where its iterations ended by themselves: ``m(alpha) - M(alpha)``, the largest violation of
        the optimality conditions (Fan, Chen and Lin, *JMLR* 6 (2005), equation 6).
    iterations : int or None
        How many there were at most, of any machine.
    """

    name: str
    stopped_at: str = ""
    float32_kernel: bool = False
    tolerance: float | None = None
    iterations: int | None = None


OWN = Library("qpsvm")
"""This package as the library of a model."""


@dataclass(frozen=True, eq=False)
class Claim:
    """A program, and the solution that a model claims for it.

    Attributes
    ----------
    name : str
        What the machine tells apart; empty if the model is one machine.
    problem : SVMProblem or JointProblem
    intercept : float, or array of shape (k,)
    alpha : array of shape (N,) or None
        Dual variables; None where the library stores none.
    coef : array of shape (d,) or (k, d), or None
        Weights; None where they are those of alpha.
    width : float or None
        rho or epsilon of a nu program; None: the best one for these weights.
    factor : float
        The model's own decision values are ``factor`` times those of the program.
    solver_scale : float
        The library's solver has decision values that are so many times those of the program.
    stated : SVMSolution or None
        The complete solution, where the model is one of qpsvm's own.
    """

    name: str
    problem: Problem
    intercept: float | Vector
    alpha: Dense | None = None
    coef: Dense | None = None
    width: float | None = None
    factor: float = 1.0
    solver_scale: float = 1.0
    stated: SVMSolution | None = None

    @property
    def has_multipliers(self) -> bool:
        """Return whether the model has dual variables, hence a lower bound on the optimum."""
        return self.alpha is not None or self.stated is not None

    @property
    def zero_below(self) -> float:
        """Decision values up to this size count as zero when the model predicts labels."""
        return 0.0 if self.stated is None else self.stated.zero_below

    def draft(self, optimum: Solution | None = None) -> Solution:
        """Build the claimed machine, without any product with the kernel matrix.

        Weights without multipliers are held against those of ``optimum``: its alpha and its
        solution of the program, with the model's weights and intercept in place of its own.
        """
        if self.stated is not None:
            return self.stated
        if self.alpha is None:
            assert optimum is not None  # the caller solved for it
            draft: Solution = optimum.replace(coef=self.coef, intercept=self.intercept)
            return draft
        # readers give alpha to machines with one decision function only
        model, b = self.problem.model, float(self.intercept)
        expansion = model.expansion(self.alpha)
        coef = _weights(model, expansion) if self.coef is None else self.coef
        return stated_solution(model, self.alpha, b, coef=coef, expansion=expansion)

    def completed(
        self, draft: Solution, library: Library, multiply: Multiply | None = None
    ) -> Evaluation:
        """Complete a draft by slack, width and intercepts, and evaluate it on the training samples.

        ``multiply`` gives products with the kernel matrix; None: the model's own.
        """
        model = self.problem.model
        if isinstance(draft, JointSolution):
            joint: Evaluation = model.evaluate(draft)
            slack = np.maximum(model.shortfall(joint.decisions), 0.0)
            return joint.of(draft.replace(slack=slack))
        evaluation = evaluated(model, draft, multiply)
        scores, b, width = evaluation.scores, draft.intercept, self.width
        if width is None:
            width = best_width(model, scores, b)
        interval, _ = model.best_offsets(scores, b)
        if not interval.upper > interval.lower:
            interval = Interval(b, b)
        slack = model.slack(model.violations(scores, b, width))
        full = draft.replace(width=width, intercept_interval=interval, slack=slack)
        evaluation = evaluation.of(full)
        if self.alpha is None:
            return evaluation
        qp = self.problem.recovery.to_qp(evaluation)
        qp = qp.replace(statistics=SolveStatistics(backend=library.name))
        return evaluation.of(evaluation.solution.replace(qp=qp))


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """A reader's result: the claims of a model, and how their predictions are combined.

    Attributes
    ----------
    model : str
        What was read, in words.
    library : Library
    samples : array or CSR array of shape (n, d)
        The training samples as the machines see them.
    own_vectors : (array of int of shape (m,), array or CSR array of shape (m, d)) or None
        Rows of samples that are support vectors, and what a model file has in their place, where it
        rounds them.
    claims : tuple of Claim
    classes : array of shape (k,) or None
        The labels of a classifier in the library's own order.
    reduction : OneVsRest, OneVsOne or None
        What several machines tell apart, and how they are combined.
    first_is_positive : bool
        Whether decision values above zero of a pair speak for its first class, as in LIBSVM; in
        qpsvm's reduction they speak for the second.
    remarks : tuple of str
        What was assumed, and what of the model is not in its program.
    """

    model: str
    library: Library
    samples: Stored
    own_vectors: tuple[Index, Matrix] | None = None
    claims: tuple[Claim, ...] = ()
    classes: Labels | None = None
    reduction: CombinationRule | None = None
    first_is_positive: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def in_pairs(self) -> bool:
        """Return whether each of several machines tells two classes apart."""
        return isinstance(self.reduction, OneVsOne)

    def combine(self, values: Dense) -> Dense:
        """One value per class, shape (n, k), from the model's decision values of all machines."""
        return self.combine_bounds(values, values)[0]

    def combine_bounds(self, lower: Dense, upper: Dense) -> tuple[Dense, Dense]:
        """Bounds on ``combine`` from bounds on the decision values."""
        assert self.reduction is not None  # of several machines
        if self.first_is_positive:
            lower, upper = -upper, -lower
        return self.reduction.combine_bounds(lower, upper, len(np.asarray(self.classes)))


@dataclass(frozen=True, eq=False, kw_only=True)
class FittedMachines(Reading, ABC):
    """The numbers of a fitted model beside its training data, not yet read as solutions.

    Attributes
    ----------
    weights : array of shape (n,)
        Sample weights.
    codes : array of int of shape (n,)
        The class of every sample as an index into ``classes``; empty without classes.
    class_weight : array of shape (k,) or None
        Multiplies the sample weights.
    """

    weights: Vector
    codes: Index = field(default_factory=lambda: np.zeros(0, np.intp))
    class_weight: Vector | None = None

    @abstractmethod
    def problem(self, formulation: Family, y: Targets | None, weights: Vector) -> SVMProblem:
        """Build the program that one of the machines claims to solve."""

    @abstractmethod
    def claim(self, name: str, problem: SVMProblem, m: int, sign: float) -> Claim:
        """Convert fitted coefficients of one decision function to a solution of its program.

        ``sign`` is -1 where the model's decision values are positive for the other class.
        """

    def machine(self, formulation: Family, y: Targets | None = None) -> Reading:
        """Read a regression or one-class model, which has a single decision function."""
        problem = self.problem(formulation, y, self.weights)
        return replace(self, claims=(self.claim("", problem, 0, 1.0),))

    def weights_of_classes(self) -> Vector:
        """Sample weights times class weights, shape (n,); every class must have some.

        Raises
        ------
        AuditRefusedError
            Every sample of a class has weight 0.
        """
        weights = self.weights
        if self.class_weight is not None:
            weights = weights * self.class_weight[self.codes]
        require_weights(self.codes, np.asarray(self.classes), weights)
        return weights

    def classifier(self, reduction: Reduction) -> Reading:
        """Read a classifier: one machine for two classes, otherwise one per part of a reduction."""
        weights, classes = self.weights_of_classes(), np.asarray(self.classes)
        k = len(classes)
        several = reduction if k > 2 else None
        parts, claims = several or OneVsOne(reduction.formulation), list[Claim]()
        splits = zip(parts.splits(self.codes, classes), parts.sides(k), strict=True)
        for m, (split, side) in enumerate(splits):
            positive: object = True  # of one class against the rest
            if len(side) == 2:
                positive = classes[side[0] if self.first_is_positive else side[1]]
            own = weights if split.weighs_rest else np.where(split.labels, weights, self.weights)
            own = np.where(split.members, own, 0.0)
            problem = self.problem(reduction.formulation, split.labels, own)
            data: Any = problem.data
            sign = 1.0 if data.classes[1] == positive else -1.0
            claims.append(self.claim(split.name if several else "", problem, m, sign))
        return replace(self, claims=tuple(claims), reduction=several)


def multipliers(problem: SVMProblem, expansion: Vector) -> Vector:
    """Return the dual variables that give a kernel expansion its coefficients ``beta_i``.

    Parameters
    ----------
    problem : SVMProblem
        With one condition per sample and ``beta = s alpha``, or with the two sides of a tube and
        ``beta = alpha - alpha*``, of which at most one is not zero.
    expansion : array of shape (n_given,)
        One coefficient per row of the caller's X.

    Raises
    ------
    AuditRefusedError
        A sample of weight zero, which is in no program, has a coefficient.
    """
    kept, conditions = problem.data.kept, problem.model.conditions
    dropped = np.delete(expansion, kept)
    if np.any(dropped != 0.0):
        row = int(np.setdiff1d(np.flatnonzero(expansion), kept)[0])
        raise AuditRefusedError(
            f"Row {row} of X is a support vector of the model, but its sample_weight is 0, which "
            "excludes it from the program; pass the sample_weight the model was fitted with."
        )
    beta = expansion[kept]
    if len(conditions) == 2 * len(beta):
        return np.concatenate([np.maximum(beta, 0.0), np.maximum(-beta, 0.0)])
    return np.asarray(conditions.signs * beta)


def _weights(model: SupportVectorModel, expansion: Vector) -> Vector | None:
    """``X'beta``, whose terms cancel far from the origin, with few roundings."""
    if not model.is_linear or model.constraints is not None:
        return model.coef(expansion)
    used = np.flatnonzero(expansion)
    X, beta = model.data.X[used], expansion[used]
    if not is_sparse(X):
        return compensated.product(np.asarray(X).T, beta[:, None])[:, 0]
    terms, error = product_parts(X.data.astype(np.float64), np.repeat(beta, np.diff(X.indptr)))
    error = np.where(np.isfinite(error), error, 0.0)
    size = X.shape[1]
    return compensated.sums_of_groups(X.indices, terms, size) + np.bincount(X.indices, error, size)


def best_width(model: SupportVectorModel, scores: Vector, b: float) -> float:
    """Minimise ``price_t t + sum_i loss_i(v_i - e t)`` over t >= 0 for a given b."""
    targets = model.violations(scores, b, 0.0)
    return offsets_of_conditions(model.conditions, targets, b, is_free=False)[1]
