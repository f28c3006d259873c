"""One pass over all chunks, by Dask: each chunk is read, evaluated and forgotten.

Dask decides where and when: with a ``distributed.Client`` its workers, without one the threads of
this process. Results come back in the order of the chunks, whatever the order of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from qpsvm.chunked.chunks import Chunk, imported
from qpsvm.chunked.contents import Contents, Task, checked, read
from qpsvm.exceptions import ChunkError, QPSVMError
from qpsvm.numerics.threads import one_blas_thread

Result = TypeVar("Result")

Work = Callable[[Contents, Any, str, int], Result]
"""What a pass computes on one chunk: of its contents, a request, its name and its number."""


@dataclass(frozen=True)
class OnChunk(Generic[Result]):
    """Task of a pass on one chunk; a class, because workers import their tasks by name."""

    work: Work[Result]
    task: Task
    name: str
    number: int

    def __call__(self, content: object, request: object) -> Result:
        raw = read(self.name, content)
        with one_blas_thread():
            return self.work(checked(raw, self.task, self.name), request, self.name, self.number)


def run_pass(
    work: Work[Result], task: Task, chunks: Sequence[Chunk], request: object, *, verbose: bool
) -> list[Result]:
    """Compute a function of every chunk, and return its values in the order of the chunks.

    Parameters
    ----------
    work : function
        Of a module, so that a worker can import it.
    task : "binary", "regression" or "unlabelled"
    chunks : sequence of Chunk
    request : object
        What all chunks have in common.
    verbose : bool
        Show Dask's progress bar.

    Returns
    -------
    list
        In the order of the chunks.

    Raises
    ------
    ChunkError
        A chunk that cannot be read or computed.
    InvalidDataError
        A chunk with samples that an SVM cannot be trained on.
    """
    dask = imported("dask")
    # once for all tasks, and without looking for Dask's own objects in it
    shared = dask.delayed(request, traverse=False, pure=False)
    tasks = list[Any]()
    for k, chunk in enumerate(chunks):
        own = OnChunk(work, task, chunk.name, k)
        if dask.is_dask_collection(chunk.content):
            tasks.append(dask.delayed(own, pure=False)(chunk.content, shared))
        else:
            tasks.append(dask.delayed(partial(own, chunk.content), pure=False)(shared))
    lazy = any(dask.is_dask_collection(chunk.content) for chunk in chunks)
    try:
        return _computed(tasks, verbose=verbose)
    except QPSVMError:
        raise
    except Exception as error:
        # what computes the blocks of a collection may raise anything, and not by name
        if not (lazy or type(error).__name__ == "KilledWorker"):
            raise
        raise ChunkError(
            f"Dask could not compute a block: {type(error).__name__}: {error}. Correct what it "
            "names, and continue with resume= if there is a checkpoint."
        ) from error


def _computed(tasks: Sequence[Any], *, verbose: bool) -> list[Any]:
    """Compute Dask's tasks, by the client that is the default scheduler if there is one.

    Whatever ends the wait for a client's workers, an error or Ctrl-C, cancels what they have not
    begun yet.
    """
    dask = imported("dask")
    # a client schedules by its method ``get``
    client: Any = getattr(imported("dask.base").get_scheduler(), "__self__", None)
    if not hasattr(client, "gather"):
        bar = imported("dask.diagnostics").ProgressBar() if verbose else nullcontext()
        # for the whole pass: a thread of Dask's that ends first would give BLAS its threads back
        with one_blas_thread(), bar:
            return list(dask.compute(*tasks))
    distributed = imported("distributed")
    futures = client.compute(list(tasks))
    try:
        if verbose:
            distributed.progress(futures, notebook=False)
        for future in distributed.as_completed(futures):
            if future.status != "finished":
                future.result()  # raises what the task raised
        return list(client.gather(futures))
    except BaseException:
        client.cancel(futures, force=True)
        raise
