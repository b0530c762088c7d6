"""BLIF and AIGER files as circuits: combinational logic only, every part that is not understood refused by its name.

BLIF: Berkeley Logic Interchange Format, 1992: `.model`, `.inputs`, `.outputs`, `.names` of any number of inputs. AIGER: Biere
2007, "The AIGER And-Inverter Graph (AIG) Format", version 20071012, ASCII (`aag`) and binary (`aig`). An output is a class with
one vote, unless several outputs share a class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ordinate.errors import ArgumentError, DataError, MissingDataError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.luts import decomposed
from ordinate.logic.circuit.netlist import FALSE, TRUE, Netlist, to_circuit

__all__ = ["read_aiger", "read_blif"]


def read_blif(path: str | Path, *, classes: int | None = None, tau: float = 1.0) -> Circuit:
    """Read the first model of a BLIF file.

    Args:
        path: the file.
        classes: how many, each voted for by as many outputs in a row; by default every output is a class of its own, labelled
            with the output's name.
        tau: temperature of the votes.

    Raises:
        MissingDataError: no such file.
        DataError: registers, other models or gates of a library in it; a signal that nothing drives or that drives itself.
        ArgumentError: classes that the outputs cannot share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.blif").write_text(".inputs a b\\n.outputs z\\n.names a b z\\n10 1\\n01 1\\n.end\\n")
    ...     read_blif(Path(folder) / "a.blif").tables.tolist()
    [6]
    """
    inputs, outputs, names = _blif_parts(path)
    place = {name: 2 * (1 + number) for number, name in enumerate(inputs)}
    netlist = Netlist(len(inputs))
    waiting: list[str] = list(reversed(outputs))
    open_names: set[str] = set()
    while waiting:
        name = waiting[-1]
        if name in place:
            waiting.pop()
            continue
        if name not in names:
            raise DataError(str(path), expected=f"something that drives {name}", got="nothing")
        reads, cover, line = names[name]
        missing = [one for one in reads if one not in place]
        if missing:
            if name in open_names:
                raise DataError(f"{path}, line {line}", expected="no cycle", got=f"{name} that depends on itself")
            open_names.add(name)
            waiting += missing
            continue
        open_names.discard(name)
        place[name] = _cover(netlist, cover, [place[one] for one in reads], f"{path}, line {line}")
        waiting.pop()
    sizes: dict[int, int] = {}
    for reads, _, _ in names.values():
        sizes[len(reads)] = sizes.get(len(reads), 0) + 1
    notes = {"read_from": "BLIF", "tables_by_inputs": {str(size): sizes[size] for size in sorted(sizes)}}
    return _circuit(netlist, [place[name] for name in outputs], outputs, classes, tau, notes)


def _blif_parts(path: str | Path) -> tuple[list[str], list[str], dict[str, tuple[list[str], list[str], int]]]:
    """Inputs, outputs, and for each driven signal what it reads, its cover and its line."""
    inputs: list[str] = []
    outputs: list[str] = []
    names: dict[str, tuple[list[str], list[str], int]] = {}
    current: list[str] | None = None
    models, text = 0, _content(path).decode("utf-8", "replace")
    pending, first = "", 0
    for number, raw in enumerate([*text.splitlines(), ""], 1):
        line = raw.split("#", 1)[0].rstrip()
        if line.endswith("\\"):
            pending, first = pending + line[:-1] + " ", first or number
            continue
        words, number, pending, first = (pending + line).split(), first or number, "", 0
        if not words:
            continue
        if words[0] == ".end" or (words[0] == ".model" and models):
            break
        if words[0] == ".model":
            models += 1
        elif words[0] == ".inputs":
            inputs += words[1:]
        elif words[0] == ".outputs":
            outputs += words[1:]
        elif words[0] == ".names":
            if len(words) < 2 or words[-1] in names or words[-1] in inputs:
                raise DataError(f"{path}, line {number}", expected="a signal driven once", got=" ".join(words)[:80])
            current = []
            names[words[-1]] = (words[1:-1], current, number)
            continue
        elif words[0].startswith(".") and words[0] not in (".default_input_arrival", ".attr", ".param", ".cname", ".area"):
            what = {".latch": "no registers", ".subckt": "one flat model", ".gate": "no gates of a library"}
            raise DataError(
                f"{path}, line {number}",
                expected=what.get(words[0], ".model, .inputs, .outputs, .names"),
                got=" ".join(words)[:80],
                hint="registers have no place in a circuit"
                if words[0] == ".latch"
                else "flatten and map it first, such as with yosys: synth -flatten; abc -lut 4",
            )
        elif not words[0].startswith("."):
            if current is None or len(words) > 2:
                raise DataError(f"{path}, line {number}", expected="a row of a .names", got=line[:80])
            current.append(" ".join(words))
            continue
        current = None
    if not inputs or not outputs:
        raise DataError(str(path), expected=".inputs and .outputs", got=f"{len(inputs)} and {len(outputs)} names")
    repeated = next((name for name in inputs if inputs.count(name) > 1), None) if len(set(inputs)) < len(inputs) else None
    if repeated:
        raise DataError(str(path), expected="each input once", got=repeated)
    return inputs, outputs, names


def _cover(netlist: Netlist, cover: list[str], literals: list[int], where: str) -> int:
    """The literal of the rows of a `.names`: all for 1, or all for 0."""
    result, sides, k = FALSE, set(), len(literals)
    table = 0  # of few inputs, whose decomposition takes fewer gates than a sum of rows
    for row in cover:
        cube, _, side = row.rpartition(" ")
        if side not in ("0", "1") or len(cube) != len(literals) or set(cube) - set("01-"):
            raise DataError(where, expected=f"rows of {len(literals)} of 0, 1 and - and an output of 0 or 1", got=row)
        sides.add(side)
        if k <= 6:
            fits = [
                all(bit == "-" or int(bit) == number >> place & 1 for place, bit in enumerate(cube)) for number in range(1 << k)
            ]
            table |= sum(1 << number for number, fit in enumerate(fits) if fit)
            continue
        term = TRUE
        for bit, literal in zip(cube, literals, strict=True):
            if bit != "-":
                term = netlist.conjunction(term, literal ^ (bit == "0"))
        result = netlist.conjunction(result ^ 1, term ^ 1) ^ 1
    if len(sides) > 1:
        raise DataError(where, expected="rows for 1 or rows for 0", got="both")
    if k <= 6:
        result = decomposed(netlist, table, literals)
    return result ^ ("0" in sides)


def read_aiger(path: str | Path, *, classes: int | None = None, tau: float = 1.0) -> Circuit:
    """Read an AIGER file, ASCII or binary.

    Args:
        path: the file.
        classes: as in `read_blif`.
        tau: temperature of the votes.

    Raises:
        MissingDataError: no such file.
        DataError: damaged, cut off, with latches or properties, or gates that depend on themselves.
        ArgumentError: classes that the outputs cannot share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "a.aag").write_text("aag 3 2 0 1 1\\n2\\n4\\n6\\n6 2 5\\no0 wins\\n")
    ...     circuit = read_aiger(Path(folder) / "a.aag")
    >>> circuit.tables.tolist(), circuit.labels
    ([4], ('wins',))
    """
    content = _content(path)
    head, _, rest = content.partition(b"\n")
    words = head.decode("ascii", "replace").split()
    if len(words) < 6 or words[0] not in ("aag", "aig") or not all(word.isdecimal() for word in words[1:]):
        raise DataError(str(path), expected="'aag' or 'aig' and five numbers", got=head[:60].decode("ascii", "replace"))
    most, num_inputs, latches, num_outputs, num_gates = map(int, words[1:6])
    if latches or any(int(word) for word in words[6:]):
        got = f"{latches} latches" if latches else f"properties: {' '.join(words[6:])}"
        raise DataError(str(path), expected="combinational logic", got=got, hint="registers have no place in a circuit")
    if not num_inputs or not num_outputs or most > len(content) * 2 or num_inputs + num_gates > most:
        raise DataError(str(path), expected="inputs, outputs and no more gates than the file holds", got=" ".join(words))
    try:
        if words[0] == "aag":
            inputs, outputs, gates, symbols = _ascii(rest, num_inputs, num_outputs, num_gates)
        else:
            inputs = list(range(2, 2 * num_inputs + 2, 2))
            outputs, gates, symbols = _binary(rest, num_inputs, num_outputs, num_gates)
    except (ValueError, IndexError) as error:
        raise DataError(str(path), expected="as many inputs, outputs and gates as its head says", got=str(error)) from None
    netlist = Netlist(num_inputs)
    place = {0: FALSE} | {one: 2 * (1 + number) for number, one in enumerate(inputs)}
    left_open = dict(gates)
    for root in gates:
        waiting = [root]
        while waiting:
            one = waiting[-1]
            if one in place:
                waiting.pop()
                continue
            if one not in left_open or len(waiting) > 2 * len(gates) + 2:
                raise DataError(str(path), expected="gates of inputs and of other gates", got=f"literal {one}")
            read = [side & ~1 for side in left_open[one] if side & ~1 not in place]
            if read:
                waiting += read
                continue
            x, y = (place[side & ~1] ^ (side & 1) for side in left_open[one])
            place[one] = netlist.conjunction(x, y)
    try:
        literals = [place[one & ~1] ^ (one & 1) for one in outputs]
    except KeyError as error:
        raise DataError(str(path), expected="outputs of inputs and of gates", got=f"literal {error}") from None
    names = [symbols.get(f"o{number}", f"o{number}") for number in range(num_outputs)]
    return _circuit(netlist, literals, names, classes, tau, {"read_from": "AIGER", "ands": num_gates})


def _ascii(rest: bytes, num_inputs: int, num_outputs: int, num_gates: int) -> tuple[Any, Any, Any, dict[str, str]]:
    lines = rest.decode("utf-8", "replace").splitlines()
    numbers = [[int(word) for word in line.split()] for line in lines[: num_inputs + num_outputs + num_gates]]
    inputs = [one for (one,) in numbers[:num_inputs]]
    outputs = [one for (one,) in numbers[num_inputs : num_inputs + num_outputs]]
    gates = {out: (x, y) for out, x, y in numbers[num_inputs + num_outputs :]}
    if len(numbers) < num_inputs + num_outputs + num_gates or len(gates) < num_gates or len(set(inputs)) < num_inputs:
        raise ValueError("fewer")
    if any(one & 1 or one < 2 for one in [*inputs, *gates]) or set(inputs) & set(gates) or min(outputs) < 0:
        raise ValueError("a literal that is driven twice, complemented or negative")
    return inputs, outputs, gates, _symbols(lines[num_inputs + num_outputs + num_gates :])


def _binary(rest: bytes, num_inputs: int, num_outputs: int, num_gates: int) -> tuple[Any, Any, dict[str, str]]:
    outputs = []
    for _ in range(num_outputs):
        line, _, rest = rest.partition(b"\n")
        outputs.append(int(line))
    place, gates = 0, {}
    for number in range(num_inputs + 1, num_inputs + 1 + num_gates):
        differences = []
        for _ in range(2):
            value = shift = 0
            while True:
                octet = rest[place]
                place += 1
                value |= (octet & 127) << shift
                shift += 7
                if octet < 128:
                    break
            differences.append(value)
        x = 2 * number - differences[0]
        y = x - differences[1]
        if not 0 <= y <= x < 2 * number:
            raise ValueError(f"gate {number} that reads {x} and {y}")
        gates[2 * number] = (x, y)
    return outputs, gates, _symbols(rest[place:].decode("utf-8", "replace").splitlines())


def _symbols(lines: list[str]) -> dict[str, str]:
    symbols = {}
    for line in lines:
        if line == "c":
            break
        name, _, value = line.partition(" ")
        symbols[name] = value
    return symbols


def _content(path: str | Path) -> bytes:
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(str(path), expected="a circuit in a file", got="no such file")
    try:
        return source.read_bytes()
    except OSError as error:
        raise DataError(str(path), expected="a readable file", got=str(error)) from None


def _circuit(
    netlist: Netlist, outputs: list[int], names: list[str], classes: int | None, tau: float, notes: dict[str, Any]
) -> Circuit:
    count = len(outputs) if classes is None else classes
    if count < 1 or len(outputs) % count:
        raise ArgumentError("classes", expected=f"a number that shares {len(outputs)} outputs evenly", got=count)
    zeros = np.zeros(len(outputs), np.int32)
    first = netlist.num_inputs
    votes = [Votes.of(part) for part in (first + np.arange(len(outputs))).reshape(count, -1)]
    frame = Circuit(
        first, zeros.astype(np.uint8), zeros, zeros, votes, tau=tau, labels=names if classes is None else None, notes=notes
    )
    literals = [2 * (1 + place) for place in range(first)]
    return to_circuit(netlist, [*literals, *outputs], frame)
