"""The two forms in which a training problem can be handed to a solver."""

from __future__ import annotations

from typing import Literal, TypeAlias

Form: TypeAlias = Literal["primal", "dual"]
