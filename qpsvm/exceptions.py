"""All errors and warnings of qpsvm.

A message says three things: what is wrong, the value that was seen, and the remedy.
Each class also derives from the built-in exception a caller would expect, so ``except ValueError``
keeps working in code that does not know qpsvm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "ArithmeticModeError",
    "AuditRefusedError",
    "BackendError",
    "BackendNotInstalledError",
    "CompiledCoreError",
    "ConflictingConstraintsError",
    "DataFileError",
    "IndefiniteKernelError",
    "InfeasibleProgramError",
    "InvalidDataError",
    "InvalidParameterError",
    "InvalidProgramError",
    "KernelError",
    "MemoryLimitError",
    "MissingArgumentError",
    "MissingPackageError",
    "ModelFileError",
    "NoOptimumError",
    "NotPositiveSemidefiniteError",
    "NotSeparableError",
    "NuReducedWarning",
    "QPSVMError",
    "SeveralMachinesWarning",
    "SolverFailedError",
    "StoreError",
    "SuiteError",
    "ToleranceNotReachedError",
    "ToleranceNotReachedWarning",
    "TubeWidthWarning",
    "UnboundedProgramError",
    "UnknownBackendError",
    "UnknownParameterError",
    "UnreadyColumnsError",
    "UnsupportedProgramError",
]


class QPSVMError(Exception):
    """Base class of every error raised by qpsvm."""


# --- what the caller handed in ---------------------------------------------------------------


class InvalidProgramError(QPSVMError, ValueError):
    """A quadratic program with inconsistent shapes, or with entries that are not numbers."""


class NotPositiveSemidefiniteError(InvalidProgramError):
    """A matrix that must be positive semidefinite has a negative eigenvalue.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and the remedy.

    Attributes
    ----------
    smallest_eigenvalue : float
        The eigenvalue that proves it.
    """

    def __init__(self, message: str, smallest_eigenvalue: float) -> None:
        super().__init__(message)
        self.smallest_eigenvalue = smallest_eigenvalue

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.smallest_eigenvalue)


class InvalidDataError(QPSVMError, ValueError):
    """Samples or labels from which no SVM can be built."""


class UnreadyColumnsError(InvalidDataError):
    """Columns of a table that cannot be features as they are, all of them in one message.

    Parameters
    ----------
    message : str
        A line with a summary, and two for every column; remedies as arguments of
        ``qpsvm.datasets.load``.
    on_command_line : str, optional
        The same with remedies as options of the command line. By default the message.

    Attributes
    ----------
    on_command_line : str
    """

    def __init__(self, message: str, on_command_line: str | None = None) -> None:
        super().__init__(message)
        self.on_command_line = message if on_command_line is None else on_command_line


class InvalidParameterError(QPSVMError, ValueError):
    """A parameter outside its domain."""


class UnknownParameterError(QPSVMError, TypeError, ValueError):
    """A keyword that a class or method does not have; the message says where it belongs."""


class MissingArgumentError(QPSVMError, TypeError):
    """A function got fewer arguments than it needs; the message says which is missing."""


class KernelError(InvalidDataError):
    """A kernel whose values are not a valid kernel matrix."""


class IndefiniteKernelError(KernelError, NotPositiveSemidefiniteError):
    """A kernel matrix with a negative eigenvalue: its SVM is not a convex program.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and the remedy.

    Attributes
    ----------
    smallest_eigenvalue : float
        The eigenvalue that proves it.
    """


class MemoryLimitError(QPSVMError, MemoryError):
    """A matrix was requested that exceeds the memory limit.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and the remedy.

    Attributes
    ----------
    required_bytes, limit_bytes : int
        What it would have taken and what was allowed.
    """

    def __init__(self, message: str, required_bytes: int, limit_bytes: int) -> None:
        super().__init__(message)
        self.required_bytes = required_bytes
        self.limit_bytes = limit_bytes

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.required_bytes, self.limit_bytes)


class ArithmeticModeError(QPSVMError, ArithmeticError):
    """Rigorous bounds were requested on a processor that does not round as IEEE 754 requires."""


class ModelFileError(QPSVMError, ValueError):
    """A model file that cannot be read, or that does not belong to the data."""


class AuditRefusedError(QPSVMError, ValueError):
    """A model that cannot be audited: not fitted, of an unknown program, or of other data."""


class DataFileError(QPSVMError, ValueError):
    """A data file that cannot be read."""


class ChunkError(QPSVMError, ValueError):
    """A chunk of samples that cannot be read; the message names it with its path."""


class SuiteError(QPSVMError, ValueError):
    """A benchmark suite, or a name in one, that cannot be read."""


class StoreError(QPSVMError, ValueError):
    """A store of benchmark results that cannot be read, or is in use."""


class MissingPackageError(QPSVMError, ImportError):
    """An optional package is needed and not installed; the message has the pip line."""


class CompiledCoreError(QPSVMError, ImportError):
    """The compiled core is missing, stale or not for this machine; the message has the remedy."""


class DeviceError(QPSVMError, RuntimeError):
    """A GPU that was asked for cannot be used; the message says what is missing."""


class DeviceResultError(DeviceError, ArithmeticError):
    """A GPU computed wrongly: a sum differs from the processor's by more than rounding explains."""


# --- backends --------------------------------------------------------------------------------


class BackendError(QPSVMError, RuntimeError):
    """Raised when a backend cannot take a program, or fails on it."""


class UnknownBackendError(BackendError, ValueError):
    """There is no backend of that name."""


class BackendNotInstalledError(BackendError, ImportError):
    """The package of a known backend is not installed."""


class UnsupportedProgramError(BackendError):
    """The backend cannot take this program (too large, no linear programs, ...)."""


class SolverFailedError(BackendError):
    """The solver raised an error, or returned something that is not a solution."""


# --- what the program turned out to be -------------------------------------------------------


class NoOptimumError(QPSVMError):
    """The program has no optimum, as a verified certificate proves.

    Attributes
    ----------
    certificate : InfeasibilityCertificate or None
        What proves it.
    """

    certificate: Any = None

    def with_certificate(self, certificate: Any) -> Self:
        """Attach the certificate that proves the error, and return the error."""
        self.certificate = certificate
        return self


class InfeasibleProgramError(NoOptimumError):
    """The constraints contradict each other."""


class UnboundedProgramError(NoOptimumError):
    """The objective is unbounded below."""


class ConflictingConstraintsError(InfeasibleProgramError):
    """No (w, b) satisfies all of the caller's constraints.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and the remedy.

    Attributes
    ----------
    rows : tuple of str
        Names of the rows that take part in the contradiction, the largest share first.
    """

    def __init__(self, message: str, rows: tuple[str, ...]) -> None:
        super().__init__(message)
        self.rows = rows

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.args[0], self.rows), vars(self)


class NotSeparableError(InfeasibleProgramError):
    """The two classes cannot be separated, so the hard-margin program has no solution.

    Parameters
    ----------
    message : str
        What is wrong, the value seen, and the remedy.

    Attributes
    ----------
    weights : ndarray of shape (n_samples,)
        Non-negative; the weights of each class sum to one.
    common_point : ndarray of shape (n_features,) or None
        The point those weights produce from either class: it lies in both convex hulls.
        None for a kernel without explicit features.
    distance : float
        Distance between the two weighted means, or without an intercept between the origin and the
        mean of the samples times their signs (zero up to rounding).
    """

    def __init__(
        self,
        message: str,
        weights: npt.NDArray[np.float64],
        common_point: npt.NDArray[np.float64] | None,
        distance: float,
    ) -> None:
        super().__init__(message)
        self.weights = weights
        self.common_point = common_point
        self.distance = distance

    def __reduce__(self) -> tuple[object, ...]:
        made_of = (str(self), self.weights, self.common_point, self.distance)
        return type(self), made_of, vars(self)


class ToleranceNotReachedError(QPSVMError):
    """The verified residuals exceed ``eps``, and ``strict=True``."""


class ToleranceNotReachedWarning(UserWarning):
    """The verified residuals exceed ``eps``; the result has the figures reached."""


class NuReducedWarning(UserWarning):
    """An estimator took the largest feasible nu in place of a larger one."""


class TubeWidthWarning(UserWarning):
    """The accuracy ``eps`` has a value that looks like ``epsilon``, the half-width of the tube."""


class SeveralMachinesWarning(UserWarning):
    """Constraints hold for each of several machines, which may not be what was meant."""
