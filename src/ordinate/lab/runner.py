"""Runs claims, one after the other or a process a core, and makes a row of each, whatever happens to it.

A claim that raises becomes a row that says so; the others go on. Rows are plain JSON types and complete: what was claimed, what
was measured, the verdict, and on what machine, so the report needs nothing else.
"""

from __future__ import annotations

import hashlib
import json
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ordinate.errors import RefusedError, UnknownNameError
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.machine import machine, versions
from ordinate.lab.measurement import Animation, Figure, Measurement, Role, Verdict, judge

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["SCHEMA", "ClaimResult", "check_inputs", "run", "run_one"]

SCHEMA = "ordinate.claims/1"
"""What a row says it is, described by `claims.schema.json` here; another number where a field changes its meaning."""


@dataclass(frozen=True)
class ClaimResult:
    """A claim's row, and the texts of the figure files that the row names."""

    row: dict[str, Any]
    files: dict[str, str] = field(default_factory=dict)


def check_inputs(claims: Sequence[Claim], inputs: Inputs) -> None:
    """Raise before any work if the given vectors lack a word that a claim needs, or the given folder of data is none.

    Raises:
        UnknownNameError: the word, and what to do.
        MissingDataError: the folder.
    """
    inputs.data_folder("mnist")
    if inputs.vectors is None:
        return
    for claim in claims:
        for word in claim.words.split():
            if word not in inputs.vectors:
                raise UnknownNameError(
                    "--vectors",
                    expected=f"vectors of all {len(set(claim.words.split()))} words that claim {claim.id} needs",
                    got=f"no {word!r} in {inputs.vectors.source}",
                    hint="pass a larger file of lower-case words, or leave --vectors out for the embedded ones",
                )


def run(
    claims: Sequence[Claim],
    inputs: Inputs,
    *,
    seed: int | None = None,
    jobs: int = 1,
    console: Console | None = None,
    full_results: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[ClaimResult]:
    """Measure every claim and judge it.

    Args:
        claims: in the order of the results.
        inputs: vectors and extent; the seeds in it are replaced by each claim's own.
        seed: where to start counting seeds instead.
        jobs: processes beside each other. Above 1 each computes with one thread, and claims that share trainings stay together.
        console: where a progress bar is drawn; None for silence.
        full_results: by id, what an earlier long measurement came to; everyday rows name it.

    Returns:
        One result a claim, also for those that failed.

    Raises:
        RefusedError: a process was killed from outside, for memory perhaps.
    """
    results: dict[str, ClaimResult] = {}
    with _progress(console) as progress:
        task = progress.add_task("", total=len(claims)) if progress else None

        def show(claim: Claim) -> None:
            if progress and task is not None:
                progress.update(task, description=f"{claim.id} {claim.title}", completed=len(results))

        work = [(claim, inputs.for_claim(claim, seed)) for claim in claims]
        for claim, result in _one_by_one(work, show) if jobs == 1 else _beside_each_other(work, jobs):
            if not inputs.full:
                result.row["full_result"] = dict((full_results or {}).get(claim.id, {}))
            results[claim.id] = result
            show(claim)
    return [results[claim.id] for claim in claims]


Work = tuple[Claim, Inputs]


def _one_by_one(work: Sequence[Work], show: Callable[[Claim], None]) -> Iterator[tuple[Claim, ClaimResult]]:
    for claim, inputs in work:
        show(claim)
        yield claim, run_one(claim, inputs)


def _beside_each_other(work: Sequence[Work], jobs: int) -> Iterator[tuple[Claim, ClaimResult]]:
    from joblib import Parallel, delayed, parallel_config

    groups: dict[str, list[Work]] = {}
    for claim, inputs in work:
        groups.setdefault(claim.shares or claim.id, []).append((claim, inputs))
    # long ones first: at the end no core waits long for another
    ordered = sorted(groups.values(), key=lambda group: -sum(claim.budget_seconds for claim, _ in group))
    try:
        with warnings.catch_warnings(), parallel_config(backend="loky", n_jobs=jobs, inner_max_num_threads=1):
            warnings.filterwarnings("ignore", "A worker stopped")  # an idle or a large one, which another takes the place of
            for group in Parallel(return_as="generator_unordered", batch_size=1)(delayed(_run_group)(one) for one in ordered):
                yield from group
    except Exception as problem:
        if type(problem).__module__.split(".")[0] not in ("joblib", "concurrent"):
            raise
        raise RefusedError(
            "--jobs",
            expected="processes that live until their claims are measured",
            got=f"{type(problem).__name__}: {problem}",
            hint="--jobs 1 measures one claim after the other in one process",
        ) from problem


def _run_group(group: Sequence[Work]) -> list[tuple[Claim, ClaimResult]]:
    return [(claim, run_one(claim, inputs)) for claim, inputs in group]


def run_one(claim: Claim, inputs: Inputs) -> ClaimResult:
    """Measure one claim with these inputs; an exception becomes a row with the verdict "failed"."""
    started, clock = datetime.now(UTC), time.perf_counter()
    files: dict[str, str] = {}
    try:
        measure = claim.measurement()
        clock = time.perf_counter()  # the first claim should not pay for importing torch
        measurement = measure(inputs)
        measured = _measured(claim, measurement, files)
    except Exception as problem:  # whatever a claim does, the others go on
        files.clear()
        measured = _failed(problem)
    wall_seconds = time.perf_counter() - clock
    row = {
        "schema": SCHEMA,
        "id": claim.id,
        "title": claim.title,
        "article": claim.article,
        "place": claim.place,
        "statement": claim.statement,
        "remark": claim.remark,
        "setup": claim.setup,
        "setup_detail": claim.setup_detail,
        "varies": claim.varies,
        "band": claim.band,
        **measured,
        "seeds": list(inputs.seeds),
        "full": inputs.full,
        "full_result": {},
        "wall_seconds": round(wall_seconds, 3),
        "budget_seconds": claim.budget_seconds,
        "within_budget": wall_seconds <= claim.budget_seconds,
        "started": started.isoformat(timespec="seconds"),
        "versions": versions(),
        "machine": machine(),
    }
    return ClaimResult(row, files)


def _measured(claim: Claim, measurement: Measurement, files: dict[str, str]) -> dict[str, Any]:
    verdict, reason = judge(measurement.checks)
    return {
        "verdict": str(verdict),
        "reason": reason,
        "key_figure": measurement.key_figure,
        "meaning": measurement.meaning.get(verdict) or _unforeseen(measurement),
        "inputs": measurement.inputs,
        "checks": [check.to_row() for check in measurement.checks],
        "tables": [table.to_row() for table in measurement.tables],
        "figures": [_filed(claim, figure, files) for figure in measurement.figures],
        "untested": [{"what": what, "why": why} for what, why in measurement.untested],
    }


def _failed(problem: Exception) -> dict[str, Any]:
    reason = f"{type(problem).__name__}: {' '.join(str(problem).split())}"
    return {
        "verdict": str(Verdict.FAILED),
        "reason": reason,
        "key_figure": "the measurement broke off",
        "meaning": "The measurement broke off, so nothing is known about this claim from this run.",
        "inputs": "",
        "checks": [],
        "tables": [],
        "figures": [],
        "untested": [],
        "traceback": "".join(traceback.format_exception(problem)),
    }


def _unforeseen(measurement: Measurement) -> str:
    """What can be said about an outcome that the claim's author wrote no paragraph for."""
    decided = [check for check in measurement.checks if not check.holds and check.role is not Role.LIMIT]
    deciding = "; ".join(
        f"{check.name} came out as {check.to_row()['shown']} where {check.band} was expected" for check in decided
    )
    return f"This outcome differs from what the claim's author found: {deciding}." if deciding else "No check decides."


def _filed(claim: Claim, figure: Figure | Animation, files: dict[str, str]) -> dict[str, Any]:
    """Put the figure's text among the files, named by its content, so that a new report never mixes with an old one."""
    if isinstance(figure, Figure):
        kind, suffix, text = "chart", "svg", figure.svg
    else:
        kind, suffix, text = "animation", "json", json.dumps(figure.data, allow_nan=False, separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    name = f"figures/{claim.id}-{figure.name}-{digest}.{suffix}"
    files[name] = text
    return {"name": figure.name, "kind": kind, "file": name, "caption": figure.caption, "alt": figure.alt}


def _progress(console: Console | None) -> Any:
    if console is None:
        return nullcontext()
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True)
