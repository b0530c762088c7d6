"""Runs cells wherever there are processors: this machine, a dask cluster, a ray cluster, or a share of a batch job.

joblib carries all of them, so a cell is the same function everywhere. Only the process that was started writes results:
workers need no shared disk, and one that dies takes with it the cell it was at and nothing else.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from ordinate.arguments import check_choice
from ordinate.errors import ArgumentError, MissingExtraError, RefusedError
from ordinate.extras import install_command
from ordinate.sweep.cell import Cell
from ordinate.sweep.measure import run_cell
from ordinate.sweep.store import Store

__all__ = ["ENGINES", "run_cells", "share"]

ENGINES = ("local", "dask", "ray")
"""Where cells can run; the last two through the extras of the same name."""
_ANSWER_SECONDS = 10


def share(cells: Sequence[Cell], shard: str) -> list[Cell]:
    """The cells of one share "i/n", i from 1 to n; together the n shares are all cells, each once.

    A cell's share follows from its key, so it does not change when other cells are added.

    Raises:
        ArgumentError: not of the form i/n, or i outside 1 to n.

    >>> cells = [Cell("k-back", "rope", seed) for seed in range(6)]
    >>> sorted(cell.seed for part in ("1/3", "2/3", "3/3") for cell in share(cells, part))
    [0, 1, 2, 3, 4, 5]
    """
    first, slash, of = shard.partition("/")
    if not (slash and first.isdigit() and of.isdigit() and 1 <= int(first) <= int(of)):
        raise ArgumentError("--shard", expected="i/n with i from 1 to n", got=shard, hint="1/4 is the first of four shares")
    return [cell for cell in cells if int(cell.key[:12], 16) % int(of) == int(first) - 1]


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    corpus: str | None = None,
    jobs: int | None = None,
    engine: str = "local",
    address: str | None = None,
    done: Callable[[dict[str, Any]], None] = lambda record: None,
) -> int:
    """Run the cells that the store does not have, and put each into it as it is finished.

    Args:
        cells: what is wanted.
        store: where results are and go.
        corpus: path of the text, None for the standard library.
        jobs: processes beside each other, by default one a core, or what the cluster has.
        engine: one of `ENGINES`.
        address: of the cluster's scheduler; None starts dask or ray on this machine.
        done: called with each new record.

    Returns:
        How many were missing at the start.

    Raises:
        OutputError: the folder cannot be written to.
        ArgumentError: an unknown engine, an address that does not answer.
        MissingExtraError: the engine is not installed.
        RefusedError: the cluster broke off.
    """
    check_choice("--engine", engine, ENGINES)
    if address is not None and engine == "local":
        raise ArgumentError("--address", expected="an engine that has one", got="local", hint="add --engine dask or ray")
    if jobs is not None and jobs < 1:
        raise ArgumentError("--jobs", expected="at least 1", got=jobs, hint="leave it out for one a core")
    store.prove_writable()
    left = [cell for cell in cells if not store.has_result_of(cell)]
    if not left:
        return 0
    # long cells first: at the end no core waits long for another
    left.sort(key=lambda cell: -cell.steps * len(cell.learning_rates) * (3 if cell.encoding in ("shaw", "music") else 1))
    if engine == "local" and (jobs == 1 or len(left) == 1):
        for cell in _still_missing(left, store):
            record = run_cell(cell, corpus)
            store.write(record)
            done(record)
        return len(left)
    with _BACKENDS[engine](address, min(jobs or _cores(), len(left)) if engine == "local" else jobs or -1):
        try:
            for record in _records(_still_missing(left, store), corpus):
                store.write(record)
                done(record)
        except Exception as problem:
            if type(problem).__module__.split(".")[0] not in ("distributed", "ray", "joblib", "concurrent"):
                raise
            raise RefusedError(
                "--engine",
                expected="workers that live until their cell is done",
                got=f"{type(problem).__name__}: {problem}",
                hint="start workers again; the same command goes on with what is missing",
            ) from problem
    return len(left)


def _still_missing(cells: Sequence[Cell], store: Store) -> Iterator[Cell]:
    """Those that nobody else has finished when their turn comes: several runs may share a folder."""
    return (cell for cell in cells if not store.has_result_of(cell))


def _records(cells: Iterator[Cell], corpus: str | None) -> Iterator[dict[str, Any]]:
    """Records as they are finished; where a backend gives lists alone (ray's), in rounds of one cell a worker."""
    tasks = (delayed(run_cell)(cell, corpus) for cell in cells)
    if get_active_backend()[0].supports_return_generator:
        yield from Parallel(return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)(tasks)
        return
    width = effective_n_jobs(-1)
    while some := list(itertools.islice(tasks, width)):
        yield from Parallel(batch_size=1)(some)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def _local(address: str | None, jobs: int) -> Iterator[None]:
    with parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
        yield


@contextmanager
def _dask(address: str | None, jobs: int) -> Iterator[None]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise _missing("dask", "distributed") from None
    if address is None:
        with (
            LocalCluster(n_workers=_cores() if jobs < 1 else jobs, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),
            parallel_config(backend="dask", n_jobs=-1),
        ):
            yield
        return
    try:
        client = Client(address, timeout=_ANSWER_SECONDS)
    except (OSError, ValueError, TimeoutError) as problem:
        raise _unreachable("dask scheduler", address, problem) from None
    with client, parallel_config(backend="dask", n_jobs=jobs):
        yield


@contextmanager
def _ray(address: str | None, jobs: int) -> Iterator[None]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise _missing("ray", "ray") from None
    try:
        ray.init(address=address, ignore_reinit_error=True, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError) as problem:
        raise _unreachable("ray cluster", address or "this machine", problem) from None
    register_ray()
    try:
        with parallel_config(backend="ray", n_jobs=jobs):
            yield
    finally:
        ray.shutdown()


_BACKENDS: dict[str, Any] = {"local": _local, "dask": _dask, "ray": _ray}


def _missing(extra: str, package: str) -> MissingExtraError:
    return MissingExtraError("--engine", expected=f"the package {package}", got="none installed", hint=install_command(extra))


def _unreachable(what: str, address: str, problem: Exception) -> ArgumentError:
    return ArgumentError(
        "--address",
        expected=f"a {what} that answers within {_ANSWER_SECONDS} seconds",
        got=f"{address} ({type(problem).__name__})",
        hint="check that it runs and can be reached from here, or leave --address out",
    )
