"""The exact optimum of small machines, in rational numbers: an oracle for rigorous bounds.

Nothing here is rounded and nothing is shared with the library. A family's dual program is written
with the numbers its user gave (``t - epsilon``, ``C / n``, ``1/(2C)`` are fractions) and solved as
a linear complementarity problem by Lemke's method: pivots on integers, no tolerance, ties broken
lexicographically. Then the textbook's cost of the machine that belongs to the solution is
evaluated, and has to *equal* the dual value: that proves both of them optimal.

Sources: Cottle, Pang and Stone, *The Linear Complementarity Problem* (1992), sections 4.4 and 4.9;
Edmonds, "Systems of distinct representatives and linear algebra", *J. Res. NBS* 71B (1967), for
pivots that stay integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

Number = Fraction
Row = list[Fraction]

ZERO, ONE = Fraction(0), Fraction(1)


def exact(values: Any) -> Any:
    """A float, nested lists of them, or a sparse array, as fractions."""
    if hasattr(values, "toarray"):
        return exact(values.toarray())
    if isinstance(values, list | tuple):
        return [exact(value) for value in values]
    if hasattr(values, "tolist"):
        return exact(values.tolist())
    return Fraction(values)


def dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    """a'b over one common denominator: reduced once, and not after every term."""
    terms = [
        (x.numerator * y.numerator, x.denominator * y.denominator)
        for x, y in zip(a, b, strict=True)
        if x and y
    ]
    common = math.lcm(*(denominator for _, denominator in terms))
    return Fraction(sum(n * (common // denominator) for n, denominator in terms), common)


def times(A: Sequence[Row], x: Row) -> Row:
    return [dot(row, x) for row in A]


# --- programs ------------------------------------------------------------------------------------


def complementarity(M: list[Row], q: Row) -> Row | None:
    """z >= 0 with ``w = M z + q >= 0`` and ``z'w = 0``, for ``x'Mx >= 0``; None if none exists.

    Lemke's method: ``w = M z + q + z0`` is followed from a large z0 to zero. Ties are broken as if
    q had been moved by (e, e^2, ...), so that no basis comes again.
    """
    n = len(q)
    scale = math.lcm(*(value.denominator for row in [*M, q] for value in row))
    T = [
        [*(int(value * scale) for value in row), 1, int(last * scale)]
        for row, last in zip(M, q, strict=True)
    ]
    D = 1  # entries are T / D; w and z0 are times the scale, which changes no z and no sign
    basic, others = list(range(n, 2 * n)), [*range(n), 2 * n]  # z, then w, then z0
    if all(row[-1] >= 0 for row in T):
        return [ZERO] * n
    r, entering = max(range(n), key=lambda i: (-T[i][-1], i)), n
    while True:
        D = _pivot(T, r, entering, D)
        basic[r], others[entering] = others[entering], basic[r]
        left = others[entering]
        if left == 2 * n:
            z = dict(zip(basic, T, strict=True))
            return [Fraction(z[i][-1], D) if i in z else ZERO for i in range(n)]
        entering = others.index(left - n if left >= n else left + n)
        found = _leaving(T, D, basic, others, entering)
        if found is None:
            return None
        r = found


def _leaving(T: list[list[int]], D: int, basic: Any, others: Any, entering: int) -> int | None:
    """The row that reaches zero first as a variable rises; z0 before others that do as well."""
    n = len(T)
    best: list[int] = []
    for i, row in enumerate(T):
        if row[entering] >= 0:
            continue
        if best:
            first = T[best[0]]
            apart = row[-1] * first[entering] - first[-1] * row[entering]  # both slopes < 0
            if apart < 0:
                continue
            if apart == 0:
                best.append(i)
                continue
        best = [i]
    if len(best) < 2:
        return best[0] if best else None
    if 2 * n in (basic[i] for i in best):
        return next(i for i in best if basic[i] == 2 * n)
    for j in range(n, 2 * n):  # what each would be for a q_j that is larger
        if j in others:
            column = others.index(j)
            values = [Fraction(T[i][column], T[i][entering]) for i in best]
        else:
            values = [Fraction(-D * (basic[i] == j), T[i][entering]) for i in best]
        best = [i for i, value in zip(best, values, strict=True) if value == min(values)]
        if len(best) == 1:
            break
    return best[0]


def _pivot(T: list[list[int]], r: int, s: int, D: int) -> int:
    """The basic variable of row r changes places with that of column s; entries are T/D."""
    pivot, row = T[r][s], T[r]
    for i, other in enumerate(T):
        if i == r:
            continue
        factor = other[s]
        if factor:
            T[i] = [(a * pivot - factor * b) // D for a, b in zip(other, row, strict=True)]
        else:
            T[i] = [a * pivot // D for a in other]
        T[i][s] = factor
    T[r] = [-value for value in row]
    T[r][s] = D
    if pivot < 0:
        for i, other in enumerate(T):
            T[i] = [-value for value in other]
        return -pivot
    return pivot


def quadratic_program(P: list[Row], c: Row, G: list[Row], g: Row) -> tuple[Row, Row] | None:
    """x and the multipliers of ``min 1/2 x'Px + c'x`` subject to ``Gx >= g``, ``x >= 0``."""
    n, m = len(c), len(g)
    M = [[*P[i], *(-row[i] for row in G)] for i in range(n)]
    M += [[*row, *[ZERO] * m] for row in G]
    z = complementarity(M, [*c, *(-value for value in g)])
    return None if z is None else (z[:n], z[n:])


# --- kernels, exact ------------------------------------------------------------------------------


def gram(kernel: str, X: list[Row], Z: list[Row], gamma: Any = 1, p: int = 1, c: Any = 0) -> Any:
    """``k(x_i, z_j)``; exp and tanh to ``DIGITS`` digits."""
    gamma, c = Fraction(gamma), Fraction(c)
    if kernel == "precomputed":
        return X
    if kernel == "rbf":
        return [
            [_exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) for z in Z]
            for x in X
        ]
    products = [[dot(x, z) for z in Z] for x in X]
    if kernel == "linear":
        return products
    inside = [[gamma * value + c for value in row] for row in products]
    if kernel == "sigmoid":
        return [[_tanh(value) for value in row] for row in inside]
    return [[value**p for value in row] for row in inside]


DIGITS = 60


def _exp(x: Fraction) -> Fraction:
    if x < -3000:
        return ZERO  # below 1e-1300: beyond anything that is compared with it
    with localcontext() as context:
        context.prec = DIGITS + 20
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def _tanh(x: Fraction) -> Fraction:
    power = _exp(-2 * abs(x))
    return (1 if x > 0 else -1) * (1 - power) / (1 + power)


# --- machines with one decision function ---------------------------------------------------------


@dataclass(frozen=True)
class Condition:
    """``row'f + sign b`` has to reach ``required``; its dual variable is in [lower, upper]."""

    row: Row
    required: Fraction
    lower: Fraction | None = ZERO
    upper: Fraction | None = None
    curvature: Fraction = ZERO
    sign: Fraction | None = None

    @property
    def balance(self) -> Fraction:
        return sum(self.row, start=ZERO) if self.sign is None else self.sign


@dataclass(frozen=True)
class Machine:
    """What a cost depends on: ``|w|^2``, ``f(x_i)``, b and the width t."""

    square: Fraction
    f: Row
    b: Fraction
    t: Fraction = ZERO


@dataclass(frozen=True)
class Rule:
    """A constraint ``g'w + on_b b <= h``, or ``= h``, on a linear machine."""

    g: Row
    on_b: Fraction
    h: Fraction
    is_equality: bool


@dataclass(frozen=True)
class Program:
    """A training problem: its textbook cost, and the dual it is solved by.

    After those of the samples K has a row and a column for every rule, as if -g were a sample.
    """

    n: int
    K: list[Row]
    conditions: list[Condition]
    cost: Callable[[Machine], Fraction]
    intercept: str = "free"
    price: Fraction = ZERO
    width: int = 0
    width_price: Fraction = ZERO
    kappa: Fraction = ONE
    rules: Sequence[Rule] = ()


@dataclass(frozen=True)
class Optimum:
    """The value of a program, and one machine and one dual point that have it.

    beta are the coefficients of the samples (and then of the rules), or the weights of an L1-norm.
    """

    value: Fraction
    alpha: Any
    beta: Any
    b: Any = ZERO
    t: Fraction = ZERO


def machine(K: list[Row], n: int, beta: Row, b: Fraction, t: Fraction = ZERO) -> Machine:
    scores = times(K, beta)
    return Machine(dot(beta, scores), [g + b for g in scores[:n]], b, t)


def optimum(program: Program) -> Optimum | None:
    """The exact optimum, proved by equal primal and dual values; None if there is none."""
    m = len(program.K)
    conditions = program.conditions + [
        Condition(unit(m, program.n + i), -r.h, None if r.is_equality else ZERO, sign=-r.on_b)
        for i, r in enumerate(program.rules)
    ]
    rows = [c.row + [ZERO] * (m - len(c.row)) for c in conditions]
    signs, numbers = [c.balance for c in conditions], range(len(conditions))
    P = [
        [dot(of_a, b) / program.kappa for b in rows] for of_a in (times(program.K, a) for a in rows)
    ]
    for k, c in enumerate(conditions):
        P[k][k] += c.curvature
        if program.intercept == "penalized":
            P[k] = [value + signs[k] * sign for value, sign in zip(P[k], signs, strict=True)]
    # a = lower + x, or x+ - x- without a lower bound
    columns = [(k, ONE) for k in numbers]
    columns += [(k, -ONE) for k, c in enumerate(conditions) if c.lower is None]
    start = [c.lower or ZERO for c in conditions]

    def of_x(vector: Row) -> Row:
        return [sign * vector[k] for k, sign in columns]

    G, g = [], []
    for k, c in enumerate(conditions):
        if c.upper is not None:
            G.append(of_x(unit(len(conditions), k, -1)))
            g.append(start[k] - c.upper)
    if program.intercept == "free":
        missing = program.price - dot(signs, start)
        G += [of_x(signs), of_x([-sign for sign in signs])]
        g += [missing, -missing]
    if program.width:
        counted = [Fraction(-program.width * (k < len(program.conditions))) for k in numbers]
        G.append(of_x(counted))
        g.append(-program.width_price - dot(counted, start))
    linear = [dot(P[k], start) - c.required for k, c in enumerate(conditions)]
    hessian = [[sign * value for value in of_x(P[k])] for k, sign in columns]
    found = quadratic_program(hessian, of_x(linear), G, g)
    if found is None:
        return None
    x, multipliers = found
    alpha = list(start)
    for (k, sign), value in zip(columns, x, strict=True):
        alpha[k] += sign * value
    beta = [dot(alpha, column) / program.kappa for column in zip(*rows, strict=True)]
    t = multipliers.pop() if program.width else ZERO
    b = ZERO
    if program.intercept == "free":
        b = multipliers[-1] - multipliers[-2]
    elif program.intercept == "penalized":
        b = dot(signs, alpha)
    value = dot(alpha, [c.required for c in conditions]) - dot(alpha, times(P, alpha)) / 2
    if not allowed(program.rules, [-g for g in times(program.K, beta)[program.n :]], b):
        raise ArithmeticError("The oracle is wrong: its machine breaks a rule.")
    return proved(program.cost(machine(program.K, program.n, beta, b, t)), value, alpha, beta, b, t)


def allowed(rules: Sequence[Rule], values: Row, b: Fraction) -> bool:
    """``g'w + on_b b <= h`` (or ``= h``) for every rule, from the values ``g'w``."""
    misses = [value + rule.on_b * b - rule.h for rule, value in zip(rules, values, strict=True)]
    return all(
        miss == 0 if rule.is_equality else miss <= 0
        for rule, miss in zip(rules, misses, strict=True)
    )


def proved(cost: Fraction, value: Fraction, *found: Any) -> Optimum:
    """What was found, if the cost of the machine equals the value of the dual point."""
    if cost != value:
        raise ArithmeticError(f"The oracle is wrong: {float(cost)} is not {float(value)}.")
    return Optimum(value, *found)


def unit(n: int, i: int, value: Any = 1) -> Row:
    return [Fraction(value) if j == i else ZERO for j in range(n)]


# --- the other programs --------------------------------------------------------------------------


def l1_cost(
    F: list[Row], s: list[int], C: Row, w: Row, b: Fraction, *, on_b: bool, squared: bool
) -> Fraction:
    """``|w|_1 [+ |b|] + sum_i C_i max(0, 1 - s_i f_i)``, or with the squares of the violations."""
    margins = [sign * (dot(row, w) + b) for sign, row in zip(s, F, strict=True)]
    missed = [max(ZERO, 1 - margin) for margin in margins]
    return sum(map(abs, w)) + on_b * abs(b) + dot(C, [v * v if squared else v for v in missed])


def l1_optimum(F: list[Row], s: list[int], C: Row, intercept: str, *, squared: bool) -> Optimum:
    """``max 1'a [- a'diag(1/(4C))a]`` subject to ``|F'(s . a)|_inf <= 1``, ``0 <= a [<= C]``.

    And ``s'a = 0`` for a free intercept, ``|s'a| <= 1`` for a penalised one.
    """
    n, free, on_b = len(s), intercept == "free", intercept == "penalized"
    features = [[*row, ONE] for row in F] if on_b else F
    pulls = [
        [sign * value for sign, value in zip(s, column, strict=True)]
        for column in zip(*features, strict=True)
    ]
    q = len(pulls)
    G = [[-value for value in row] for row in pulls] + pulls
    g = [-ONE] * (2 * q)
    if not squared:
        G += [unit(n, i, -1) for i in range(n)]
        g += [-c for c in C]
    if free:
        G += [[Fraction(sign) for sign in s], [Fraction(-sign) for sign in s]]
        g += [ZERO, ZERO]
    P = [unit(n, i, 1 / (2 * c) if squared else ZERO) for i, c in enumerate(C)]
    found = quadratic_program(P, [-ONE] * n, G, g)
    assert found is not None
    alpha, multipliers = found
    w = [up - down for up, down in zip(multipliers[:q], multipliers[q : 2 * q], strict=True)]
    b = ZERO
    if on_b:
        b = w.pop()
    elif free:
        b = multipliers[-1] - multipliers[-2]
    value = sum(alpha, start=ZERO) - dot(alpha, times(P, alpha)) / 2
    return proved(l1_cost(F, s, C, w, b, on_b=on_b, squared=squared), value, alpha, w, b)


def joint_cost(K: list[Row], y: list[int], C: Row, betas: list[Row], b: Row) -> Fraction:
    """``1/2 sum_m (|w_m|^2 + b_m^2) + sum_i C_i max_m (f_m + 1 - [m = y_i]) - f_{y_i}``."""
    scores = [times(K, beta) for beta in betas]
    cost = sum((dot(beta, g) for beta, g in zip(betas, scores, strict=True)), start=dot(b, b)) / 2
    for i, own in enumerate(y):
        f = [g[i] + on_b for g, on_b in zip(scores, b, strict=True)]
        cost += C[i] * (max(value + (m != own) for m, value in enumerate(f)) - f[own])
    return cost


def joint_optimum(K: list[Row], y: list[int], C: Row, n_classes: int, penalized: bool) -> Optimum:
    """Variables ``x_im = -tau_im >= 0`` for the other classes, ``sum_m x_im <= C_i``."""
    pairs = [(i, m) for i, own in enumerate(y) for m in range(n_classes) if m != own]
    # w_m as coefficients of x: tau_{i,y_i} = sum_m x_im
    W = [[[ZERO] * len(K) for _ in pairs] for _ in range(n_classes)]
    for j, (i, m) in enumerate(pairs):
        W[m][j][i] -= 1
        W[y[i]][j][i] += 1
    inner = [[value + penalized for value in row] for row in K]
    P = [
        [sum((dot(times(inner, V[a]), V[b]) for V in W), start=ZERO) for b in range(len(pairs))]
        for a in range(len(pairs))
    ]
    G = [[-ONE if i == owner else ZERO for owner, _ in pairs] for i in range(len(y))]
    found = quadratic_program(P, [-ONE] * len(pairs), G, [-c for c in C])
    assert found is not None
    x, _ = found
    tau = [[dot(x, column) for column in zip(*V, strict=True)] for V in W]  # k rows of n
    b = [sum(row, start=ZERO) if penalized else ZERO for row in tau]
    value = sum(x, start=ZERO) - dot(x, times(P, x)) / 2
    return proved(joint_cost(K, y, C, tau, b), value, tau, tau, b)
