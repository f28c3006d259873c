"""Covers of a range of C and choices of a search, held against exact programs; and their judge."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from benchmarks.soundness import choices
from benchmarks.soundness.small_problems import Drawn, draw
from qpsvm.paths import certified_path
from qpsvm.selection import Choice, SVCSearch

pytestmark = pytest.mark.filterwarnings("ignore")

OVERLAPPING = Drawn(
    trait="ties",
    pricing="plain",
    X=np.array([[0.0], [1.0], [1.0], [2.0], [3.0], [4.0]]),
    y=np.array([-1, -1, 1, -1, 1, 1]),
    kernel=("linear", {}),
    C=0.1,
    intercept="free",
)


@pytest.mark.parametrize(
    ("seed", "count"), [(1, 8), pytest.param(0, 40, marks=pytest.mark.exhaustive)]
)
def test_no_cover_and_no_choice_contradicts_the_exact_programs(seed: int, count: int) -> None:
    counts = Counter[str]()
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        assert list(choices.judged(draw(rng), rng, counts)) == []
    assert counts["proven covers"] > 0
    assert counts["searches"] > 0


def test_the_judge_sees_a_machine_of_another_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args: Any, **more: Any) -> Any:
        cover = certified_path(*args, **more)
        far = certified_path(*args, **more | {"C": (50.0, 50.0)}).parts[0].machine.solution
        parts = [replace(p, machine=replace(p.machine, solution=far)) for p in cover.parts]
        monkeypatch.setattr(type(cover), "is_proven", True)
        return replace(cover, parts=tuple(parts))

    monkeypatch.setattr(choices.paths, "certified_path", wrong)
    assert list(choices.false_covers(OVERLAPPING, np.random.default_rng(0), Counter()))


@pytest.mark.parametrize("said", ["proven", "equal"])
def test_the_judge_sees_wrong_scores_and_wrong_differences(
    said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Wrong(SVCSearch):
        def fit(self, *args: Any, **more: Any) -> Any:
            super().fit(*args, **more)
            moved = self.choice_.lower + 0.4
            self.choice_ = replace(self.choice_, lower=moved, upper=moved)
            return self

    monkeypatch.setattr(choices, "SVCSearch", Wrong)
    monkeypatch.setattr(Choice, "between", lambda *_: said)
    found = list(choices.false_choices(OVERLAPPING, np.random.default_rng(0), Counter()))
    assert any(claim.startswith("score:") for claim in found)
    assert said == "equal" or any(claim.startswith("difference:") for claim in found)
