r"""The program as a LaTeX formula, with the shapes of its matrices.

The result needs the packages amsmath and amssymb. Numbers are printed in full, never rounded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from qpsvm.numerics.arrays import Matrix, Vector, is_sparse
from qpsvm.qp.kernel_quadratic import KernelQuadratic
from qpsvm.qp.low_rank import LowRankQuadratic
from qpsvm.qp.program import QuadraticProgram
from qpsvm.qp.quadratic import Quadratic

_SYMBOLS = {key: key for key in ("x", "P", "q", "G", "h", "A", "b")} | {"lb": r"\ell", "ub": "u"}
_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
    "upsilon phi chi psi omega"
)
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


def latex(program: QuadraticProgram, *, names: Mapping[str, str] | None = None) -> str:
    r"""Format ``minimise 1/2 x'Px + q'x  subject to  Gx <= h, Ax = b, lb <= x <= ub`` as LaTeX.

    Parts that do not exist are left out: a zero P or q, missing rows, infinite bounds. Bounds that
    are the same for every variable appear as numbers. The last lines give the shapes, and how a
    structured P is stored.

    Parameters
    ----------
    program : QuadraticProgram
        Nothing is evaluated: a kernel stays a kernel.
    names : mapping, optional
        Names for ``x``, ``P``, ``q``, ``G``, ``h``, ``A``, ``b``, ``lb`` and ``ub`` (default:
        those of the program); others are ignored. A letter, Latin or Greek by name, replaces the
        symbol. Anything else, such as a list of parts separated by commas, is said in a line of
        its own, as escaped text.

    Returns
    -------
    str
        A display with an ``aligned`` environment, for a document with amsmath and amssymb.

    Examples
    --------
    >>> from qpsvm.qp import QuadraticProgram
    >>> program = QuadraticProgram([[2.0]], [-1.0], lb=0.0, ub=10.0, names={"x": "alpha"})
    >>> print(latex(program))
    \[
    \begin{aligned}
    \underset{\alpha \in \mathbb{R}^{1}}{\text{minimise}} \quad
      & \tfrac{1}{2} \alpha^\top P \alpha + q^\top \alpha \\
    \text{subject to} \quad
      & 0 \le \alpha_i \le 10, \quad i = 1 \\
    \text{where} \quad
      & P \in \mathbb{R}^{1 \times 1} \text{ (dense)} \\
      & q \in \mathbb{R}^{1}
    \end{aligned}
    \]
    """
    symbols, meanings = _named(program.names if names is None else names)
    x, n = symbols["x"], program.n_variables
    groups = [
        (rf"\underset{{{x} \in {_space(n)}}}{{\text{{minimise}}}}", [_objective(program, symbols)]),
        (r"\text{subject to}", _constraints(program, symbols)),
        (r"\text{where}", meanings + _shapes(program, symbols)),
    ]
    rows = [
        (rf"{label} \quad" + "\n" if i == 0 else "") + f"  & {line}"
        for label, lines in groups
        for i, line in enumerate(lines)
    ]
    body = " \\\\\n".join(rows)
    return f"\\[\n\\begin{{aligned}}\n{body}\n\\end{{aligned}}\n\\]"


def _named(names: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The symbol of each part, and a definition for every name that is not a symbol."""
    symbols = dict(_SYMBOLS)
    meanings = []
    for key in _SYMBOLS.keys() & names.keys():
        parts = [_name(part) for part in str(names[key]).split(",")]
        if len(parts) > 1:
            meanings.append(f"{_SYMBOLS[key]} = ({', '.join(parts)})")
        elif parts[0].startswith(r"\text{"):
            meanings.append(f"{_SYMBOLS[key]} = {parts[0]}")
        else:
            symbols[key] = parts[0]
    return symbols, sorted(meanings)


# --- the lines -----------------------------------------------------------------------------------


def _objective(program: QuadraticProgram, symbols: Mapping[str, str]) -> str:
    x, P, q = symbols["x"], symbols["P"], symbols["q"]
    terms = [] if program.is_linear else [rf"\tfrac{{1}}{{2}} {x}^\top {P} {x}"]
    terms += [rf"{q}^\top {x}"] * bool(program.q.any())
    return " + ".join(terms) or "0"


def _constraints(program: QuadraticProgram, symbols: Mapping[str, str]) -> list[str]:
    x, n = symbols["x"], program.n_variables
    lines = []
    if program.n_inequalities:
        lines.append(rf"{symbols['G']} {x} \le {symbols['h']}")
    if program.n_equalities:
        lines.append(f"{symbols['A']} {x} = {symbols['b']}")
    lower, upper = _bound(program.lb, symbols["lb"]), _bound(program.ub, symbols["ub"])
    if lower or upper:
        if lower and upper:
            box = rf"{lower} \le {x}_i \le {upper}"
        else:
            box = rf"{x}_i \ge {lower}" if lower else rf"{x}_i \le {upper}"
        range_of_i = {1: "1", 2: "1, 2"}.get(n, rf"1, \dots, {n}")
        lines.append(rf"{box}, \quad i = {range_of_i}")
    return lines


def _bound(bound: Vector, symbol: str) -> str:
    if (bound == bound[0]).all():
        return "" if np.isinf(bound[0]) else _number(float(bound[0]))
    return f"{symbol}_i"


def _shapes(program: QuadraticProgram, symbols: Mapping[str, str]) -> list[str]:
    n = program.n_variables
    lines = []
    if not program.is_linear:
        lines.append(rf"{symbols['P']} \in {_space(n, n)}" + _words(_hessian(program.P)))
    if program.q.any():
        lines.append(rf"{symbols['q']} \in {_space(n)}")
    for name, side in (("G", "h"), ("A", "b")):
        matrix, vector = getattr(program, name), getattr(program, side)
        if vector.size:
            shape = rf"{symbols[name]} \in {_space(*matrix.shape)}" + _words(_storage(matrix))
            lines.append(rf"{shape}, \quad {symbols[side]} \in {_side_space(vector)}")
    for name in ("lb", "ub"):
        bound = getattr(program, name)
        if not (bound == bound[0]).all():
            lines.append(rf"{symbols[name]} \in {_side_space(bound)}")
    return lines


# --- the words -----------------------------------------------------------------------------------


def _space(*shape: int) -> str:
    sizes = r" \times ".join(map(str, shape))
    return rf"\mathbb{{R}}^{{{sizes}}}"


def _side_space(vector: Vector) -> str:
    infinite = vector[np.isinf(vector)]
    if not infinite.size:
        return _space(vector.size)
    infinity = r"\infty" if infinite[0] > 0 else r"-\infty"
    return rf"(\mathbb{{R}} \cup \{{{infinity}\}})^{{{vector.size}}}"


def _hessian(P: Quadratic) -> str:
    if isinstance(P, KernelQuadratic):
        return "kernel matrix, evaluated on demand"
    if isinstance(P, LowRankQuadratic):
        rank = f"rank at most {min(P.factor.shape)}"
        return f"{rank} plus diagonal" if P.diag.any() else rank
    matrix = getattr(P, "matrix", None)
    return "evaluated on demand" if matrix is None else _storage(matrix)


def _storage(matrix: Matrix) -> str:
    if is_sparse(matrix):
        return f"sparse, {matrix.nnz} non-zero{'s' * (matrix.nnz != 1)}"
    return "dense"


def _words(text: str) -> str:
    return rf" \text{{ ({text})}}"


def _name(text: str) -> str:
    words = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if words in _GREEK.split():
        return "\\" + words
    if re.fullmatch("[A-Za-z]", words):
        return words
    return rf"\text{{{escape(words)}}}"


def escape(text: str) -> str:
    """Escape a text for LaTeX."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def _number(value: float) -> str:
    mantissa, _, exponent = repr(value + 0.0).removesuffix(".0").partition("e")
    if not exponent:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return {"1": power, "-1": f"-{power}"}.get(mantissa, rf"{mantissa} \cdot {power}")
