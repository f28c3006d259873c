"""Proximal Newton steps for ``1/2 x'Px + q'x`` over a box with few equality rows."""
