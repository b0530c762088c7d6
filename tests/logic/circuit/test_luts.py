"""Circuits of tables run as their rows say, and their gates are proven to; what is none is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ordinate.errors import ArgumentError
from ordinate.logic import LutCircuit, equivalent, map_luts
from ordinate.logic.circuit.luts import decomposed
from ordinate.logic.circuit.netlist import Netlist
from tests.logic.circuits import every_input, random_circuit


def random_tables(seed: int, k: int, nodes: int = 25, inputs: int = 8) -> LutCircuit:
    random = np.random.default_rng(seed)
    reads = [random.choice(inputs + node, k, replace=False) for node in range(nodes)]
    tables = random.integers(0, 2, (nodes, 1 << k)) @ (1 << np.arange(1 << k, dtype=object))
    votes = [(random.integers(0, inputs + nodes, 7), random.integers(-3, 4, 7)) for _ in range(3)]
    return LutCircuit(inputs, reads, np.array(tables, np.uint64), votes, bias=[0.5, -1, 0], tau=1.5)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 6])
def test_tables_run_as_their_rows_say_and_so_do_their_gates(k: int) -> None:
    tables = random_tables(k, k)
    for bits in every_input(8)[:: 5 + k]:
        values = [int(bit) for bit in bits]
        for reads, table in zip(tables.reads.tolist(), tables.tables.tolist(), strict=True):
            row = sum(values[one] << place for place, one in enumerate(reads))
            values.append(int(table) >> row & 1)
        assert tables.signals(bits[None])[0].astype(int).tolist() == values
    circuit = tables.to_circuit()
    assert np.array_equal(circuit.evaluate(every_input(8)), tables.evaluate(every_input(8)))
    assert equivalent(circuit, tables.to_circuit(by_rows=True), exhaustive=False)


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_every_function_of_three_and_some_of_six_inputs_are_decomposed(k: int) -> None:
    random = np.random.default_rng(k)
    tables = range(1 << (1 << k)) if k < 4 else [int.from_bytes(random.bytes((1 << k) // 8), "little") for _ in range(60)]
    columns = [sum(1 << row for row in range(1 << k) if row >> place & 1) for place in range(k)]
    full = (1 << (1 << k)) - 1
    most = 0
    for table in tables:
        netlist = Netlist(k)
        literal = decomposed(netlist, table, [2 * (1 + place) for place in range(k)])
        value = netlist.simulate(columns, full)[literal >> 1] ^ (full if literal & 1 else 0)
        assert value == table
        most = max(most, len(netlist) - 1 - k)
    assert most <= (1 << k) - 3  # two halves and a multiplexer of three gates, from one gate for two inputs on


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_a_circuit_mapped_to_tables_is_proven_equal_row_by_row(k: int) -> None:
    circuit = random_circuit(5, 8, 120, classes=3)
    tables = map_luts(circuit, k).to_luts()
    assert tables.k <= k
    assert equivalent(circuit, tables.to_circuit(by_rows=True), exhaustive=False)
    assert np.array_equal(tables.evaluate(every_input(8)), circuit.evaluate(every_input(8)))


def test_tables_that_depend_on_one_input_are_not_counted() -> None:
    tables = LutCircuit(3, [[0, 1], [0, 1], [1, 2]], [0b1010, 0b1000, 0b0000], votes=[([3, 4, 5], [1, 1, 1])])
    assert (tables.num_tables, tables.needed()) == (1, [[0], [0, 1], []])


@pytest.mark.parametrize(
    ("reads", "tables", "message"),
    [
        ([[0, 3]], [8], r"reads\[0\]: expected earlier signals only, got \[0, 3\]"),
        ([[0, 1]], [16], "tables: expected tables of 4 rows, got 16"),
        ([[0, 1, 2, 0, 1, 2, 0]], [1], "reads: expected 1 to 6 signals a table, got 7"),
        ([[0, 1]], [1, 2], "tables: expected 1, one a node, got 2"),
    ],
)
def test_what_is_no_circuit_of_tables(reads: list, tables: list, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        LutCircuit(3, reads, tables, votes=[([0], [1])])
