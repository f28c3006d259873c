"""The two forms of a training problem: primal and dual."""

from __future__ import annotations

from typing import Literal, TypeAlias

Form: TypeAlias = Literal["primal", "dual"]
