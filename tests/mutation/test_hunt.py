"""A small hunt for a false PASS: the code of ``benchmarks/soundness``, which runs it at length."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.soundness import report
from benchmarks.soundness.exact_part import AUDITS, BARE, MACHINES, PER_PROBLEM
from benchmarks.soundness.exact_part import hunt_block as hunt_exact
from benchmarks.soundness.family_part import DRAWS, examine, hunt_block, make_mutant
from benchmarks.soundness.fields import find_field
from benchmarks.soundness.hunt import hunt_in, part_of, seeds_of
from benchmarks.soundness.tally import Tally, as_json, is_done
from tests.strategies import listed, numbered

SEED = 20_000
ROOT = Path(__file__).resolve().parents[2]


@numbered("index", 6, quick=2)
def test_no_mutant_passes_and_does_harm_and_no_certificate_is_wrong(index: int) -> None:
    tally = Tally()
    hunt_block(SEED, index, range(index * DRAWS, index * DRAWS + 15), tally)
    assert tally.suspicious == []
    assert tally.outcomes.total() == 15


@listed("part", [MACHINES, AUDITS, BARE], quick=2)
@numbered("index", 4, quick=1)
def test_nothing_is_said_that_exact_arithmetic_denies(part: str, index: int) -> None:
    count = PER_PROBLEM[part]
    tally = Tally()
    hunt_exact(part, SEED, range(index * count, (index + 1) * count), tally)
    assert tally.suspicious == []
    assert tally.outcomes.total() == count


def test_every_part_of_the_hunt_has_its_turn() -> None:
    assert {part_of(index) for index in range(20)} == {"families", BARE, MACHINES, AUDITS}


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


@pytest.mark.exhaustive
def test_a_draw_is_its_number_and_its_seed() -> None:
    for index in (0, 1, 2, 19):  # one of every part
        first, second = (hunt_in(("", SEED, index, 4)) for _ in range(2))
        assert first.cells == second.cells
        assert first.worst == second.worst
    draws = [make_mutant(find_field(SEED, 1), SEED, DRAWS + 3)[0] for _ in range(2)]
    assert draws[0] == draws[1]


def test_the_page_is_made_of_the_results() -> None:
    hunts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(report.files())]
    assert (ROOT / "docs" / "soundness.md").read_text(encoding="utf-8") == report.whole_page()
    assert sum(hunt["count"] for hunt in hunts) >= 100_000
    assert not any(hunt["suspicious"] for hunt in hunts)
    for hunt in hunts:
        counted = [n for (_, axis, *_), n in report.cells_of(hunt).items() if axis == report.KIND]
        assert sum(counted) == hunt["count"]


def test_what_was_found_is_on_the_page() -> None:
    tally = hunt_in(("", SEED, 0, 5))
    tally.count(MACHINES, {"mutation": "moved", "family": "tube"}, "FALSE PASS", 3.0)
    tally.count(BARE, {"mutation": "what", "answer": "osqp | plain"}, "FALSE PASS", None)
    tally.suspicious.append({"draw": 7, "seed": SEED, "harm": ["costs 3 eps too much"]})
    page = report.page([json.loads(as_json(tally, 7, SEED, 1.0))])
    assert "**2 of" in page
    assert "costs 3 eps too much" in page
    assert "| plain | osqp | 0 | 1 | 0 | 0.0% |" in page


def test_a_hunt_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    path = tmp_path / "seed-0.json"
    assert not is_done(path, 5)
    path.write_text(as_json(Tally(), 5, 0, 1.0), encoding="utf-8")
    assert is_done(path, 5)
    assert not is_done(path, 6)
    other = json.loads(path.read_text(encoding="utf-8")) | {"code": "of last week"}
    path.write_text(json.dumps(other), encoding="utf-8")
    assert not is_done(path, 5)
    assert seeds_of("0-2,7") == [0, 1, 2, 7]
