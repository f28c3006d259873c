"""Small machines on their whole kernel matrix: dual points, and the sums that certify them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from qpsvm.exceptions import InvalidParameterError
from qpsvm.native.checks import (
    Array,
    Dense,
    Vector,
    require_array,
    require_at_least,
    require_box,
    require_conditions,
    require_indices,
    require_row_wise,
    require_vector,
)
from qpsvm.native.library import CallStatus, Structure, run
from qpsvm.native.machine_results import (
    SUMS,
    BlockMachine,
    MachineBounds,
    MachineRun,
    NewtonNumbers,
    NewtonRun,
    RunNumbers,
)

_OF_CONDITIONS = ("signs", "required", "lower", "upper")


@dataclass(frozen=True, eq=False)
class ValueErrors:
    """Bounds on errors of decision values.

    That of ``f_i`` is at most ``relative_i (|K| (u |beta|))_i + left_i right'|beta|``, beside the
    rounding of its sum; of values ``X w`` with ``(|X| |w|)_i`` in place of ``(|K| (u |beta|))_i``.

    Parameters
    ----------
    bounds : array of shape (4, n)
        Relative errors; u, which is at least 1 and says how much larger the errors are in a column
        of K; left; right.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout, or u below 1.
    """

    bounds: Dense

    def __post_init__(self) -> None:
        require_array(self.bounds, "bounds", np.float64, (4, None))
        require_at_least(np.min(self.bounds[1], initial=1.0), "the smallest of u", 1.0)

    def of(self, samples: Array) -> ValueErrors:
        """Return those of some samples, which are numbers below n."""
        return ValueErrors(np.take(self.bounds, samples, axis=1))


@dataclass(frozen=True, eq=False)
class SmallMachine:
    """The dual of a machine with N conditions on n samples.

    It is ``min 1/2 v'(K + c 11' + diag(d)) v - (s p)'v`` over ``v_i = s_i a_i`` with a in its box,
    ``1'v = cost`` where the intercept is free, and ``1'a = total`` where there is a width t, which
    makes the conditions ``s_i (f_i + b) >= p_i - side t``.

    Parameters
    ----------
    K : array of shape (n, n) or None
        Each row in one piece. None is enough for ``bounds`` from samples.
    signs, required, lower, upper : arrays of shape (N,)
        s, p, and the box of a.
    curved : array of shape (N,), optional
        ``d > 0``.
    rows : int64 array of shape (N,), optional
        The sample of every condition; by default condition i is about sample i.
    is_free : bool
        Whether the intercept is free.
    constant : float
        c: 1 for a penalised intercept, else 0.
    cost : float
        Of a free intercept in the primal objective.
    side : float
        -1 for a margin that is to be wide, 1 for a tube that is to be narrow, 0 without a width.
        A width needs a free intercept.
    total : float
        What ``side`` times the cost of the width is, at least 0.

    Raises
    ------
    InvalidParameterError
        An array of another type, shape or layout than these, an index out of range, signs other
        than -1 and 1, a box without zero.

    Examples
    --------
    Two samples with opposite labels and C = 10:

    >>> K = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> two = SmallMachine(K, np.array([1.0, -1.0]), np.ones(2), np.zeros(2), np.full(2, 10.0))
    >>> two.run(1e-9, RunNumbers()).alpha
    array([2., 2.])
    """

    K: Dense | None
    signs: Vector
    required: Vector
    lower: Vector
    upper: Vector
    curved: Vector | None = None
    rows: Array | None = None
    is_free: bool = True
    constant: float = 0.0
    cost: float = 0.0
    side: float = 0.0
    total: float = 0.0
    _structures: dict[int, Structure] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        n = require_conditions(self)
        require_box(np.zeros(n), "zero", self.lower, self.upper)
        require_at_least(self.constant, "constant", 0.0)
        require_at_least(self.cost, "cost", -np.inf)
        require_at_least(self.total, "total", 0.0)
        if self.side not in (-1.0, 0.0, 1.0) or (self.side and not self.is_free):
            raise InvalidParameterError(
                f"side is {self.side}: it must be -1, 0 or 1, and 0 without a free intercept"
            )
        if self.K is not None:
            require_row_wise(self.K, "K")
            if self.K.shape[0] != self.K.shape[1] or (self.rows is None and len(self.K) != n):
                raise InvalidParameterError(
                    f"K has the shape {self.K.shape}: it must be square, one row for each sample"
                )
        if self.rows is not None and self.K is not None:
            require_indices(self.rows, "rows", len(self.K))

    def _fields(self, samples: int) -> Structure:
        """Return the fields of the structure, which several calls share."""
        known = self._structures.get(samples)
        if known is not None:
            return known
        K, conditions = self.K, (self.signs, self.required, self.lower, self.upper, self.curved)
        stride = 0 if K is None else K.strides[0] // K.itemsize
        kind = self.is_free, self.constant, self.cost, self.side, self.total
        made = Structure(
            "machine_run", (len(self.signs), samples, stride, K, self.rows, *conditions, *kind)
        )
        return self._structures.setdefault(samples, made)

    def run(self, tol: float, numbers: RunNumbers, start: MachineRun | None = None) -> MachineRun:
        """Minimise by runs of steps of pairs and Newton steps in turn, to a violation of ``tol``.

        Parameters
        ----------
        tol : float
            In units of the conditions.
        numbers : RunNumbers
        start : MachineRun, optional
            Of this machine.
        """
        if self.K is None:
            raise InvalidParameterError("K is None: a run needs the kernel matrix")
        n, most = len(self.signs), min(numbers.most, len(self.signs))
        tol = require_at_least(tol, "tol", 0.0)
        found, whole = np.empty((3, n)), np.empty(3 * n + 1, np.int64)
        if start is not None:
            found[0], found[1] = start.v, start.gradient
        own = np.array(numbers[:6], dtype=np.float64)
        place = most, start is not None, found, whole, np.empty(9 * n + most * (most + 1))
        status = run("machine_run", self._fields(len(self.K)), tol, own, *place)
        v, g, alpha = found
        return MachineRun(status, alpha, v, g, int(whole[-1]))

    def newton(
        self,
        X: Dense,
        numbers: NewtonNumbers,
        delta: float = 0.0,
        tol: float = 0.0,
        floor: float = 0.0,
        start: tuple[Vector, Vector] | None = None,
    ) -> NewtonRun:
        """Minimise the primal objective over the weights of features.

        Parameters
        ----------
        X : array of shape (n, d)
            The samples.
        numbers : NewtonNumbers
        delta : float
            Weight of the proximal term of the first step: above 0 without ``curved``.
        tol, floor : float
            Gap with which proximal steps end, relative to the objective or the floor, whichever is
            larger.
        start : tuple of arrays of shape (p,) and (N,), optional
            Weights, and the intercept and the width where there are, and a dual point in the box;
            without it those nearest zero.
        """
        n = len(self.signs)
        require_array(X, "X", np.float64, (n if self.rows is None else None, None))
        if self.rows is not None:
            require_indices(self.rows, "rows", len(X))
        delta = require_at_least(delta, "delta", 0.0)
        tol, floor = require_at_least(tol, "tol", 0.0), require_at_least(floor, "floor", 0.0)
        if not (self.is_smooth or delta > 0.0):
            raise InvalidParameterError("newton needs curved or delta above 0")
        d, more = X.shape[1], int(self.is_free or self.constant > 0.0) + int(self.side != 0.0)
        p = d + more
        if start is None:
            u, alpha = np.zeros(p), np.minimum(np.maximum(0.0, self.lower), self.upper)
        else:
            u = require_vector(start[0], "start", p, finite=True).copy()
            alpha = require_vector(start[1], "alpha", n, finite=True).copy()
            require_box(alpha, "alpha", self.lower, self.upper)
        counts = np.array([*map(int, numbers[:3]), 0])
        own = np.array([delta, numbers.shrink, tol, floor])
        place = own, counts, u, alpha, np.empty(n, np.int8), np.empty(2 * p * p + 2 * p + 3 * n)
        status = run("machine_newton", self._fields(len(X)), X, d, more, *place)
        return NewtonRun(status, u, alpha, float(own[0]), int(counts[3]))

    def bounds(
        self,
        alpha: Vector,
        errors: ValueErrors,
        *,
        X: Dense | None = None,
        weights: Vector | None = None,
        unit: float = 1.0,
    ) -> MachineBounds | None:
        """Evaluate the machine that dual variables imply; None where it overflows.

        Parameters
        ----------
        alpha : array of shape (N,)
            In the box.
        errors : ValueErrors
        X : array of shape (n, d), optional
            The samples, for decision values ``X X'beta``; those of K without them.
        weights : array of shape (d,) or (d + 1,), optional
            Weights of the features that predict in place of ``X'beta``; with a penalised intercept
            it is the last of them.
        unit : float
            Scale of margin violations, above zero.
        """
        size, n = len(self.signs), errors.bounds.shape[1]
        require_vector(alpha, "alpha", size)
        require_box(alpha, "alpha", self.lower, self.upper)
        d = 0
        if X is not None:
            d = require_array(X, "X", np.float64, (n, None)).shape[1]
            if weights is not None:
                p = d + (self.constant > 0.0)
                require_vector(weights, "weights", p, finite=True)
        elif self.K is None or len(self.K) != n:
            raise InvalidParameterError("K is missing, or has another size than the errors")
        if self.rows is None and n != size:
            raise InvalidParameterError(f"there are {size} conditions, and errors of {n} samples")
        if self.rows is not None:
            require_indices(self.rows, "rows", n)
        found, memory = np.empty(3 * n + SUMS + d), np.empty(size, np.int64)
        given = X, d, None if X is None else weights, errors.bounds, alpha
        status = run("machine_bounds", self._fields(n), *given, float(unit), memory, found)
        return MachineBounds.of(found, n) if status is CallStatus.DONE else None

    def solve_together(
        self,
        K: Dense | None,
        X: Dense | None,
        pieces: Array,
        limits: Dense,
        numbers: RunNumbers | NewtonNumbers,
        errors: ValueErrors,
    ) -> list[BlockMachine]:
        """Solve several machines about parts of the same samples, and bound their gaps.

        These are the conditions of all of them, one machine behind the other, without K and rows.

        Parameters
        ----------
        K : array of shape (n, n) or None
            Each row in one piece. None for Newton's method, where no loss has kinks.
        X : array of shape (n, d) or None
            The samples, for decision values ``X w``. None for those of K.
        pieces : int64 array of shape (count, 4)
            Begin and length of two pieces of their rows, of which the second may be empty: the
            samples of every machine, in the order of its conditions.
        limits : array of shape (count, 5)
            Of every machine the violation to end with, that with which the first run of steps of
            pairs ends, the work of these steps, the scale of margin violations, and by how much
            more than ``required`` these steps ask for.
        numbers : RunNumbers or NewtonNumbers
            The others, for all machines: of steps on K, or of Newton's method on X.
        errors : ValueErrors
            Of the decision values.
        """
        n, size, d, count = errors.bounds.shape[1], len(self.signs), 0, len(limits)
        require_array(limits, "limits", np.float64, (None, 5))
        require_array(pieces, "pieces", np.int64, (count, 4))
        if X is not None:
            d = require_array(X, "X", np.float64, (n, None)).shape[1]
        stride, lengths = 0 if K is None else require_row_wise(K, "K"), pieces[:, 1] + pieces[:, 3]
        is_inside = (pieces >= 0).all() and (pieces <= n).all()
        is_inside = is_inside and (pieces[:, ::2] + pieces[:, 1::2] <= n).all()
        if not (is_inside and lengths.sum() == size and (K is None or K.shape == (n, n))):
            shape = None if K is None else K.shape
            raise InvalidParameterError(
                f"pieces have {lengths.sum()} rows for {size} conditions, or reach beyond {n} "
                f"samples, or K, whose shape is {shape}, has others: every condition needs a sample"
            )
        if self.K is not None or self.rows is not None or self.side * (K is None):
            raise InvalidParameterError("K and rows of the conditions must be None, side 0")
        largest, p = int(np.max(lengths, initial=0)), d + 1
        own, counts, most = np.zeros((count, 9)), None, 0
        own[:, :2], own[:, 6:] = limits[:, :2], limits[:, 2:]
        if isinstance(numbers, RunNumbers) and K is not None:
            own[:, 2:6], most = numbers[1:5], min(numbers.most, size)
        elif isinstance(numbers, NewtonNumbers) and K is None and X is not None and self.is_smooth:
            counts = np.array(numbers[:3], dtype=np.int64)
        else:
            raise InvalidParameterError("steps need K, and Newton's method X alone and curved > 0")
        alpha, statuses = np.empty(size), np.empty(count, np.int64)
        found = np.empty(3 * size + count * (SUMS + d + p))
        square = 0 if K is None else largest * largest
        memory = np.empty(square + largest * (d + 17) + most * (most + 1) + 2 * p * (p + 1))
        whole = np.empty(5 * largest + 1, np.int64)
        conditions = self.signs, self.required, self.lower, self.upper, self.curved
        kind = self.is_free, self.constant, self.cost, self.side, self.total
        structure = (size, n, stride, K, None, *conditions, *kind)
        given = X, d, own, most, counts, errors.bounds
        results = statuses, alpha, found
        run("machines_solve", structure, count, pieces, *given, *results, whole, memory)
        machines, begin, place = list[BlockMachine](), 0, 0
        for status, length in zip(statuses.tolist(), lengths.tolist(), strict=True):
            end, after = begin + length, place + 3 * length + SUMS + d
            bounds = MachineBounds.of(found[place:after], length)
            u = found[after : after + d + (self.constant > 0.0)]
            weights = None if counts is None else u
            machines.append(BlockMachine(CallStatus(status), alpha[begin:end], bounds, weights))
            begin, place = end, after + p
        return machines

    @property
    def is_smooth(self) -> bool:
        """Whether no loss has kinks."""
        return self.curved is not None and bool(np.min(self.curved, initial=1.0) > 0.0)

    def part(self, places: slice) -> SmallMachine:
        """Return the machine of some of the conditions, without K."""
        made, curved = object.__new__(SmallMachine), self.curved
        own = {name: getattr(self, name)[places] for name in _OF_CONDITIONS}
        own["curved"] = None if curved is None else curved[places]
        vars(made).update({**vars(self), **own, "K": None, "rows": None, "_structures": {}})
        return made
