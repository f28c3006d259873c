"""Figures from rows: pure functions of a store, with their uncertainty.

``times_to`` turns rows into times to a certified gap; comparisons are functions of these times,
each on programs that all of its contestants attempted (``table_of``).
"""

from benchmarks.metrics.agreement import Agreement, PairDifference, agreement
from benchmarks.metrics.bounds import (
    Contradiction,
    best_dual,
    contradictions,
    is_reference,
    suboptimality,
    without_bound,
)
from benchmarks.metrics.curves import Curve, accuracy_curves
from benchmarks.metrics.means import Mean, shifted_geometric_means
from benchmarks.metrics.measurements import Measurement, column_names, measurements
from benchmarks.metrics.noise import Noise, pooled_noise
from benchmarks.metrics.outcomes import FalseClaim, OutcomeTable, false_claims, outcome_table
from benchmarks.metrics.profiles import Profile, performance_profile
from benchmarks.metrics.rankings import Rank, Ranking, ranking
from benchmarks.metrics.scaling import Fit, power_law, scaling_fits, series_of
from benchmarks.metrics.tables import Table, table_of
from benchmarks.metrics.times import Times, Timing, by_kind, kind_of, times_to
from benchmarks.metrics.wins import Wins, win_matrix

__all__ = [
    "Agreement",
    "Contradiction",
    "Curve",
    "FalseClaim",
    "Fit",
    "Mean",
    "Measurement",
    "Noise",
    "OutcomeTable",
    "PairDifference",
    "Profile",
    "Rank",
    "Ranking",
    "Table",
    "Times",
    "Timing",
    "Wins",
    "accuracy_curves",
    "agreement",
    "best_dual",
    "by_kind",
    "column_names",
    "contradictions",
    "false_claims",
    "is_reference",
    "kind_of",
    "measurements",
    "outcome_table",
    "performance_profile",
    "pooled_noise",
    "power_law",
    "ranking",
    "scaling_fits",
    "series_of",
    "shifted_geometric_means",
    "suboptimality",
    "table_of",
    "times_to",
    "win_matrix",
    "without_bound",
]
