"""Turn the errors that scikit-learn raises for invalid data into errors of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from qpsvm.exceptions import InvalidDataError, QPSVMError


@contextmanager
def data_errors() -> Iterator[None]:
    """Turn the ValueErrors with which scikit-learn refuses samples into InvalidDataError.

    Raises
    ------
    InvalidDataError
        With scikit-learn's message.
    """
    try:
        yield
    except QPSVMError:
        raise
    except ValueError as error:
        raise InvalidDataError(str(error)) from error
