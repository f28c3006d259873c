"""Array arithmetic on a device: kernel values, their sums, and Cholesky factors, on NumPy or CuPy.

``Device`` is the array module with the few operations that differ between the two. What is written
for it runs on a GPU and, with the same code, on NumPy.
"""

from qpsvm.device.base import Device, DeviceArray, ProductForm, Solver
from qpsvm.device.on_cuda import OnCuda, device_named

__all__ = ["Device", "DeviceArray", "OnCuda", "ProductForm", "Solver", "device_named"]
