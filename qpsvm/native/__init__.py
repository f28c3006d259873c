"""Loops over samples, compiled from C: descent, steps of pairs, kernel values, small machines.

Internal: the modules of the package call it, users do not, and its functions may change with any
version. How it is built, and why: ``docs/decisions/0017-compiled-core.md``. Importing it
loads no library; the first call does.
"""

from qpsvm.native.descent import CoordinateDescent
from qpsvm.native.library import CallStatus
from qpsvm.native.loops import (
    Losses,
    Steps,
    descend_classes,
    descend_pairs,
    exponent_tile,
    products_by_row,
)
from qpsvm.native.machine import SmallMachine, ValueErrors
from qpsvm.native.machine_results import (
    BlockMachine,
    MachineBounds,
    MachineRun,
    NewtonNumbers,
    NewtonRun,
    RunNumbers,
)

__all__ = [
    "BlockMachine",
    "CallStatus",
    "CoordinateDescent",
    "Losses",
    "MachineBounds",
    "MachineRun",
    "NewtonNumbers",
    "NewtonRun",
    "RunNumbers",
    "SmallMachine",
    "Steps",
    "ValueErrors",
    "descend_classes",
    "descend_pairs",
    "exponent_tile",
    "products_by_row",
]
