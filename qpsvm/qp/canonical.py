"""Conversion of any solver's solution of ``canonical()`` to a solution of the program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from qpsvm.exceptions import InvalidProgramError
from qpsvm.numerics.arguments import VectorLike, explains_calls
from qpsvm.numerics.arrays import Vector, stored
from qpsvm.qp.multipliers import multipliers_at
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.solution import QPSolution, Status
from qpsvm.qp.transforms import drop_infinite_rows, fold_bounds

SOURCE = "solution of the canonical form"
"""What ``native_status`` says where the solver said nothing."""


@explains_calls
def from_canonical(
    program: QuadraticProgram,
    x: VectorLike | Mapping[str, VectorLike] | None,
    z: VectorLike | None = None,
    y: VectorLike | None = None,
) -> QPSolution:
    r"""Convert a solution of ``program.canonical()`` to one of the program, for ``qpsvm.verify``.

    Parameters
    ----------
    program : QuadraticProgram
        The program whose canonical form was solved.
    x : array of shape (n,), or mapping
        The point; or everything by name, as ``cvxopt.solvers.qp`` returns it: ``x``, and ``z``,
        ``y`` and ``status`` if they are there.
    z : array of shape (rows of the canonical G,), optional
        Multipliers of :math:`G x \le h`, those of bounds among them.
    y : array of shape (p,), optional
        Multipliers of :math:`A x = b`.

    Returns
    -------
    QPSolution
        Its status is UNKNOWN: nothing was verified. Without z or y its multipliers are those that
        make x as stationary as it can be (``multipliers_at``).

    Raises
    ------
    InvalidProgramError
        A vector of another length, or multipliers that were given twice.

    Examples
    --------
    >>> import qpsvm
    >>> program = qpsvm.qp.QuadraticProgram([[1.0]], [-3.0], lb=[0.0], ub=[2.0])
    >>> solution = from_canonical(program, x=[2.0], z=[0.0, 1.0])  # -x <= 0 and x <= 2
    >>> solution.z_upper
    array([1.])
    >>> qpsvm.verify(program, solution).passed
    True
    >>> qpsvm.verify(program, from_canonical(program, [2.0])).passed
    True
    """
    said = SOURCE
    if isinstance(x, Mapping):
        if z is not None or y is not None:
            raise InvalidProgramError(
                "from_canonical got multipliers in x, which is a mapping, and others beside it; "
                "pass one of them."
            )
        answer, said = x, str(x.get("status", SOURCE))
        x, z, y = answer.get("x"), answer.get("z"), answer.get("y")
    binding, restore_rows = drop_infinite_rows(program)
    folded, unfold = fold_bounds(binding)
    p = program.n_equalities
    point = QPSolution(
        Status.UNKNOWN,
        x=_vector(x, "x", program.n_variables, "one for each variable"),
        z=_vector(z, "z", folded.n_inequalities, "one for each row of the canonical G"),
        y=_vector(y, "y", p, "one for each row of A"),
        native_status=said,
    )
    if point.z is not None and point.y is None and p == 0:
        point = point.replace(y=np.zeros(0))
    if point.y is not None and point.z is None and folded.n_inequalities == 0:
        point = point.replace(z=np.zeros(0))
    if point.z is not None and point.y is not None:
        none = np.zeros(program.n_variables)
        return restore_rows(unfold(point.replace(z_lower=none, z_upper=none)))
    if point.x is None:
        return point.replace(z=None, y=None)
    return multipliers_at(program, point.x).replace(native_status=said)


def _vector(values: VectorLike | None, name: str, size: int, what: str) -> Vector | None:
    if values is None:
        return None
    vector = stored(values, f"{name} of from_canonical", InvalidProgramError).ravel()
    if vector.shape != (size,):
        raise InvalidProgramError(
            f"{name} has {vector.size} entries, the canonical form has {size}, {what}; pass what "
            "the solver of program.canonical() returned."
        )
    return vector
