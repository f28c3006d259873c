"""Array arithmetic on a device: kernel values, their sums, and Cholesky factors, on NumPy or CuPy.

``Device`` is the array module with the few operations that differ between the two. What is written
for it runs on a GPU and, with the same code, on NumPy.
"""

from qpsvm.device.base import Device
from qpsvm.device.choice import device_named
from qpsvm.device.on_numpy import OnNumPy
from qpsvm.device.product_form import ProductForm

__all__ = ["Device", "OnNumPy", "ProductForm", "device_named"]
