"""A solve on Dask, as a program of its own: schedulers, and a worker that is killed in a pass.

Usage: ``python -m tests.chunked.faults FOLDER SCHEDULER [PASS [SIGNAL]]`` prints a hash of the
solution's bits, as JSON. SCHEDULER is "synchronous", "threads", "shuffled", or a number of worker
processes; in the pass with the number PASS the process that reads the third chunk gets a signal,
SIGKILL if no other is named, once. SIGINT is for the process that solves: a worker that reads the
chunk sends it there, and goes on when the solve has ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dask
import dask.local

import qpsvm
from qpsvm.chunked import chunked
from qpsvm.chunked.chunks import RawChunk
from tests.chunked.large import MEMORY, bits, small_samples
from tests.processes import wait_until

KILLED = 2
"""The chunk whose reader kills its process."""

ENDED = "ended"
"""A file that is there when the solve has ended."""


@dataclass(frozen=True)
class Deadly:
    """Reads a chunk; at one reading its process gets a signal, the first time it comes there."""

    reader: Any
    folder: str
    number: int
    signal: str
    solving: int

    def __call__(self) -> RawChunk:
        for k in range(1, self.number + 1):
            try:  # of two processes that come at the same time one makes the mark
                Path(self.folder, f"read-{k}").touch(exist_ok=False)
            except FileExistsError:
                continue
            if k == self.number:
                self.fire()
            break
        raw: RawChunk = self.reader()
        return raw

    def fire(self) -> None:
        own = os.getpid()
        is_elsewhere = self.signal == "SIGINT" and own != self.solving
        os.kill(self.solving if is_elsewhere else own, getattr(signal, self.signal))
        if is_elsewhere:
            wait_until(Path(self.folder, ENDED).exists, "the end of the solve")


def shuffled(graph: Any, keys: Any, **options: Any) -> Any:
    """Run the tasks one after the other, in random order."""
    del options
    wanted = list(keys)
    order = random.Random(7).sample(range(len(wanted)), len(wanted))
    found = {k: dask.local.get_sync(graph, wanted[k]) for k in order}
    return [found[k] for k in range(len(wanted))]


def solution_of(folder: Path, kill_in: int, name: str) -> Any:
    samples = chunked(folder, "y", rows=1000)
    if kill_in:
        chunks = list(samples.chunks)
        deadly = Deadly(chunks[KILLED].content, str(folder.parent), kill_in, name, os.getpid())
        chunks[KILLED] = replace(chunks[KILLED], content=deadly)
        samples = replace(samples, chunks=tuple(chunks))
    with small_samples():
        problem = qpsvm.SoftMargin(C=1.0).dual(samples)
    return qpsvm.solve(problem, eps=1e-9, options=MEMORY, on_interrupt="return")


def n_tasks(dask_scheduler: Any) -> int:
    """How many tasks a scheduler knows."""
    return len(dask_scheduler.tasks)


def main(folder: str, scheduler: str, kill_in: str = "0", name: str = "SIGKILL") -> None:
    warnings.simplefilter("ignore")
    more: dict[str, Any] = {}
    if scheduler.isdigit():
        from distributed import Client, LocalCluster

        cluster = LocalCluster(
            n_workers=int(scheduler),
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        )
        with cluster, Client(cluster) as client:
            before = set(client.scheduler_info(n_workers=-1)["workers"])
            solution = solution_of(Path(folder), int(kill_in), name)
            # the reader of a chunk still waits: nothing ends but what is cancelled
            wait_until(lambda: client.run_on_scheduler(n_tasks) == 0, "the end of all tasks")
            Path(folder).parent.joinpath(ENDED).touch()
            after = set(client.scheduler_info(n_workers=-1)["workers"])
            more = {"lost": len(before - after)}
    else:
        with dask.config.set(scheduler=shuffled if scheduler == "shuffled" else scheduler):
            solution = solution_of(Path(folder), int(kill_in), name)
    digest = hashlib.sha256(bits(solution)).hexdigest()
    print(
        json.dumps(
            {
                "bits": digest,
                "status": solution.status.value,
                "gap": solution.certificate.relative_gap_upper,
                **more,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
