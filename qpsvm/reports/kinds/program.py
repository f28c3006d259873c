"""Reports on bare quadratic programs: residuals without samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from qpsvm.machines.samples import SampleTable
from qpsvm.plotting import Checks, Picture
from qpsvm.reports.kinds.base import Kind
from qpsvm.reports.solved import SolvedProblem


class Program(Kind):
    """A bare quadratic program, without samples."""

    name: ClassVar[str] = "program"

    def score(self, solved: SolvedProblem, table: SampleTable | None) -> float | None:
        del solved, table
        return None

    def pictures(
        self, solved: SolvedProblem, table: SampleTable | None
    ) -> Iterator[Picture | None]:
        del table
        yield Checks(solved.checks)
