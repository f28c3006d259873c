"""The solver of linear machines: coordinate descent, then Newton's method on the weights."""
