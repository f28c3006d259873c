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
    "natural": "distance to the nearer KKT case",
    "certified_gap": "gap of the machine as it predicts",
    "feasibility": "samples inside a hard margin, constraints missed",
    "sample_kkt": "worst sample's KKT violation",
    "slack": "stated slack against decision values",
    "dual_repair": "what made alpha feasible",
    "intercept_interval": "stated intercepts against the best",
    "expansion": "stated coefficients against alpha",
    "rounding": "what floating point can hide in the objective",
    "weights": "coefficients that predict against alpha",
    "own_predictions": "what the model's own predict says against its numbers",
    "predictions": "what the file predicts with against what was verified",
}
