"""Break one number of a model that passes: it never passes again, unless the textbook says so.

Whether a change did harm is judged by ``peers``: by the model's own predictions, the textbook's
formulas and an independent optimum.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp

import qpsvm
from qpsvm.exceptions import AuditRefusedError
from tests.audit.peers import BY_NAME, PEERS, fitted
from tests.strategies import numbered

NAMES = [peer.name for peer in PEERS if peer.stops[1]]
EXACT = pytest.mark.parametrize("name", NAMES)
SHARES = 6


def mutants(model):
    """(what, copy with one number changed), in the public attributes and what predicts."""
    last = model[-1] if hasattr(model, "steps") else model
    dual = hasattr(last, "dual_coef_")
    name = "dual_coef_" if dual else "coef_"
    numbers = getattr(last, name)
    numbers = numbers.toarray() if sp.issparse(numbers) else np.atleast_2d(numbers)
    rng = np.random.default_rng(1)
    for factor in (0.0, 0.7, 1.3, -1.0):
        row = int(rng.integers(len(numbers)))
        column = int(np.argsort(-np.abs(numbers[row]))[rng.integers(3)])
        changed = numbers.copy()
        changed[row, column] *= factor
        yield f"{name}[{row}, {column}] x {factor}", with_numbers(model, name, changed)
    b = np.atleast_1d(np.asarray(last.intercept_, dtype=float))
    for shift in (-0.1, 0.03, 1.0):
        yield f"intercept + {shift}", with_numbers(model, "intercept_", b + shift)


def with_numbers(model, name, numbers):
    changed = copy.deepcopy(model)
    last = changed[-1] if hasattr(changed, "steps") else changed
    own = getattr(last, name)
    value = numbers
    if sp.issparse(own):
        value = own.copy()
        value.data = numbers.ravel()
    elif np.ndim(own) == 1:
        value = np.ravel(numbers)
    if hasattr(last, f"_{name}"):  # scikit-learn predicts with a copy, turned for two classes
        kept = getattr(last, f"_{name}")
        same = (kept != own).sum() == 0 if sp.issparse(own) else np.array_equal(kept, own)
        setattr(last, f"_{name}", value if same else -value)
    if name in ("dual_coef_", "coef_", "intercept_"):
        setattr(last, name, value)
    return changed


@numbered("share", SHARES, quick=1)
@EXACT
def test_no_mutated_model_passes_and_does_harm(name, share):
    """A share of the mutants at a time, another one from library to library."""
    peer = BY_NAME[name]
    model, X, y, u = fitted(name, True)
    harmful = 0
    chosen = list(mutants(model))[(share + NAMES.index(name)) % SHARES :: SHARES]
    for what, mutant in chosen:
        try:
            found = qpsvm.audit(mutant, X, y, sample_weight=u, eps=peer.eps)
        except AuditRefusedError:
            harmful += 1
            continue
        truths = peer.truths(mutant, X, y, u)
        excess = max((t.objective - t.optimum) / abs(t.optimum) for t in truths)
        if excess > 2.0 * peer.eps:
            harmful += 1
            assert not found.passed, what
            worst = max(m.optimum.excess for m in found.machines)
            # infinite: an intercept where the program has none
            assert worst == pytest.approx(excess, rel=1e-3) or worst == np.inf
    assert harmful >= len(chosen) - 1
