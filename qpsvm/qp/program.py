"""The quadratic program: the one object every formulation builds and every solver takes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np
import scipy.sparse as sp

from qpsvm.display import short_repr, wrapped
from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arguments import (
    ExplainsMethods,
    MatrixLike,
    VectorLike,
    explains_constructor,
    require_flag,
)
from qpsvm.numerics.arrays import (
    Dense,
    Matrix,
    Vector,
    as_dense,
    as_matrix,
    as_vector,
    is_sparse,
    require_finite,
    require_memory,
)
from qpsvm.numerics.contents import bytes_of
from qpsvm.numerics.conversion import as_cvxopt
from qpsvm.numerics.rows import fold, take_rows
from qpsvm.numerics.single_precision import SinglePrecision
from qpsvm.qp.convexity import Convexity
from qpsvm.qp.quadratic import Quadratic, as_quadratic
from qpsvm.qp.solution import QPSolution

Storage = Literal["natural", "dense", "sparse", "cvxopt"]


@short_repr
class CanonicalForm(NamedTuple):
    """The textbook matrices of ``1/2 x'Px + q'x`` subject to ``Gx <= h``, ``Ax = b``.

    Attributes
    ----------
    P, q : array or sparse matrix of shape (n, n), array of shape (n,)
        The objective.
    G, h : array or sparse matrix of shape (m, n), array of shape (m,)
        Inequalities: the program's own, then its finite lower and upper bounds.
    A, b : array or sparse matrix of shape (p, n), array of shape (p,)
        Equalities.
    """

    P: Matrix
    q: Vector
    G: Matrix
    h: Vector
    A: Matrix
    b: Vector


def dense_matrix(matrix: Matrix, name: str, remedy: str, memory_limit: int | None) -> Dense:
    """A matrix as an array, if that is no larger than the limit; ``remedy`` is for the error."""
    if is_sparse(matrix):
        rows, columns = matrix.shape
        require_memory(rows, columns, name, remedy, memory_limit)
    return as_dense(matrix)


@explains_constructor
class QuadraticProgram(ExplainsMethods):
    r"""Quadratic program with inequality rows, equality rows and bounds.

    .. math::

        \min_x \; \tfrac{1}{2} x^\top P x + q^\top x \quad \text{subject to} \quad G x \le h, \;
        A x = b, \; \mathrm{lb} \le x \le \mathrm{ub}

    With multipliers :math:`z \ge 0` (for G), ``y`` (for A), :math:`z_\mathrm{lower} \ge 0` and
    :math:`z_\mathrm{upper} \ge 0`, a point is optimal exactly when it is feasible, complementary,
    and stationary,

    .. math::

        P x + q + G^\top z + A^\top y - z_\mathrm{lower} + z_\mathrm{upper} = 0.

    Parameters
    ----------
    P : array, sparse matrix, Quadratic or None, shape (n, n)
        Symmetric; None for a linear program.
    q : array of shape (n,)
        Linear term.
    G, h : array or sparse matrix of shape (m, n), array of shape (m,); optional
        An entry of h may be ``+inf``: that row does not bind.
    A, b : array or sparse matrix of shape (p, n), array of shape (p,); optional
        Equality rows and their right-hand side.
    lb, ub : arrays of shape (n,) or scalars; optional
        ``-inf`` and ``+inf`` (the default) for no bound.
    names : mapping, optional
        For people: what the variables and rows are, shown by ``repr``.
    check_psd : bool
        Compute the smallest eigenvalue of P and refuse an indefinite one.

    Raises
    ------
    InvalidProgramError
        Shapes that disagree, NaN, an asymmetric P, :math:`\mathrm{lb} > \mathrm{ub}`; names that
        are no mapping.
    NotPositiveSemidefiniteError
        With ``check_psd``: P has a negative eigenvalue (in the message).

    Notes
    -----
    Arrays are read-only, and copies unless nobody can write to them: the program never changes.
    Boyd and Vandenberghe, *Convex Optimization*, section 4.4 (the program) and 5.5.3 (its
    optimality conditions).

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram(P=[[1.0]], q=[-3.0], ub=[2.0])
    >>> program.objective([2.0])
    -4.0
    >>> program
    QuadraticProgram(1 variable, 0 inequalities, 0 equalities, 1 finite bound, P dense)
    """

    solution_type: ClassVar[type[QPSolution]] = QPSolution

    __slots__ = ("A", "G", "P", "_convexity", "b", "h", "lb", "names", "q", "ub")

    P: Quadratic
    q: Vector
    G: Matrix
    h: Vector
    A: Matrix
    b: Vector
    lb: Vector
    ub: Vector
    names: Mapping[str, str]

    def __init__(
        self,
        P: MatrixLike | Quadratic | None = None,
        q: VectorLike | None = None,
        G: MatrixLike | None = None,
        h: VectorLike | None = None,
        A: MatrixLike | None = None,
        b: VectorLike | None = None,
        lb: VectorLike | None = None,
        ub: VectorLike | None = None,
        *,
        names: Mapping[str, str] | None = None,
        check_psd: bool = False,
    ) -> None:
        if q is None:
            raise InvalidProgramError("q is missing; pass the linear term, zeros if there is none.")
        linear = as_vector(q, "q")
        require_finite(linear, "q")
        size = linear.shape[0]
        if size == 0:
            raise InvalidProgramError("q is empty; a program needs at least one variable.")
        fields: dict[str, object] = {"q": linear, "P": as_quadratic(P, size)}
        for matrix_name, vector_name, matrix, vector in (("G", "h", G, h), ("A", "b", A, b)):
            if (matrix is None) != (vector is None):
                raise InvalidProgramError(
                    f"{matrix_name} and {vector_name} belong together, but "
                    f"{matrix_name if matrix is None else vector_name} is missing."
                )
            rows = as_matrix(matrix, matrix_name, size)
            fields[matrix_name] = rows
            fields[vector_name] = as_vector(vector, vector_name, rows.shape[0])
        fields["lb"] = as_vector(lb, "lb", size, fill=-np.inf)
        fields["ub"] = as_vector(ub, "ub", size, fill=np.inf)
        fields["names"] = _as_names(names)
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._require_consistent_bounds()
        require_flag(check_psd, "check_psd")
        if check_psd:
            self.P.require_positive_semidefinite()

    def _require_consistent_bounds(self) -> None:
        require_finite(self.b, "b")
        for name, vector, impossible in (
            ("h", self.h, -np.inf),
            ("lb", self.lb, np.inf),
            ("ub", self.ub, -np.inf),
        ):
            is_bad = np.isnan(vector) | (vector == impossible)
            if is_bad.any():
                first = int(np.argmax(is_bad))
                raise InvalidProgramError(
                    f"{name}[{first}] is {vector[first]} ({is_bad.sum()} such entries); "
                    f"leave a bound out with {-impossible}."
                )
        crossed = self.lb > self.ub
        if crossed.any():
            i = int(np.argmax(crossed))
            raise InvalidProgramError(
                f"lb > ub for {crossed.sum()} variables, first for x[{i}]: "
                f"{self.lb[i]} > {self.ub[i]}; no point can satisfy both."
            )

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"QuadraticProgram is immutable; build a new one instead of setting {name!r}."
        )

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def __reduce__(self) -> tuple[object, ...]:
        arguments = (self.P, self.q, self.G, self.h, self.A, self.b, self.lb, self.ub)
        return _rebuild, (arguments, dict(self.names))

    def replace(self, **parts: object) -> QuadraticProgram:
        """A program with other ``parts``, such as ``G`` and ``h``; None leaves a part out."""
        own = {name: getattr(self, name) for name in self.__slots__ if name != "_convexity"}
        replaced = QuadraticProgram(**(own | parts))
        known = getattr(self, "_convexity", None)
        if known is not None and replaced.P is self.P:
            object.__setattr__(replaced, "_convexity", known)
        return replaced

    # --- sizes ---------------------------------------------------------------------------------

    @property
    def n_variables(self) -> int:
        """Number of variables n."""
        return int(self.q.shape[0])

    @property
    def n_inequalities(self) -> int:
        """Number of rows of G, without bounds."""
        return int(self.h.shape[0])

    @property
    def n_equalities(self) -> int:
        """Number of rows of A."""
        return int(self.b.shape[0])

    @property
    def is_linear(self) -> bool:
        """Return whether P is a stored matrix of zeros: a linear program."""
        matrix = getattr(self.P, "matrix", None)
        if matrix is None or self.P.diagonal().any():  # the quick look that nearly always decides
            return False
        return bool(matrix.count_nonzero() == 0 if sp.issparse(matrix) else not matrix.any())

    @property
    def is_convex(self) -> bool:
        """Return whether P is positive semidefinite up to rounding; computed once.

        Without it a stationary point proves nothing, and no verifier passes it.
        ``qpsvm.qp.convexity`` has the tolerance.
        """
        return self.convexity.is_convex

    @property
    def convexity(self) -> Convexity:
        """Test whether P is semidefinite, with the shift that rounding requires."""
        known: Convexity | None = getattr(self, "_convexity", None)
        if known is None:
            known = self.P.convexity()
            object.__setattr__(self, "_convexity", known)
        return known

    # --- values --------------------------------------------------------------------------------

    def objective(self, x: VectorLike) -> float:
        """``1/2 x'Px + q'x`` for x of shape (n,)."""
        point = as_vector(x, "x", self.n_variables)
        return self.P.value(point) + float(self.q @ point)

    def dual_objective(
        self, x: VectorLike, z: VectorLike, y: VectorLike, z_lower: VectorLike, z_upper: VectorLike
    ) -> float:
        """``-1/2 x'Px - h'z - b'y + lb'z_lower - ub'z_upper``, finite bounds only.

        A lower bound on the optimum whenever the multipliers are non-negative and stationarity
        holds (Dorn's dual; Boyd and Vandenberghe, section 5.2.4).

        Parameters
        ----------
        x : array of shape (n,)
        z, y : arrays of shape (m,) and (p,)
        z_lower, z_upper : arrays of shape (n,)
        """
        n = self.n_variables
        return dual_value(
            self,
            self.P.value(as_vector(x, "x", n)),
            as_vector(z, "z", self.n_inequalities),
            as_vector(y, "y", self.n_equalities),
            as_vector(z_lower, "z_lower", n),
            as_vector(z_upper, "z_upper", n),
        )

    # --- the textbook form -----------------------------------------------------------------------

    def canonical(
        self, storage: Storage = "natural", *, memory_limit: int | None = None
    ) -> CanonicalForm:
        r"""Return the textbook's P, q, G, h, A, b; ``canonical("cvxopt")`` is for CVXOPT.

        ``cvxopt.solvers.qp(*program.canonical("cvxopt"))``: it takes no matrices but its own.
        Bounds are folded into G and h. Rows of G come in this order: the program's own (finite)
        rows, :math:`-x_i \le -\mathrm{lb}_i` for the finite lower bounds, :math:`x_i \le
        \mathrm{ub}_i` for the finite upper bounds.

        Parameters
        ----------
        storage : {"natural", "dense", "sparse", "cvxopt"}
            ``"natural"``: each matrix as the program stores it; G is sparse when bounds were
            folded in, because a dense identity would be larger than P. ``"dense"``: NumPy arrays.
            ``"sparse"``: CSC arrays. ``"cvxopt"``: as ``"natural"``, in CVXOPT's own matrices.
        memory_limit : int, optional
            Bytes any one dense matrix may take (default: a quarter of the machine's memory).

        Returns
        -------
        CanonicalForm
            A named tuple that unpacks into the six. ``qpsvm.qp.from_canonical`` is the way back
            for what a solver makes of them.

        Raises
        ------
        MemoryLimitError
            A dense matrix would be larger than the limit.
        MissingPackageError
            ``"cvxopt"`` without CVXOPT.
        InvalidProgramError
            Unknown storage.

        Examples
        --------
        >>> P, q, G, h, A, b = QuadraticProgram([[2.0]], [1.0], lb=[0.0]).canonical("dense")
        >>> G, h
        (array([[-1.]]), array([0.]))
        """
        if not isinstance(storage, str) or storage not in get_args(Storage):
            raise InvalidProgramError(
                f"storage is {storage!r}; choose 'natural', 'dense', 'sparse' or 'cvxopt'."
            )
        binding = np.flatnonzero(np.isfinite(self.h))
        G, A = self.G, self.A
        if binding.size < self.n_inequalities:
            G = take_rows(G, binding)
        G, h, _, _ = fold(G, self.h[binding], self.lb, self.ub)
        sparse = storage == "sparse" or (storage != "dense" and self.P.prefers_sparse)
        P = self.P.to_sparse(memory_limit) if sparse else self.P.to_dense(memory_limit)
        if storage == "dense":
            remedy = "ask for storage='natural' or 'sparse'."
            G, A = (dense_matrix(M, k, remedy, memory_limit) for M, k in ((G, "G"), (A, "A")))
        elif storage == "sparse":
            G, A = sp.csc_array(G), sp.csc_array(A)
        form = CanonicalForm(P, self.q, G, h, A, self.b)
        return CanonicalForm(*map(as_cvxopt, form)) if storage == "cvxopt" else form

    # --- identity --------------------------------------------------------------------------------

    def fingerprint(self) -> str:
        """SHA-256 over the numbers of the program, as 16 hexadecimal digits.

        Structured Hessians are hashed through the parts that define them, not through P.
        """
        digest = hashlib.sha256()
        for part in (self.q, self.G, self.h, self.A, self.b, self.lb, self.ub):
            _update(digest, part)
        digest.update(type(self.P).__name__.encode())
        for part in self.P.parts():
            _update(digest, part)
        return digest.hexdigest()[:16]

    def __repr__(self) -> str:
        bounds = int(np.isfinite(self.lb).sum() + np.isfinite(self.ub).sum())
        kind = type(self.P).__name__.removesuffix("Quadratic").lower()
        kind = {"lowrank": "low-rank"}.get(kind, kind)
        return wrapped(
            f"QuadraticProgram({_count(self.n_variables, 'variable', 'variables')}, "
            f"{_count(self.n_inequalities, 'inequality', 'inequalities')}, "
            f"{_count(self.n_equalities, 'equality', 'equalities')}, "
            f"{_count(bounds, 'finite bound', 'finite bounds')}, P {kind})"
        )


def _as_names(names: object) -> dict[str, str]:
    """A copy of the names for people; empty if None.

    Raises
    ------
    InvalidProgramError
        No mapping.
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping):
        raise InvalidProgramError(
            f"names is {names!r}; pass a mapping such as {{'x': 'weights'}}, or None."
        )
    return dict(names)


def _rebuild(arguments: tuple[Any, ...], names: dict[str, str]) -> QuadraticProgram:
    P, q, G, h, A, b, lb, ub = arguments
    return QuadraticProgram(P, q, G, h, A, b, lb, ub, names=names)


def dual_value(
    p: QuadraticProgram, quadratic: float, z: Vector, y: Vector, z_lower: Vector, z_upper: Vector
) -> float:
    """Compute the dual objective from ``1/2 x'Px`` and multipliers; finite bounds only."""
    rows = -quadratic - finite_dot(p.h, z) - float(p.b @ y)
    return rows + finite_dot(p.lb, z_lower) - finite_dot(p.ub, z_upper)


def finite_dot(bounds: Vector, multipliers: Vector) -> float:
    """``sum_j bound_j multiplier_j`` over the finite bounds."""
    finite = np.isfinite(bounds)
    if finite.all():
        return float(bounds @ multipliers)
    return float(bounds[finite] @ multipliers[finite])


def _update(digest: Any, part: Any) -> None:
    if sp.issparse(part):
        compressed = part.tocsc()
        # SciPy chooses 32 or 64 bits for indices as it pleases
        for piece in (compressed.data, *map(np.int64, (compressed.indices, compressed.indptr))):
            digest.update(np.ascontiguousarray(piece).tobytes())
        digest.update(repr(part.shape).encode())
    elif isinstance(part, np.ndarray | SinglePrecision):
        digest.update(bytes_of(part))
        digest.update(repr(part.shape).encode())
    else:
        digest.update(repr(part).encode())


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


# --- the rows' part of the gradient -------------------------------------------------------------


def row_gradient(program: QuadraticProgram, z: Vector, y: Vector) -> Vector:
    """Compute ``G'z + A'y``, the constraints' part of the Lagrangian's gradient, shape (n,)."""
    # most programs have no rows of one kind, and SciPy takes as long for none as for a hundred
    parts = [np.asarray(M.T @ v) for M, v in ((program.G, z), (program.A, y)) if len(v)]
    return sum(parts, start=np.zeros(program.n_variables))


def row_gradient_sizes(program: QuadraticProgram, z: Vector, y: Vector) -> Vector:
    """Compute ``|G|'|z| + |A|'|y|``, the sums of absolute terms of ``G'z + A'y``, shape (n,)."""
    rows = ((program.G, z), (program.A, y))
    parts = [np.asarray(abs(M).T @ np.abs(v)) for M, v in rows if len(v)]
    return sum(parts, start=np.zeros(program.n_variables))
