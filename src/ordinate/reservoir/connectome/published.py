"""Whole-brain connectomes of the fly as they are published: the male nervous system (2026) and FlyWire (v783).

Both are far larger in files than in memory: the male's flat table has 152 million rows, of which those between traced neurons
make 25.6 million connections. Tables are read batch by batch (`streaming`), and the result is cached, so that the second load
takes seconds. Nothing is dropped without a sentence in `assumptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, check_flag, check_number
from ordinate.errors import ArgumentError, DataError, MissingDataError
from ordinate.reservoir.connectome.annotations import TRANSMITTERS, annotate, as_ids, listed, places, transmitters
from ordinate.reservoir.connectome.cache import Fields, cached
from ordinate.reservoir.connectome.streaming import accumulate, column_names, distinct_ids, read_table
from ordinate.reservoir.connectome.transmitters import transmitter_signs

__all__ = ["DUPLICATES", "read_flywire", "read_male_cns"]

DUPLICATES = ("sum", "error", "refuse")


def read_male_cns(
    directory: str | Path,
    *,
    status: str | Sequence[str] | None = "Traced",
    kinds: str | None = None,
    signed: bool = False,
    others: str = "excite",
    min_synapses: float = 1,
    duplicates: str = "sum",
    cache: bool | str | Path = True,
) -> Fields:
    """The fields of the connectome of a male fruit fly's central nervous system, from its Feather files.

    Args:
        directory: a folder with `connectome-weights-*.feather` (`body_pre, body_post, weight`),
            `body-annotations-*.feather` (`bodyId, status, type, superclass, somaSide, instance, ...`), and, if there,
            `body-neurotransmitters-*.feather` (`body, predicted_nt, consensus_nt`).
        status: which bodies are neurons here, by the words of `status`; None for all that are annotated.
        kinds: the column that `kind` is taken from; "superclass" by default.
        signed: give counts the sign of the transmitter, see `transmitters.SIGNS`.
        others: with `signed`, what neurons with another transmitter or none do: "excite", "inhibit" or "silent".
        min_synapses: pairs with fewer are left out.
        duplicates: a pair listed twice: "sum" adds the counts, "error" refuses.
        cache: whether the result is kept for the next time, or in which folder.

    Raises:
        MissingDataError: a file that is not there.
        MissingExtraError: pyarrow is not installed.
        DataError: a damaged file, a column that is missing.
    """
    folder = Path(directory)
    files = [_file(folder, "connectome-weights-*.feather"), _file(folder, "body-annotations-*.feather")]
    releases = _file(folder, "body-neurotransmitters-*.feather", needed=False)
    _check(signed, min_synapses, duplicates)

    def read() -> Fields:
        table = read_table(files[1])
        said = []
        if status is not None and "status" in table:
            words = (status,) if isinstance(status, str) else tuple(status)
            chosen = np.isin(table["status"], words)
            if not chosen.any():
                raise ArgumentError(
                    "status", expected=f"one of {', '.join(sorted(set(table['status'].tolist()))[:8])}", got=", ".join(words)
                )
            said.append(
                f"{int((~chosen).sum()):,} of {chosen.size:,} annotated bodies have another status than {', '.join(words)}"
            )
            table = {name: column[chosen] for name, column in table.items()}
        if releases is not None:
            ids = as_ids(table["bodyId"], files[1].name)
            table |= _joined(releases, "body", ids, said, ("predicted_nt", "consensus_nt"))
        fields = annotate(table, files[1].name, kinds=kinds, id_column="bodyId")
        if "mate" not in fields and "type" in table and "side" in fields:
            fields["mate"] = _homologs(table["type"].astype(str), fields["side"])
            said.append("mates are the two neurons of a type that has exactly one on each side")
        return _edges(
            files[0], ("body_pre", "body_post", "weight"), fields, table, said, "male fly, nervous system", signed,
            others, min_synapses, duplicates,
        )  # fmt: skip

    form = _form("male-cns", status, kinds, signed, others, min_synapses, duplicates)
    tables = [file.name for file in (*files, releases) if file is not None]
    return cached(folder, read, tables=tables, folder=cache, form=form)


def read_flywire(
    directory: str | Path,
    *,
    kinds: str | None = None,
    signed: bool | None = None,
    others: str = "excite",
    min_synapses: float = 1,
    duplicates: str = "sum",
    cache: bool | str | Path = True,
) -> Fields:
    """The fields of the connectome of a female fruit fly's brain, FlyWire, from any of its published forms.

    Args:
        directory: a folder with one table of edges: Codex's `connections*.csv[.gz]` (`pre_root_id, post_root_id, neuropil,
            syn_count, nt_type`), Zenodo's `*connections*.feather` (`pre_pt_root_id, post_pt_root_id, neuropil, syn_count`), or
            Shiu's `*onnectivity*.parquet` (`Presynaptic_ID, Postsynaptic_ID, Excitatory x Connectivity`); and, if there,
            Codex's `classification*.csv[.gz]` (`root_id, super_class, class, side`) and `neurons*.csv[.gz]` (`nt_type`); or
            Shiu's `Completeness*.csv`, a list of neurons alone.
        kinds: the column that `kind` is taken from; "super_class" by default.
        signed: give counts the sign of the neuron's transmitter, or where no table of neurons has one of that which the row
            names (`nt_type`, or the largest of `gaba_avg`, `ach_avg`, ...); by default only where the file has signs itself.
        others: as in `read_male_cns`.
        min_synapses: pairs with fewer are left out, after neuropils are added.
        duplicates: a pair listed twice, as by neuropil: "sum" adds the counts, "error" refuses.
        cache: whether the result is kept for the next time, or in which folder.

    Raises:
        MissingDataError: no table of edges.
        MissingExtraError: pyarrow is not installed.
        DataError: a damaged file, a column that is missing.
    """
    folder = Path(directory)
    edges = next(
        (
            file
            for pattern in ("connections*.csv*", "*connections*.feather", "*onnectivity*.parquet")
            if (file := _file(folder, pattern, needed=False)) is not None
        ),
        None,
    )
    if edges is None:
        raise MissingDataError(
            str(folder),
            expected="connections*.csv[.gz], *connections*.feather or *onnectivity*.parquet",
            got="none of them",
            hint="download one from codex.flywire.ai or Zenodo",
        )
    tables = [_file(folder, pattern, needed=False) for pattern in ("classification*.csv*", "neurons*.csv*")]
    complete = _file(folder, "*ompleteness*.csv*", needed=False)
    _check(bool(signed), min_synapses, duplicates)

    def read() -> Fields:
        names = column_names(edges)
        pre = next((name for name in ("pre_root_id", "pre_pt_root_id", "Presynaptic_ID") if name in names), "pre_root_id")
        post = next((name for name in ("post_root_id", "post_pt_root_id", "Postsynaptic_ID") if name in names), "post_root_id")
        own_signs = "Excitatory x Connectivity" in names and signed is not False
        counts = ("Excitatory x Connectivity",) if own_signs else ("syn_count", "Connectivity")
        count = next((name for name in counts if name in names), counts[0])
        said: list[str] = []
        table: dict[str, npt.NDArray[Any]] = {}
        for file in tables:
            if file is None:
                continue
            if not table:
                table = read_table(file)
            else:
                missing = [name for name in column_names(file) if name not in table]
                table |= _joined(file, "root_id", as_ids(table["root_id"], str(tables[0])), said, missing)
        if not table and complete is not None:
            table = {"root_id": read_table(complete)[column_names(complete)[0]]}
            said.append(f"neurons are those of {complete.name}: neither sides nor kinds")
        if table:
            fields = annotate(table, "the tables of neurons", kinds=kinds, id_column="root_id")
        else:
            fields = {"ids": distinct_ids(edges, (pre, post)), "assumptions": ("no table of neurons: neither sides nor kinds",)}
        if own_signs:
            said.append("signs are those of the file: Excitatory x Connectivity")
        return _edges(
            edges, (pre, post, count), fields, table, said, "FlyWire", bool(signed) and not own_signs, others, min_synapses,
            duplicates, own_signs=own_signs,
        )  # fmt: skip

    names = [file.name for file in (edges, *tables, complete) if file is not None]
    form = _form("flywire", kinds, signed, others, min_synapses, duplicates)
    return cached(folder, read, tables=names, folder=cache, form=form)


def _edges(
    path: Path,
    columns: tuple[str, str, str],
    fields: Fields,
    table: dict[str, npt.NDArray[Any]],
    said: list[str],
    name: str,
    signed: bool,
    others: str,
    min_synapses: float,
    duplicates: str,
    *,
    own_signs: bool = False,
) -> Fields:
    missing = [column for column in columns if column not in column_names(path)]
    if missing:
        raise DataError(str(path), expected=f"the column {missing[0]}", got=f"columns {', '.join(column_names(path))}")
    by_row = None
    columns_read: tuple[str, ...] = columns
    if signed and not any(name in table for name in TRANSMITTERS):
        by_row = _signs_by_row(path, others)
        columns_read = (*columns, *by_row[0])
        rule = transmitter_signs((), others=others)[1].replace("0 neurons with another", "rows with another")
        said.append(f"each row names its transmitter ({', '.join(by_row[0])}); {rule}")
    edges = accumulate(path, *columns, fields["ids"], signed=own_signs, min_synapses=min_synapses, row_signs=by_row)
    if edges.repeated and duplicates != "sum":
        raise DataError(
            str(path), expected="each pair once", got=f"{edges.repeated:,} rows that repeat one", hint='pass duplicates="sum"'
        )
    weights = edges.weights
    if signed and by_row is None:
        signs, sentence = transmitter_signs(transmitters(table).tolist(), others=others)
        weights = weights.astype(np.int64 if weights.dtype.kind in "iu" else weights.dtype)
        weights.data *= np.repeat(signs, np.diff(weights.indptr)).astype(weights.dtype)
        said.append(sentence)
    elif not own_signs and by_row is None:
        said.append("all synapses excite: counts have no sign (signed=True takes it from transmitters)")
    unused = [column for column in column_names(path) if column not in columns_read]
    if unused:
        said.append(f"columns of {path.name} that are not used: {listed(unused)}")
    assumptions = (*said, *fields.pop("assumptions"), *edges.sentences())
    count = weights.shape[0]
    blank = {
        "side": np.full(count, "unknown"),
        "mate": np.full(count, -1),
        "kind": np.full(count, ""),
        "labels": (frozenset(),) * count,
    }
    return {**blank, **fields, "weights": weights, "name": name, "assumptions": assumptions}


def _signs_by_row(path: Path, others: str) -> tuple[tuple[str, ...], Callable[[list[npt.NDArray[Any]]], npt.NDArray[np.int64]]]:
    """The columns of a table of edges that name a transmitter, and the signs of rows from them."""
    names = column_names(path)
    if "nt_type" in names:

        def by_name(columns: list[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
            distinct, member = np.unique(columns[0], return_inverse=True)
            return transmitter_signs(distinct.tolist(), others=others)[0][member]

        return ("nt_type",), by_name
    likely = tuple(name for name in names if name.endswith("_avg"))
    if not likely:
        raise DataError(
            str(path), expected=f"a transmitter to take signs from: {', '.join(TRANSMITTERS)} of neurons, or nt_type of rows",
            got="none", hint="leave signed away, or give signs by reservoir.signs",
        )  # fmt: skip
    signs, _ = transmitter_signs([name.removesuffix("_avg") for name in likely], others=others)
    return likely, lambda columns: signs[np.argmax(np.stack(columns), axis=0)]


def _joined(
    path: Path, key: str, ids: npt.NDArray[Any], said: list[str], columns: Sequence[str]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of another table in the order of these ids, "" where it lacks one."""
    other = read_table(path)
    if key not in other:
        raise DataError(str(path), expected=f"the column {key}", got=f"columns {listed(other)}")
    keys = as_ids(other[key], str(path))
    if keys.dtype.kind != ids.dtype.kind:
        keys, ids = keys.astype(str), ids.astype(str)
    known = np.isin(keys, ids)
    if not known.all():
        said.append(f"{int((~known).sum()):,} of {keys.size:,} rows of {path.name} are of no neuron here: left out")
    at = places(keys[known], ids, key)
    result = {}
    for name in columns:
        if name in other:
            column = np.full(ids.size, "", dtype=f"U{max(1, other[name].astype(str).dtype.itemsize // 4)}")
            column[at] = other[name].astype(str)[known]
            result[name] = column
    return result


def _homologs(types: npt.NDArray[Any], side: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The mate of each neuron: the two of a type that has exactly one on the left and one on the right."""
    _, code = np.unique(types, return_inverse=True)
    mate = np.full(types.size, -1)
    single = []
    for word in ("left", "right"):
        own = np.flatnonzero((side == word) & (types != ""))
        place = np.full(code.max(initial=0) + 1, -1)
        place[code[own]] = own
        place[np.bincount(code[own], minlength=place.size) != 1] = -1
        single.append(place)
    both = (single[0] >= 0) & (single[1] >= 0)
    mate[single[0][both]], mate[single[1][both]] = single[1][both], single[0][both]
    return mate


def _file(folder: Path, pattern: str, *, needed: bool = True) -> Any:
    """The newest by name of the files of a pattern."""
    matching = sorted(folder.glob(pattern))
    if matching:
        return matching[-1]
    if needed:
        raise MissingDataError(str(folder), expected=pattern, got="none" if folder.is_dir() else "no such folder")
    return None


def _check(signed: bool, min_synapses: float, duplicates: str) -> None:
    check_flag("signed", signed)
    check_number("min_synapses", min_synapses, minimum=0)
    check_choice("duplicates", duplicates, DUPLICATES)


def _form(name: str, *settings: Any) -> str:
    return f"{name}-2-{sha256(repr(settings).encode()).hexdigest()[:12]}"
