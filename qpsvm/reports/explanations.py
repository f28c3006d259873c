"""One-line explanations of the checks of a verdict."""

from __future__ import annotations

from collections.abc import Mapping

EXPLANATIONS: Mapping[str, str] = {
    "stationarity": "gradient of the Lagrangian",
    "inequality": "violated inequality rows",
    "equality": "violated equality rows",
    "lower_bound": "variables below their bound",
    "upper_bound": "variables above their bound",
    "multiplier_sign": "negative multipliers",
    "complementarity": "multiplier times slack",
    "duality_gap": "gap of the program's own solution",
    "natural": "natural residual, zero exactly at an optimum",
    "certified_gap": "certified gap of the stored machine",
    "feasibility": "violated hard conditions and constraints",
    "sample_kkt": "largest KKT violation of a sample",
    "slack": "stated slack against decision values",
    "dual_repair": "change that makes alpha feasible",
    "intercept_interval": "stated intercept interval against the optimal one",
    "expansion": "stated coefficients against alpha",
    "rounding": "estimated rounding error of the objective",
    "weights": "weights against those that alpha implies",
    "own_predictions": "the model's own predictions against its stored numbers",
    "predictions": "numbers the file predicts with against verified ones",
}
