"""The heuristics of both solvers, and the options that switch each of them off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

NEVER = 10**9
GONE = "deleted: blocks of pairs took its place"
NO_LONGER = "deleted: of no use after blocks of pairs"


@dataclass(frozen=True)
class Heuristic:
    """A heuristic that an option switches off.

    Attributes
    ----------
    name : str
    without : str
        What happens without it.
    options : mapping
        Fields of the solver's settings that switch it off; empty for one that was deleted.
    verdict : str
        What was decided, and why.
    shared : mapping
        The same of the numbers that every solve uses, ``BOX``.
    """

    name: str
    without: str
    options: Mapping[str, Any]
    verdict: str = "kept"
    shared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_deleted(self) -> bool:
        """Return whether the solver no longer has it."""
        return self.verdict.startswith("deleted")

    @property
    def is_measured(self) -> bool:
        """Return whether settings switch it off: others were measured by an edit."""
        return bool(self.options or self.shared)


HEURISTICS: dict[str, tuple[Heuristic, ...]] = {
    "ipm": (
        Heuristic(
            "correctors",
            "Mehrotra's predictor and corrector only",
            {},
            "deleted: with interior points",
        ),
        Heuristic("jumps", "no variable jumps to the central path", {}, "deleted"),
        Heuristic("fixing", "no variable is fixed on the way", {}, "deleted"),
        Heuristic(
            "starting points", "iterations on all variables", {}, "deleted: with interior points"
        ),
        Heuristic("descent", "no coordinate descent on tall programs", {}, "deleted"),
        Heuristic(
            "easy programs", "all starting points are smoothed", {}, "deleted: with interior points"
        ),
        Heuristic(
            "samples",
            "smoothing of all variables from the start",
            {},
            "deleted: with interior points",
        ),
        Heuristic(
            "few near", "margins do not say how to go on", {}, "deleted: see the second table"
        ),
        Heuristic("wide programs", "as tall ones", {}, "deleted: with interior points"),
        Heuristic("rough first", "one accuracy of smoothing", {}, "deleted: with interior points"),
        Heuristic("trial passes", "as many passes as there may be", {}, "deleted"),
        Heuristic("inner accuracy", "parts are solved to eps", {}, "deleted: with interior points"),
        Heuristic("first proximal term", "the least one", {}, "deleted"),
        Heuristic("light variables", "may stay in the system", {}, "deleted: with interior points"),
        Heuristic("more heavy ones", "as many as equations", {}, "deleted: with interior points"),
        Heuristic("corrector gain", "any gain will do", {}, "deleted"),
        Heuristic("long steps", "are corrected further", {}, "deleted: with interior points"),
        Heuristic("centrality range", "a narrower one", {}, "deleted: with interior points"),
        Heuristic("accurate directions", "one limit", {}, "deleted"),
        Heuristic("unchecked directions", "all are checked", {}, "deleted"),
        Heuristic("fixing again", "at every iteration", {}, "deleted"),
        Heuristic("fixing few", "however few there are", {}, "deleted"),
        Heuristic("several shares", "none or one share jumps", {}, "deleted"),
        Heuristic("jumps at the end", "as well", {}, "deleted"),
        Heuristic("copies", "samples are never copied", {"copied_share": 0.0}),
        Heuristic("pairs of features", "are never prepared", {"pair_cost": 1e9}),
        Heuristic("open radius", "twice as large", {}, "deleted: with interior points"),
        Heuristic("fewest open", "as many as there are", {}, "deleted: with interior points"),
        Heuristic("giving way", "never gives way to another backend", {}, "deleted"),
        Heuristic("long patience", "one patience", {}, "deleted: with interior points"),
    ),
    "ipm-again": (
        Heuristic("long patience", "one patience", {}, "deleted: with interior points"),
        Heuristic(
            "late pairs of features",
            "are prepared at once",
            {},
            "deleted: on 24 sparse programs of 20,000 and 40,000 samples it cost 5 %",
        ),
        Heuristic("limit of rounds", "no limit but that of iterations", {}, "deleted"),
        Heuristic(
            "negligible share", "every variable that adds to the gap comes in", {}, "deleted"
        ),
        Heuristic("known gap", "one measure of easy programs", {}, "deleted"),
        Heuristic("smoothing of easy programs", "that of the guess", {}, "deleted"),
        Heuristic("rough first", "one accuracy of smoothing", {}, "deleted: with interior points"),
        Heuristic("few near", "margins do not say how to go on", {}, "deleted"),
        Heuristic("more passes", "twenty for all descents on tall programs", {}, "deleted"),
        Heuristic("fewest open", "as many as there are", {}, "deleted: with interior points"),
        Heuristic("tolerance on tall programs", "that of wide ones", {}, "deleted"),
        Heuristic("third run", "two runs of descent at most", {}, "deleted"),
        Heuristic("interior steps", "ten, as everywhere else", {}, "deleted"),
        Heuristic("skipping passes", "all passes are whole ones", {}, "deleted"),
        Heuristic("aim of violations", "that of the gap", {}, "deleted"),
        Heuristic("accepted violation", "what the verifier accepts", {}, "deleted"),
        Heuristic("long steps", "are corrected further", {}, "deleted: with interior points"),
        Heuristic("inner accuracy", "parts are solved to eps", {}, "deleted: with interior points"),
        Heuristic(
            "low bounds",
            "no long first run on wide programs",
            {},
            "deleted",
        ),
        Heuristic(
            "any bounds",
            "a long first run on all wide programs",
            {},
            "deleted",
        ),
        Heuristic(
            "share of descent",
            "as long as the other way",
            {},
            "deleted",
        ),
        Heuristic(
            "forecast factor",
            "as forecast",
            {},
            "deleted",
        ),
        Heuristic(
            "first run on tall programs",
            "is never expected to be the last",
            {},
            "deleted",
        ),
        Heuristic(
            "size of wide programs", "that of tall ones", {}, "deleted: with interior points"
        ),
        Heuristic("most passes", "300 in a second run", {}, "deleted"),
        Heuristic(
            "open per weight",
            "3 in easy programs",
            {"open_per_weight": 3},
            "kept: more rounds; next to known weights 4 take 5 % less time than 3 did",
        ),
    ),
    "active-set": (
        Heuristic("parts", "starts from zero", {}, GONE),
        Heuristic("decomposition", "parts are solved by working sets", {}, GONE),
        Heuristic("joint support", "parts are put together as they are", {}, GONE),
        Heuristic("inexact sets", "every working set is solved to the end", {}, NO_LONGER),
        Heuristic("many violations", "never expected to follow", {}, NO_LONGER),
        Heuristic(
            "large first sets",
            "one size of sets",
            {},
            "deleted",
        ),
        Heuristic(
            "small last sets",
            "large sets to the end",
            {},
            "deleted: twice as many factor less often",
        ),
        Heuristic("early limit", "one limit of sets", {}, NO_LONGER),
        Heuristic(
            "small programs",
            "small sets from the start",
            {},
            "deleted",
        ),
        Heuristic("gap margin", "the extrapolated residual", {}, "deleted"),
        Heuristic("first sigma", "the smallest weight from the start", {}, "deleted"),
        Heuristic("sigma recovery", "what rose stays", {}, "deleted"),
        Heuristic("full steps", "line searches from the start", {}, shared={"full_steps": 0}),
        Heuristic(
            "tightening",
            "working sets end at eps",
            {"tightening": 0.99},
            "kept: a margin for rounding",
        ),
        Heuristic("steep regression", "LIBSVM for all regressions", {}, GONE),
        Heuristic("rough parts", "parts are solved to the end", {}, GONE),
        Heuristic(
            "compensated gradient",
            "no new gradient",
            {"gradient_checks": 0},
            "kept: solves what is otherwise missed",
        ),
    ),
    "active-set-large": (
        Heuristic(
            "all four",
            "inexact sets, many violations, early limit and rough parts together",
            {},
            NO_LONGER,
        ),
    ),
    "active-set-second": (
        Heuristic("chunking", "parts or the whole", {}, GONE),
        Heuristic("most support", "chunks up to the largest", {}, GONE),
        Heuristic("few violations", "chunks until none violates", {}, GONE),
        Heuristic("accurate whole", "one tolerance of LIBSVM", {}, GONE),
        Heuristic("many violations", "never expected to follow", {}, NO_LONGER),
        Heuristic("large first sets", "one size of sets", {}, "deleted"),
        Heuristic("early limit", "one limit of sets", {}, NO_LONGER),
        Heuristic("inexact sets", "every working set is solved to the end", {}, NO_LONGER),
        Heuristic("expected free", "working sets hold all that violate", {}, "kept"),
        Heuristic(
            "no shrinking after hard points",
            "a tenth after every proximal point",
            {},
            "kept",
            {"shrinking": (NEVER, 0.1)},
        ),
        Heuristic("three factors", "one factor of the proximal weight", {}, "deleted"),
        Heuristic(
            "accepted slope",
            "every line search is exact",
            {},
            "kept: protects from rounding, and 8 % on a larger program",
            {"accepted_slope": 0.0},
        ),
        Heuristic(
            "updates of factors",
            "all factors are new",
            {},
            "kept",
            {"changes_per_update": NEVER},
        ),
        Heuristic("smallest updated", "small factors are updated too", {}, "deleted"),
        Heuristic(
            "copied rows",
            "products read all rows",
            {},
            "kept",
            {"all_rows_share": NEVER},
        ),
        Heuristic("few columns", "one rule of copied rows and columns", {}, "deleted"),
        Heuristic("sums without copies", "sums of columns copy them", {}, "deleted"),
        Heuristic("columns used often", "every column is kept", {}, GONE),
        Heuristic(
            "turns",
            "the largest violations first",
            {},
            "kept: 4 % on the larger programs, and no set whose variables all push the same way",
        ),
        Heuristic("whole programs", "up to 400 variables, not 1,000", {}, "deleted"),
        Heuristic("few are free", "no exception of whole programs", {}, "deleted"),
        Heuristic("stalls", "one stall", {}, "deleted"),
        Heuristic(
            "end of full steps",
            "as many as with searches",
            {},
            "kept: a limit",
            {"full_steps": 60},
        ),
        Heuristic("largest chunk", "as large as a part", {}, GONE),
    ),
    "active-set-second-large": (
        Heuristic("many violations", "never expected to follow", {}, NO_LONGER),
        Heuristic("inexact sets", "every working set is solved to the end", {}, NO_LONGER),
        Heuristic("few violations", "chunks until none violates", {}, GONE),
        Heuristic("turns", "the largest violations first", {}, "kept"),
        Heuristic(
            "accepted slope",
            "every line search is exact",
            {},
            "kept: protects from rounding",
            {"accepted_slope": 0.0},
        ),
        Heuristic("early limit", "one limit of sets", {}, NO_LONGER),
        Heuristic("large first sets", "one size of sets", {}, "deleted"),
        Heuristic("three factors", "one factor of the proximal weight", {}, "deleted"),
        Heuristic("sums without copies", "sums of columns copy them", {}, "deleted"),
        Heuristic("whole programs", "up to 400 variables and no exception", {}, "deleted"),
        Heuristic(
            "together",
            "larger chunks, every column is kept, every line search is exact, and all that was "
            "deleted in the second round but large first sets",
            {},
            GONE,
        ),
    ),
    "active-set-other": (
        Heuristic("thirds", "all samples from the start", {}, GONE),
        Heuristic("rough parts", "parts are solved to the end", {}, GONE),
        Heuristic("steep regression", "LIBSVM for all regressions", {}, GONE),
        Heuristic("turns", "the largest violations first", {}, "kept: see the larger programs"),
    ),
}
"""By backend."""
