"""What synthesis made of a module, run on many rows at once, and its tables as a circuit.

yosys writes the cells of a chip as JSON. Here each becomes tables of up to six inputs, flip-flops and read-only memories:
models of our own after the vendors' descriptions, as they stand in yosys's `cells_sim.v`. 64 rows share a word, all tables of a
level are one operation of numpy, and so every test image goes through the pins of the chip without a simulator of Verilog.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ordinate.errors import RefusedError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.luts import decomposed
from ordinate.logic.circuit.netlist import FALSE, TRUE, Netlist, to_circuit

__all__ = ["MappedNetlist"]

Words = npt.NDArray[np.uint64]
_ONES = np.uint64(0xFFFFFFFFFFFFFFFF)
_BUFFERS = {"IBUF": "IO", "OBUF": "IO", "BUFG": "IO", "CC_IBUF": "IY", "CC_OBUF": "AO", "CC_BUFG": "IO"}
_PARITY3, _MAJORITY, _CHOOSE = 0b10010110, 0b11101000, 0b11001010  # of inputs a, b, c; the last is b where c, else a


@dataclass(frozen=True)
class _FlipFlop:
    q: int
    d: int
    enable: int
    reset: int
    value: bool
    initial: bool
    enable_gates_reset: bool
    invert_enable: bool = False
    invert_reset: bool = False


@dataclass(frozen=True)
class _Rom:
    address: tuple[int, ...]
    data: tuple[int, ...]
    enable: int
    rows: npt.NDArray[np.uint16]


class MappedNetlist:
    """A module of a chip's cells.

    Args:
        path: JSON by yosys, of one flat module.
        top: the module.

    Raises:
        RefusedError: a cell that has no model here, by its name.
    """

    def __init__(self, path: Path, top: str) -> None:
        module = json.loads(path.read_text(encoding="utf-8"))["modules"][top]
        self.cells = Counter(cell["type"] for cell in module["cells"].values() if cell["type"] != "$scopeinfo")
        self.ports: dict[str, list[int]] = {}
        self._number: dict[Any, int] = {"0": 0, "x": 0, "z": 0, "1": 1}
        self._tables: list[tuple[int, int, tuple[int, ...]]] = []
        self._flip_flops: list[_FlipFlop] = []
        self._roms: list[_Rom] = []
        for name, port in module["ports"].items():
            self.ports[name] = [self._net(bit) for bit in port["bits"]]
        for name, cell in module["cells"].items():
            self._add(name, cell["type"], cell.get("parameters", {}), cell["connections"])
        self._levels = self._schedule()

    def _net(self, bit: Any) -> int:
        if bit not in self._number:
            self._number[bit] = len(self._number)
        return self._number[bit]

    def _new(self) -> int:
        return self._net(("new", len(self._number)))

    def _table(self, table: int, inputs: Sequence[int], output: int | None = None) -> int:
        output = self._new() if output is None else output
        self._tables.append((output, table, tuple(inputs)))
        return output

    def _add(self, name: str, kind: str, parameters: Mapping[str, Any], ports: Mapping[str, list[Any]]) -> None:
        """The tables and flip-flops of a cell."""

        def one(port: str, missing: str = "0") -> int:
            bits = ports.get(port) or [missing]
            return self._net(bits[0])

        def out(port: str) -> int | None:
            return self._net(ports[port][0]) if ports.get(port) else None

        def number(parameter: str) -> int:
            return int(str(parameters.get(parameter, "0")).replace("x", "0"), 2)

        if kind == "$scopeinfo":
            return
        if kind in _BUFFERS:
            self._table(0b10, [one(_BUFFERS[kind][0])], out(_BUFFERS[kind][1]))
        elif kind in ("VCC", "GND"):
            self._table(0b11 if kind == "VCC" else 0, [0], out(kind[0]))
        elif kind in ("INV", "$_NOT_"):
            self._table(0b01, [one("I" if kind == "INV" else "A")], out("O" if kind == "INV" else "Y"))
        elif kind == "SB_LUT4":
            self._table(number("LUT_INIT"), [one(f"I{place}") for place in range(4)], out("O"))
        elif kind == "SB_CARRY":
            self._table(_MAJORITY, [one("I0"), one("I1"), one("CI")], out("CO"))
        elif kind == "LUT4" and "Z" in ports:  # ECP5
            self._table(number("INIT"), [one(letter) for letter in "ABCD"], out("Z"))
        elif kind in ("PFUMX", "L6MUX21"):
            names = ("BLUT", "ALUT", "C0") if kind == "PFUMX" else ("D0", "D1", "SD")
            self._table(_CHOOSE, [one(port) for port in names], out("Z"))
        elif kind == "CCU2C":
            carry = one("CIN")
            for half in "01":
                letters = [one(f"{letter}{half}", "1") for letter in "ABCD"]
                init, injected = number(f"INIT{half}"), parameters.get(f"INJECT1_{half}", "YES") == "YES"
                four = self._table(init, letters)
                two = 0 if injected else self._table(init & 15, letters[:2])
                self._table(0b0110, [four, 0 if injected else carry], out(f"S{half}"))
                carry = self._table(_CHOOSE, [two, carry, four], out("COUT") if half == "1" else None)
        elif kind.startswith("MUX2_LUT"):
            self._table(_CHOOSE, [one("I0"), one("I1"), one("S0")], out("O"))
        elif kind == "ALU":
            mode = number("ALU_MODE")
            if mode > 5:
                raise RefusedError("netlist", expected="an ALU that adds, subtracts or compares", got=f"mode {mode} at {name}")
            a, b = one("I0"), one("I1")
            same = {0: 0b0110, 1: 0b1001, 3: 0b1001, 4: 0b1001, 5: 0b1001}
            passes = self._table(0b10010110 if mode == 2 else same[mode], [a, b, one("I3")] if mode == 2 else [a, b])
            if mode == 2:  # I3 adds, else subtracts
                passes = self._table(0b01, [passes])
            self._table(0b0110, [passes, one("CIN")], out("SUM"))
            generated = 1 if mode == 3 else b if mode == 5 else a
            self._table(_CHOOSE, [generated, one("CIN"), passes], out("COUT"))
        elif kind == "CC_ADDF":
            inputs = [one("A"), one("B"), one("CI")]
            self._table(_PARITY3, inputs, out("S"))
            self._table(_MAJORITY, inputs, out("CO"))
        elif kind in ("CC_L2T4", "CC_L2T5"):
            low, high, last = (
                ("INIT_L00", "INIT_L01", "INIT_L10") if kind == "CC_L2T4" else ("INIT_L02", "INIT_L03", "INIT_L11")
            )
            pair = [
                self._table(number(low), [one("I0", "x"), one("I1", "x")]),
                self._table(number(high), [one("I2", "x"), one("I3", "x")]),
            ]
            if kind == "CC_L2T4":
                self._table(number(last), pair, out("O"))
            else:  # input 0 of the last table chooses its high bit
                self._table(number("INIT_L20"), [one("I4"), self._table(number(last), pair)], out("O"))
        elif kind == "CC_MX2":
            self._table(_CHOOSE, [one("D0"), one("D1"), one("S0")], out("Y"))
        elif kind == "CARRY4":
            carry = self._table(0b1110, [one("CI"), one("CYINIT")])
            for place in range(4):
                s, di = (self._net(ports[port][place]) for port in ("S", "DI"))
                self._table(0b0110, [s, carry], self._net(ports["O"][place]) if ports.get("O") else None)
                carry = self._table(_CHOOSE, [di, carry, s], self._net(ports["CO"][place]) if ports.get("CO") else None)
        elif kind in ("MUXF7", "MUXF8"):
            self._table(_CHOOSE, [one("I0"), one("I1"), one("S")], out("O"))
        elif kind[-1:].isdigit() and kind[:-1] in ("LUT", "CC_LUT") and int(kind[-1]) <= 6:
            self._table(number("INIT"), [one(f"I{place}") for place in range(int(kind[-1]))], out("F" if "F" in ports else "O"))
        elif kind == "SB_RAM40_4K":
            self._rom(name, parameters, ports)
        elif not self._flip_flop(kind, parameters, one):
            raise RefusedError("netlist", expected="cells that have a model", got=f"{kind} at {name}")

    def _flip_flop(self, kind: str, parameters: Mapping[str, Any], one: Any) -> bool:
        if kind.startswith("SB_DFF") and not kind.startswith("SB_DFFN"):
            rest = kind[6:]
            sets = rest.endswith("SS") or rest in ("S", "ES")
            reset = one("S" if sets else "R") if rest.strip("E") else 0
            enable = one("E", "1") if rest.startswith("E") else 1
            gates = rest.startswith("E") and rest[1:] in ("SR", "SS")
            self._flip_flops.append(_FlipFlop(one("Q"), one("D"), enable, reset, sets, False, gates))
        elif kind == "TRELLIS_FF" and parameters.get("CLKMUX", "CLK") == "CLK":
            # yosys adds a space to a text that looks like a number
            enable = {"1": 1, "0": 0}.get(str(parameters.get("CEMUX", "1")).strip(), one("CE"))
            value = parameters.get("REGSET") == "SET"
            inverted = (parameters.get("CEMUX") == "INV", parameters.get("LSRMUX") == "INV")
            self._flip_flops.append(_FlipFlop(one("Q"), one("DI"), enable, one("LSR"), value, value, False, *inverted))
        elif kind in ("DFF", "DFFE", "DFFR", "DFFRE", "DFFS", "DFFSE", "DFFP", "DFFPE", "DFFC", "DFFCE"):
            port = {"R": "RESET", "S": "SET", "P": "PRESET", "C": "CLEAR"}.get(kind[3:4], "")
            value = kind[3:4] in ("S", "P")
            initial = str(parameters.get("INIT", "1" if value else "0")).endswith("1")
            enable = one("CE", "1") if kind.endswith("E") else 1
            self._flip_flops.append(_FlipFlop(one("Q"), one("D"), enable, one(port), value, initial, False))
        elif kind == "CC_DFF" and str(parameters.get("CLK_INV", "0")).endswith("0"):
            high = {name: str(parameters.get(name, "0")).endswith("1") for name in ("SR_VAL", "INIT", "EN_INV", "SR_INV")}
            self._flip_flops.append(
                _FlipFlop(
                    one("Q"),
                    one("D"),
                    one("EN", "1"),
                    one("SR"),
                    high["SR_VAL"],
                    high["INIT"],
                    False,
                    high["EN_INV"],
                    high["SR_INV"],
                )
            )
        elif kind in ("FDRE", "FDSE", "FDCE", "FDPE"):
            port, value = {"FDRE": ("R", False), "FDSE": ("S", True), "FDCE": ("CLR", False), "FDPE": ("PRE", True)}[kind]
            initial = str(parameters.get("INIT", "0")).endswith("1")
            self._flip_flops.append(_FlipFlop(one("Q"), one("D"), one("CE", "1"), one(port), value, initial, False))
        else:
            return False
        return True

    def _rom(self, name: str, parameters: Mapping[str, Any], ports: Mapping[str, list[Any]]) -> None:
        written = all(ports.get(port, ["0"]) not in (["0"], ["x"]) for port in ("WE", "WCLKE"))
        if str(parameters.get("READ_MODE", "0")).strip("0") or written:
            raise RefusedError("netlist", expected="a read-only memory of 256 rows of 16 bits", got=name)
        rows = []
        for block in range(16):
            digits = str(parameters.get(f"INIT_{block:X}", "")).replace("x", "0").rjust(256, "0")
            rows += [int(digits[240 - 16 * row : 256 - 16 * row], 2) for row in range(16)]
        address = tuple(self._net(bit) for bit in ports["RADDR"][:8])
        enable = self._table(0b1000, [self._net(ports[port][0]) if ports.get(port) else 1 for port in ("RE", "RCLKE")])
        data = tuple(self._net(bit) for bit in ports["RDATA"])
        self._roms.append(_Rom(address, data, enable, np.array(rows, np.uint16)))

    def _schedule(self) -> list[list[tuple[int, int, tuple[int, ...]]]]:
        """Tables by level: a table reads what is before its level."""
        driver = {output: place for place, (output, _, _) in enumerate(self._tables)}
        level: dict[int, int] = {}
        for start in range(len(self._tables)):
            stack = [start]
            while stack:
                place = stack[-1]
                before = [driver[net] for net in self._tables[place][2] if net in driver]
                missing = [one for one in before if one not in level]
                if missing:
                    if len(stack) > len(self._tables):
                        raise RefusedError("netlist", expected="gates without a loop", got="one")
                    stack += missing
                    continue
                level[place] = 1 + max((level[one] for one in before), default=-1)
                stack.pop()
        levels: list[list[tuple[int, int, tuple[int, ...]]]] = [[] for _ in range(1 + max(level.values(), default=-1))]
        for place, one in level.items():
            levels[one].append(self._tables[place])
        return levels

    def to_circuit(self, inputs: str, outputs: str) -> Circuit:
        """The tables as gates; each output votes once for a class of its own.

        A register counts as a wire: what comes out is what the module computes of one row, provided that every path to an
        output passes as many registers, which is checked.

        Args:
            inputs: the port that is read.
            outputs: the port that votes.

        Raises:
            RefusedError: a memory, a register with an enable or a reset, or paths of several lengths.
        """
        read, voting = self.ports[inputs], self.ports[outputs]
        netlist = Netlist(len(read))
        literal = {0: FALSE, 1: TRUE, **{net: 2 * (1 + place) for place, net in enumerate(read)}}
        clocks: dict[int, int | None] = {0: None, 1: None, **dict.fromkeys(read, 0)}  # None for constants
        waiting: list[tuple[int, int, tuple[int, ...]]] = [one for level in self._levels for one in level]
        for one in self._flip_flops:
            if (one.enable ^ one.invert_enable, one.reset ^ one.invert_reset) != (1, 0):
                raise RefusedError("netlist", expected="registers without enable and reset", got="one with them")
            waiting.append((one.q, -1, (one.d,)))
        drivers = {output: (table, reads) for output, table, reads in waiting}
        for net in voting:
            stack = [net]
            while stack:
                top = stack[-1]
                if top in literal:
                    stack.pop()
                    continue
                if top not in drivers:
                    raise RefusedError("netlist", expected="tables and registers alone", got="a cell of another kind")
                table, reads = drivers[top]
                missing = [one for one in reads if one not in literal]
                if missing:
                    if len(stack) > 2 * len(self._number):
                        raise RefusedError("netlist", expected="registers without a loop", got="one")
                    stack += missing
                    continue
                late = {clock for one in reads if (clock := clocks[one]) is not None}
                if len(late) > 1:
                    raise RefusedError("netlist", expected="as many registers on every path", got=f"{sorted(late)} at a table")
                own = next(iter(late), None)
                if table < 0:
                    literal[top], clocks[top] = literal[reads[0]], None if own is None else own + 1
                else:
                    literal[top], clocks[top] = decomposed(netlist, table, [literal[one] for one in reads]), own
        lengths = {clock for net in voting if (clock := clocks[net]) is not None}
        if len(lengths) > 1:
            raise RefusedError("netlist", expected="as many registers on every path", got=f"{sorted(lengths)} at the outputs")
        none = np.zeros(len(voting), np.int32)
        votes = [Votes.of([len(read) + place]) for place in range(len(voting))]
        frame = Circuit(len(read), none.astype(np.uint8), none, none, votes)
        inner = [2 * (1 + place) for place in range(len(read))]
        return to_circuit(netlist, [*inner, *(literal[net] for net in voting)], frame)

    def classes(self, words: npt.NDArray[np.bool_], *, clocks: int, reset_clocks: int = 4) -> npt.NDArray[np.int64]:
        """Send images through `data` without a pause, and read `class_index` at each `out_valid`.

        Args:
            words: what is sent, [lanes, images, clocks an image, pins].
            clocks: to wait after the last word.
            reset_clocks: with `reset` high before the first word.

        Returns:
            Classes [lanes, images]; -1 for images that got no answer.
        """
        lanes, images, steps, pins = words.shape
        width = -(-lanes // 64)
        padded = np.zeros((images * steps, pins, 64 * width), bool)
        padded[:, :, :lanes] = words.reshape(lanes, images * steps, pins).transpose(1, 2, 0)
        sent = np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)
        plan = [_batch(level) for level in self._levels]
        values: Words = np.zeros((len(self._number), width), np.uint64)
        values[1] = _ONES
        for one in self._flip_flops:
            values[one.q] = _ONES if one.initial else 0
        columns = {
            field: np.array([getattr(one, field) for one in self._flip_flops], np.int64)
            for field in ("q", "d", "enable", "reset")
        }
        flags = {
            field: np.where([getattr(one, field) for one in self._flip_flops], _ONES, np.uint64(0)).astype(np.uint64)[:, None]
            for field in ("value", "enable_gates_reset", "invert_enable", "invert_reset")
        }
        answers = np.full((lanes, images), -1, np.int64)
        seen = np.zeros(lanes, np.int64)
        for clock in range(reset_clocks + images * steps + clocks):
            step = clock - reset_clocks
            values[self.ports["reset"]] = _ONES if step < 0 else 0
            sending = 0 <= step < images * steps
            values[self.ports["data_valid"]] = _ONES if sending else 0
            if sending:
                values[self.ports["data"]] = sent[step]
            for output, reads, tables in plan:
                values[output] = _looked_up(values, reads, tables)
            valid = _unpacked(values[self.ports["out_valid"]], lanes)[0]
            if valid.any():
                bits = _unpacked(values[self.ports["class_index"]], lanes).astype(np.int64)
                answer = (bits << np.arange(len(bits))[:, None]).sum(0)
                now = valid & (seen < images)
                answers[now, seen[now]] = answer[now]
                seen[now] += 1
            enable = values[columns["enable"]] ^ flags["invert_enable"]
            reset = (values[columns["reset"]] ^ flags["invert_reset"]) & (enable | ~flags["enable_gates_reset"])
            old = values[columns["q"]]
            after = old ^ ((old ^ values[columns["d"]]) & enable)
            after ^= (after ^ flags["value"]) & reset
            read = [self._read(values, rom, lanes, width) for rom in self._roms]
            values[columns["q"]] = after
            for rom, data in zip(self._roms, read, strict=True):
                values[list(rom.data)] = data
        return answers

    @staticmethod
    def _read(values: Words, rom: _Rom, lanes: int, width: int) -> Words:
        bits = _unpacked(values[list(rom.address)], 64 * width).astype(np.int64)
        rows = rom.rows[(bits << np.arange(len(bits))[:, None]).sum(0)]
        bits_read = (rows[None, :] >> np.arange(len(rom.data))[:, None] & 1).astype(bool)
        packed = np.packbits(bits_read, axis=-1, bitorder="little").view(np.uint64)
        old = values[list(rom.data)]
        return np.asarray(old ^ ((old ^ packed) & values[rom.enable]))


def _unpacked(words: Words, lanes: int) -> npt.NDArray[np.bool_]:
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=-1, count=lanes, bitorder="little").astype(bool)


def _batch(level: Sequence[tuple[int, int, tuple[int, ...]]]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], Words]:
    """Outputs [n], reads [k, n] and tables [2^k, n, 1] of a level, all with as many inputs as the widest."""
    k = max(len(reads) for _, _, reads in level)
    reads = np.array([[*one, *[0] * (k - len(one))] for _, _, one in level], np.int64).T
    tables = np.zeros((1 << k, len(level), 1), np.uint64)
    for place, (_, table, one) in enumerate(level):
        for row in range(1 << k):
            if table >> (row & ((1 << len(one)) - 1)) & 1:
                tables[row, place] = _ONES
    return np.array([output for output, _, _ in level], np.int64), reads, tables


def _looked_up(values: Words, reads: npt.NDArray[np.int64], tables: Words) -> Words:
    for place in reversed(range(len(reads))):
        half = len(tables) // 2
        tables = tables[:half] ^ ((tables[:half] ^ tables[half:]) & values[reads[place]])
    return np.broadcast_to(tables[0], (tables.shape[1], values.shape[1]))
