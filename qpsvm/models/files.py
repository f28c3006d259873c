"""The model file: an uncompressed NPZ of arrays of numbers and one JSON text.

``metadata`` holds the JSON as bytes; every other member is an array. Nothing in it is code, nothing
is unpickled, and nothing is believed: ``load`` checks every checksum, size, kind and name,
``SavedModel.verify`` the values.
"""

from __future__ import annotations

import os

from qpsvm.exceptions import ModelFileError
from qpsvm.files import atomic, npz
from qpsvm.files.npz import Arrays
from qpsvm.models.contents import contents_of
from qpsvm.models.reading import model_of
from qpsvm.models.saved import SavedModel
from qpsvm.models.scaling import Scaling
from qpsvm.numerics.arguments import explains_calls, require_kind, require_path
from qpsvm.numerics.arrays import default_memory_limit
from qpsvm.tables import Preparation


@explains_calls
def save(
    path: str | os.PathLike[str],
    problem: object,
    solution: object,
    report: object = None,
    *,
    scaling: Scaling | None = None,
    feature_names: tuple[str, ...] | None = None,
    preparation: Preparation | None = None,
    zero_based: bool | None = None,
) -> None:
    """Write a model, completely or not at all.

    Parameters
    ----------
    path : path
        By custom ``something.npz``; an existing file is replaced.
    problem : SVMProblem, JointProblem or ReducedProblem
        The problem that was solved.
    solution : SVMSolution, JointSolution or ReducedSolution
        Its solution.
    report : KKTReport or ReducedReport, optional
        The verdict of ``qpsvm.verify``, to be kept with the model.
    scaling : Scaling, optional
        The scaling that was applied to the data before ``problem`` was built.
    feature_names : tuple of str, optional
        By default those of the problem's data.
    preparation : Preparation, optional
        The way from the columns of a table to the features: ``DataFile.preparation``.
    zero_based : bool, optional
        How the LIBSVM file of the training data counts its features, ``DataFile.zero_based``.

    Raises
    ------
    ModelFileError
        A kernel, parameter or label that cannot be written as plain data; NaN; a path that cannot
        be written.
    InvalidDataError
        The solution belongs to another problem.
    InvalidParameterError
        Arguments of the wrong kind.

    Examples
    --------
    >>> import qpsvm, tempfile
    >>> X, y = [[0.0], [1.0], [3.0]], ["a", "a", "b"]
    >>> problem = qpsvm.SoftMargin(C=10.0).dual(X, y, sample_weight=[1.0, 2.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(f"{folder}/model.npz", problem, qpsvm.solve(problem))
    ...     model = load(f"{folder}/model.npz")
    >>> model.predict([[4.0]]), model.verify(X, y).passed
    (array(['b'], dtype='<U1'), True)
    """
    require_path(path)
    require_kind(scaling, Scaling | None, "scaling", "Scaling.fit(X), or None")
    require_kind(preparation, Preparation | None, "preparation", "DataFile.preparation, or None")
    require_kind(feature_names, list | tuple | None, "feature_names", "a list of names, or None")
    contents = contents_of(
        problem,
        solution,
        report,
        scaling=scaling,
        feature_names=feature_names,
        preparation=preparation,
        zero_based=zero_based,
    )
    write(path, contents)


def write(path: str | os.PathLike[str], contents: Arrays) -> None:
    """Write the arrays of a model file, completely or not at all.

    Raises
    ------
    ModelFileError
        The path cannot be written.
    """
    try:
        with atomic.replacing(path) as stream:
            npz.write(stream, contents)
    except OSError as error:
        raise ModelFileError(
            f"Cannot write the model to {os.fspath(path)!r}: {error.strerror or error}; choose "
            "another path."
        ) from error


@explains_calls
def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model file, trusting nothing in it.

    Parameters
    ----------
    path : path
        Written by ``save``, or by an estimator: ``qpsvm.load`` returns the estimator itself.

    Returns
    -------
    SavedModel
        The machine with its formulation and scaling, and what was verified when it was written.

    Raises
    ------
    ModelFileError
        Not a model file, damaged, changed, of another version, or holding anything but what
        ``save`` writes.

    Examples
    --------
    >>> import qpsvm, tempfile
    >>> problem = qpsvm.SoftMargin().dual([[0.0], [2.0]], ["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qpsvm.models.save(f"{folder}/model.npz", problem, qpsvm.solve(problem))
    ...     machine = qpsvm.models.load(f"{folder}/model.npz")
    >>> machine.predict([[1.9]])
    array(['b'], dtype='<U1')
    """
    return model_in(path, read(path))


def read(path: str | os.PathLike[str]) -> Arrays:
    """Read the arrays of a model file.

    Raises
    ------
    ModelFileError
        The file cannot be read, or is no NPZ file of plain arrays.
    """
    limit = default_memory_limit()
    return npz.read(path, ModelFileError, limit_bytes=limit, compressed=False)


def model_in(path: str | os.PathLike[str], arrays: Arrays) -> SavedModel:
    """Build the model that the arrays of a file describe.

    Raises
    ------
    ModelFileError
        Anything but what ``save`` writes; the message has the path.
    """
    try:
        return model_of(arrays)
    except ModelFileError as error:
        raise unusable(path, error) from error


def unusable(path: str | os.PathLike[str], reason: ModelFileError) -> ModelFileError:
    """Build the error for a file with a wrong content."""
    return ModelFileError(f"{os.fspath(path)!r} is not a usable qpsvm model: {reason}")
