"""Model files: LIBSVM's, LIBLINEAR's, plain arrays, and qpsvm's own."""

from typing import Any
from qpsvm.audit.claims import Reading
from qpsvm.audit.readers.inputs import Inputs

PARSED = ()


def parsed(model: Any, inputs: Inputs) -> Reading:
    raise NotImplementedError


def path(model: Any, inputs: Inputs) -> Reading:
    raise NotImplementedError
