"""The active-set method on a device: kernel duals on a GPU."""

from __future__ import annotations

from typing import Any

from qpsvm.backends.active_set import ActiveSetBackend
from qpsvm.backends.base import Settings
from qpsvm.backends.options import settings_from_options
from qpsvm.device import Device
from qpsvm.numerics.arrays import Vector
from qpsvm.qp.program import QuadraticProgram
from qpsvm.solvers.active_set.engine import Found
from qpsvm.solvers.device.engine import minimise_on
from qpsvm.solvers.device.settings import DeviceSettings
from qpsvm.solvers.work_budget import WorkBudget


class OnDeviceBackend(ActiveSetBackend):
    """The active-set method for kernel duals on a GPU, whose memory holds all vectors.

    Options are the fields of ``qpsvm.solvers.device.settings.DeviceSettings``.

    Parameters
    ----------
    device : Device
    """

    name = "active-set"
    extra = "gpu"

    def __init__(self, device: Device) -> None:
        self.device = device

    def _own_settings(self, settings: Settings, program: QuadraticProgram) -> DeviceSettings:
        del program
        return settings_from_options(DeviceSettings, settings.options, self.label)

    def _minimise(
        self,
        program: QuadraticProgram,
        start: Vector | None,
        eps: float,
        own: Any,
        budget: WorkBudget,
    ) -> Found:
        return minimise_on(self.device, program, start, eps, settings=own, budget=budget)
