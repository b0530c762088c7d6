"""The nervous system of the worm C. elegans, in the many reconstructions that the package `cect` collects.

Each is one JSON file, `cect/cache/<Reader>.json`, with `nodes` and N x N `connections`, rows presynaptic. The file is read out
of a downloaded wheel, an unpacked one or an installed package; `cect` itself is never imported, so what it depends on is not
needed. Kinds come from the lists of cell names in its `Cells.py`, read as text.
"""

from __future__ import annotations

import ast
import json
import re
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ordinate.arguments import check_choice, did_you_mean
from ordinate.errors import DataError, MissingDataError, MissingExtraError, UnknownNameError

__all__ = ["LAYERS", "read_elegans"]

LAYERS = {"chemical": ("Generic_CS",), "electrical": ("Generic_GJ",), "both": ("Generic_CS", "Generic_GJ")}

_FETCH = "pip download --no-deps cect, and pass the wheel"

_KINDS = (("SENSORY", "sensory"), ("MOTOR", "motor"), ("INTERNEURON", "interneuron"), ("MUSCLE", "muscle"), ("GLIA", "glia"))


def read_elegans(
    path: str | Path | None = None, *, reader: str = "Cook2019HermReader", layer: str = "chemical"
) -> dict[str, Any]:
    """The fields of a connectome of C. elegans, out of the package `cect`.

    Args:
        path: a wheel of cect, its unpacked folder, or one of its JSON files; None for the installed package.
        reader: which reconstruction, such as "Cook2019HermReader", "White_whole" or "WitvlietDataReader8".
        layer: "chemical" synapses, "electrical" ones (gap junctions, which the files list both ways), or "both" added.

    Returns:
        All cells of the file, muscles included. A side is known where a name comes with L and with R at its end, or before
        the number there.

    Raises:
        MissingDataError: nothing at `path`.
        MissingExtraError: no path, and cect is not installed.
        UnknownNameError: no reader of that name; the message names a near one.
        DataError: a damaged wheel or JSON file, or another form.
        UnknownNameError: another layer.

    Source: Cook et al. 2019, doi 10.1038/s41586-019-1352-7; White et al. 1986, doi 10.1098/rstb.1986.0056; Witvliet et al.
    2021, doi 10.1038/s41586-021-03778-8; collected by https://github.com/openworm/ConnectomeToolbox.
    """
    check_choice("layer", layer, LAYERS)
    opened = _opened(path)
    document = _document(opened, reader)
    names = [str(name) for name in document["nodes"]]
    weights = np.zeros((len(names), len(names)))
    for key in LAYERS[layer]:
        part = np.asarray(document["connections"].get(key, np.zeros_like(weights)), dtype=np.float64)
        if part.shape != weights.shape:
            raise DataError(
                f"{reader}.json",
                expected=f"{len(names)} x {len(names)} {key}",
                got=str(part.shape),
                hint="fetch the wheel again",
            )
        weights += part
    side, mate = _sides(names)
    return {
        "weights": weights.astype(np.int64) if (weights == np.floor(weights)).all() else weights,
        "ids": np.array(names),
        "side": side,
        "mate": mate,
        "kind": _kinds(opened, names),
        "name": f"C. elegans, {reader.removesuffix('Reader')}, {layer}",
        "assumptions": (
            "all synapses excite: the file holds no transmitter (ordinate.reservoir.signs gives others)",
            "a side is the last letter of a name, before a number if there is one, that comes with L and with R",
            "rows are presynaptic, as the package writes them",
        ),
    }


class _Files(NamedTuple):
    """Where the files of the package are: a wheel (`archive`), a folder, or one JSON file alone."""

    place: Path
    readers: dict[str, str]
    archive: bool


def _opened(path: str | Path | None) -> _Files:
    if path is None:
        spec = find_spec("cect")
        if spec is None or not spec.submodule_search_locations:
            raise MissingExtraError(
                "path", expected="the package cect", got="it is not installed and no path was passed", hint=_FETCH
            )
        path = next(iter(spec.submodule_search_locations))
    place = Path(path)
    if place.is_dir():
        place = place / "cect" if (place / "cect" / "cache").is_dir() else place
        readers = {file.stem: str(file.relative_to(place)) for file in (place / "cache").glob("*.json")}
        if readers:
            return _Files(place, readers, False)
        raise MissingDataError(str(path), expected="a folder with cache/<Reader>.json", got="none in it", hint=_FETCH)
    if not place.is_file():
        raise MissingDataError(str(path), expected="a wheel of cect, a folder or a JSON file", got="nothing there", hint=_FETCH)
    if place.suffix == ".json":
        return _Files(place.parent, {place.stem: place.name}, False)
    try:
        with zipfile.ZipFile(place) as archive:
            inside = [name for name in archive.namelist() if re.fullmatch(r"cect/cache/[^/]+\.json", name)]
    except zipfile.BadZipFile as problem:
        raise DataError(str(place), expected="a whole wheel", got=f"a damaged one ({problem})", hint=_FETCH) from problem
    return _Files(place, {Path(name).stem: name for name in inside}, True)


def _text(files: _Files, name: str) -> str | None:
    """A file of the package as text, None where it has none of that name."""
    if not files.archive:
        place = files.place / name.removeprefix("cect/")
        return place.read_text(encoding="utf-8") if place.is_file() else None
    try:
        with zipfile.ZipFile(files.place) as archive:
            return archive.read(name).decode("utf-8") if name in archive.namelist() else None
    except (zipfile.BadZipFile, zlib.error, EOFError) as problem:
        raise DataError(str(files.place), expected="a whole wheel", got=f"a damaged one ({problem})", hint=_FETCH) from problem


def _document(files: _Files, reader: str) -> dict[str, Any]:
    name = files.readers.get(reader)
    if name is None and len(files.readers) == 1:  # a JSON file was named: that is the choice
        name = next(iter(files.readers.values()))
    if name is None:
        raise UnknownNameError(
            "reader",
            expected=f"one of the {len(files.readers)} readers in {files.place.name}",
            got=reader,
            hint=did_you_mean(reader, files.readers) or f"such as {', '.join(sorted(files.readers)[:3])}",
        )
    try:
        document = json.loads(_text(files, name) or "")
    except (ValueError, OSError) as problem:
        raise DataError(name, expected="a JSON document", got=str(problem), hint=_FETCH) from problem
    if (
        not isinstance(document, dict)
        or not isinstance(document.get("nodes"), list)
        or not isinstance(document.get("connections"), dict)
    ):
        raise DataError(name, expected="`nodes` and `connections`", got="another form", hint="pass a file of cect/cache")
    return document


def _sides(names: list[str]) -> tuple[npt.NDArray[np.str_], npt.NDArray[np.int64]]:
    place = {name: at for at, name in enumerate(names)}
    side, mate = np.full(len(names), "unknown"), np.full(len(names), -1)
    for name, at in place.items():
        left = re.fullmatch(r"(.+)L(\d*)", name)  # AVAL, and muscles such as MDL01
        other = place.get(f"{left[1]}R{left[2]}") if left else None
        if other is not None:
            side[at], side[other] = "left", "right"
            mate[at], mate[other] = other, at
    return side, mate


def _kinds(files: _Files, names: list[str]) -> npt.NDArray[np.str_]:
    """From the lists of names in Cells.py, the first that holds a cell; "" where none does or the file is missing."""
    kind = dict.fromkeys(names, "")
    for statement in ast.parse(_text(files, "cect/Cells.py") or "").body:
        if not (isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)):
            continue
        try:
            listed = ast.literal_eval(statement.value)
        except ValueError:  # sums of other lists: their parts are listed too
            continue
        word = next((kind for part, kind in _KINDS if part in statement.targets[0].id), None)
        if word and isinstance(listed, list):
            for name in listed:
                if kind.get(name) == "":
                    kind[name] = word
    return np.array([kind[name] for name in names], dtype=str)
