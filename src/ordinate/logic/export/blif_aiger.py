"""Circuits for logic synthesis: BLIF, which yosys and ABC read, and binary AIGER, which ABC and model checkers read.

BLIF: Berkeley Logic Interchange Format, 1992. AIGER: Biere 2007, "The AIGER And-Inverter Graph (AIG) Format", version 20071012.
"""

from __future__ import annotations

from ordinate.logic.circuit.adders import class_bits, counts
from ordinate.logic.circuit.circuit import Circuit
from ordinate.logic.circuit.counting import count_plan
from ordinate.logic.circuit.luts import LutCircuit
from ordinate.logic.circuit.netlist import FALSE, Netlist, add_circuit
from ordinate.logic.circuit.program import Stage, voting_signals

__all__ = ["aiger", "blif", "lut_blif", "outputs_of"]


def outputs_of(circuit: Circuit, stage: Stage) -> tuple[Netlist, list[tuple[str, int]]]:
    """The circuit's netlist, and its outputs by name as in `ordinate.logic.export.verilog`.

    Args:
        circuit: any.
        stage: "gates" for the signals that vote, `votes[k]`; "classes" for the number of the class, `class_index[k]`; "counts"
            for the bits of the counts, `count_c[k]`; "all" for the last two.
    """
    netlist = Netlist(circuit.num_inputs)
    literals = add_circuit(netlist, circuit)
    if stage == "gates":
        return netlist, _bus("votes", [literals[signal] for signal in voting_signals(circuit)])
    plan = count_plan(circuit)
    counted = counts(netlist, plan, literals)
    named: list[tuple[str, int]] = []
    if stage in ("classes", "all"):
        named += _bus("class_index", class_bits(netlist, plan, counted))
    if stage in ("counts", "all"):
        named += [pair for place, bits in enumerate(counted) for pair in _bus(f"count_{place}", bits)]
    return netlist, named


def _bus(name: str, literals: list[int]) -> list[tuple[str, int]]:
    """Names as yosys gives them: a bus of one bit has no index."""
    return [(name if len(literals) == 1 else f"{name}[{place}]", literal) for place, literal in enumerate(literals)]


def blif(circuit: Circuit, name: str = "circuit", *, stage: Stage = "classes") -> str:
    """The circuit in BLIF.

    Args:
        circuit: any.
        name: of the model.
        stage: what comes out; see `outputs_of`.

    >>> print(blif(Circuit(2, [8], [0], [1], votes=[([2], [1])]), stage="gates"))
    .model circuit
    .inputs bits[0] bits[1]
    .outputs votes
    .names bits[0] bits[1] g3
    11 1
    .names g3 votes
    1 1
    .end
    <BLANKLINE>
    """
    netlist, outputs = outputs_of(circuit, stage)
    inputs = [name for name, _ in _bus("bits", list(range(circuit.num_inputs)))]
    lines = [
        f".model {name}",
        ".inputs " + " ".join(inputs),
        ".outputs " + " ".join(output for output, _ in outputs),
    ]

    def called(node: int) -> str:
        return f"g{node}" if netlist.is_gate(node) else inputs[node - 1]

    live = netlist.reached(literal for _, literal in outputs)
    for node in range(netlist.num_inputs + 1, len(netlist)):
        if not live[node]:
            continue
        x, y = netlist.left[node], netlist.right[node]
        rows = ["01 1", "10 1"] if netlist.is_xor[node] else [f"{1 - (x & 1)}{1 - (y & 1)} 1"]
        lines += [f".names {called(x >> 1)} {called(y >> 1)} {called(node)}", *rows]
    for output, literal in outputs:
        if literal >> 1:
            lines += [f".names {called(literal >> 1)} {output}", f"{1 - (literal & 1)} 1"]
        else:
            lines += [f".names {output}", *([] if literal == FALSE else ["1"])]
    return "\n".join([*lines, ".end", ""])


def lut_blif(tables: LutCircuit, name: str = "circuit") -> str:
    """A circuit of tables in BLIF, a `.names` each, so that tools which map no further keep it as it is.

    Args:
        tables: such as `map_luts(circuit, 6).to_luts()` or `lut_circuit(network)`.
        name: of the model.

    >>> print(lut_blif(LutCircuit(2, [[0, 1]], [0b0110], votes=[([2], [1])])))
    .model circuit
    .inputs bits[0] bits[1]
    .outputs votes
    .names bits[0] bits[1] t2
    10 1
    01 1
    .names t2 votes
    1 1
    .end
    <BLANKLINE>
    """
    inputs = [one for one, _ in _bus("bits", list(range(tables.num_inputs)))]
    voting = voting_signals(tables.frame)
    lines = [f".model {name}", ".inputs " + " ".join(inputs)]
    lines.append(".outputs " + " ".join(output for output, _ in _bus("votes", voting)))

    def called(signal: int) -> str:
        return inputs[signal] if signal < tables.num_inputs else f"t{signal}"

    for node, (reads, table, places) in enumerate(
        zip(tables.reads.tolist(), tables.tables.tolist(), tables.needed(), strict=True), tables.num_inputs
    ):
        lines.append(" ".join([".names", *(called(reads[place]) for place in places), called(node)]))
        for row in range(1 << len(places)):
            if table >> sum((row >> number & 1) << place for number, place in enumerate(places)) & 1:
                lines.append(f"{''.join(str(row >> number & 1) for number in range(len(places)))} 1".strip())
    for output, signal in _bus("votes", voting):
        lines += [f".names {called(signal)} {output}", "1 1"]
    return "\n".join([*lines, ".end", ""])


def aiger(circuit: Circuit, *, stage: Stage = "classes") -> bytes:
    """The circuit in binary AIGER; an XOR becomes three ANDs.

    Args:
        circuit: any.
        stage: what comes out; see `outputs_of`.

    >>> aiger(Circuit(2, [8], [0], [1], votes=[([2], [1])]), stage="gates").splitlines()[0]
    b'aig 3 2 0 1 1'
    """
    netlist, outputs = outputs_of(circuit, stage)
    live = netlist.reached(literal for _, literal in outputs)
    literal_of = list(range(0, 2 * (netlist.num_inputs + 1), 2)) + [0] * (len(netlist) - netlist.num_inputs - 1)
    gates: list[tuple[int, int]] = []

    def conjunction(x: int, y: int) -> int:
        gates.append((max(x, y), min(x, y)))
        return 2 * (netlist.num_inputs + len(gates))

    for node in range(netlist.num_inputs + 1, len(netlist)):
        if not live[node]:
            continue
        x, y = (literal_of[one >> 1] ^ (one & 1) for one in (netlist.left[node], netlist.right[node]))
        if netlist.is_xor[node]:
            literal_of[node] = conjunction(conjunction(x, y) ^ 1, conjunction(x ^ 1, y ^ 1) ^ 1)
        else:
            literal_of[node] = conjunction(x, y)
    head = f"aig {netlist.num_inputs + len(gates)} {netlist.num_inputs} 0 {len(outputs)} {len(gates)}\n"
    head += "".join(f"{literal_of[literal >> 1] ^ (literal & 1)}\n" for _, literal in outputs)
    body = bytearray()
    for place, (left, right) in enumerate(gates, netlist.num_inputs + 1):
        for difference in (2 * place - left, left - right):
            while difference > 127:
                body.append(difference & 127 | 128)
                difference >>= 7
            body.append(difference)
    tail = "".join(f"i{place} bits[{place}]\n" for place in range(netlist.num_inputs))
    tail += "".join(f"o{place} {output}\n" for place, (output, _) in enumerate(outputs))
    return head.encode() + bytes(body) + tail.encode()
