"""Model files: one NPZ with plain arrays and a JSON text, without executable content.

::

    qpsvm.models.save("model.npz", problem, solution, report)
    model = qpsvm.models.load("model.npz")
    model.predict(X_new)
    model.verify(X, y).passed       # on the training data, trusting nothing in the file
"""

from qpsvm.models.files import load, save
from qpsvm.models.saved import SavedModel, Scaling

__all__ = ["SavedModel", "Scaling", "load", "save"]
