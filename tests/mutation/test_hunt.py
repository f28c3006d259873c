"""A small hunt for a false PASS: the code of ``benchmarks/soundness``, which runs it at length."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soundness import report
from benchmarks.soundness.fields import find_field
from benchmarks.soundness.hunt import DRAWS, as_json, examine, hunt_in, make_mutant

SEED = 20_000
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("index", range(12))
def test_no_mutant_passes_and_does_harm_and_no_certificate_is_wrong(index: int) -> None:
    tally = hunt_in((SEED, index, 15))
    assert tally.suspicious == []
    assert tally.outcomes.total() == 15


def test_a_careless_verifier_is_caught() -> None:
    """What the hunt cannot find it proves nothing about: ask for eight digits, verify five."""
    found = find_field(SEED, 0)
    outcomes = []
    for number in range(60):
        with np.errstate(all="ignore"):
            kind, mutant, _ = make_mutant(found, SEED, number)
            if kind.startswith("fits, 1"):  # 1.1, 1.5, 10 or 100 eps from the optimum
                outcomes.append(examine(found, mutant, eps=1e-5).outcome)
    assert "FALSE PASS" in outcomes
    assert set(outcomes) <= {"FALSE PASS", "refused"}


def test_a_draw_is_its_number_and_its_seed() -> None:
    first, second = (hunt_in((SEED, 1, 10)) for _ in range(2))
    assert first.outcomes == second.outcomes
    assert first.worst == second.worst
    draws = [make_mutant(find_field(SEED, 1), SEED, DRAWS + 3)[0] for _ in range(2)]
    assert draws[0] == draws[1]


def test_the_page_is_made_of_the_results() -> None:
    hunts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(report.files())]
    assert (ROOT / "docs" / "soundness.md").read_text(encoding="utf-8") == report.page(hunts)
    assert sum(hunt["count"] for hunt in hunts) >= 100_000
    assert not any(hunt["suspicious"] for hunt in hunts)
    for hunt in hunts:
        assert sum(cell[-1] for cell in hunt["cells"]) == hunt["count"]


def test_what_was_found_is_on_the_page() -> None:
    tally = hunt_in((SEED, 0, 5))
    tally.outcomes["hinge", "dual", "rbf", "one value", "FALSE PASS"] += 1
    tally.suspicious.append({"draw": 7, "seed": SEED, "harm": ["costs 3 eps too much"]})
    page = report.page([json.loads(as_json(tally, 6, SEED, 1.0))])
    assert "**1 of" in page
    assert "costs 3 eps too much" in page
