"""The chips that a circuit can go to: size, pins, and what yosys, nextpnr and the packer of a bitstream want for each family.

Cells are what nextpnr counts: four-input tables (iCE40, ECP5, Gowin), `CPE` of two tables of up to four or five inputs
(GateMate), six-input tables (AMD's 7 series, which only Vivado places and routes). Sizes are those that nextpnr 0.11 reports,
for the 7 series those of the product table (DS180), from memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ordinate.arguments import check_choice

__all__ = ["CHIPS", "FAMILIES", "Chip", "Family", "chip_named", "larger_chips"]


@dataclass(frozen=True)
class Family:
    """What the tools want for a family.

    Args:
        title: its name for people.
        synth: the synthesis command of yosys, without its top module and file.
        nextpnr: the program that places and routes; None where no open one does.
        wrote: options by which it writes its result.
        pins_option: the option that names the file of pins, "{}" for the file.
        pins_file: name of that file.
        pin_line: one line of it.
        cells: the names of logic cells in nextpnr's report; their uses are added up.
        pack: the program that makes a bitstream, and its arguments.
        bitstream: the file that it makes.
        block_memories: whether yosys may take them; their model is known for iCE40 only.
        table_inputs: of its tables, as far as gates are mapped to them before synthesis.
    """

    title: str
    synth: str
    nextpnr: str | None = None
    wrote: tuple[str, ...] = ()
    pins_option: tuple[str, ...] = ()
    pins_file: str = ""
    pin_line: str = ""
    cells: str = ""
    pack: tuple[str, ...] = ()
    bitstream: str | None = None
    block_memories: bool = False
    table_inputs: int = 4


FAMILIES = {
    "ice40": Family(
        "Lattice iCE40",
        "synth_ice40",
        "nextpnr-ice40",
        ("--asc", "circuit.asc"),
        ("--pcf", "{}"),
        "circuit.pcf",
        "set_io {port} {pin}",
        "ICESTORM_LC",
        ("icepack", "circuit.asc", "circuit.bin"),
        "circuit.bin",
        block_memories=True,
    ),
    "ecp5": Family(
        "Lattice ECP5",
        "synth_ecp5 -nobram -nolutram",
        "nextpnr-ecp5",
        ("--textcfg", "circuit.config", "--lpf-allow-unconstrained"),
        cells="TRELLIS_COMB",
        pack=("ecppack", "circuit.config", "circuit.bit"),
        bitstream="circuit.bit",
    ),
    "gowin": Family(
        "Gowin",
        "synth_gowin -nobram -nolutram",
        "nextpnr-himbaechel-gowin",
        ("--write", "placed_netlist.json"),
        ("--vopt", "cst={}"),
        "circuit.cst",
        'IO_LOC "{port}" {pin};',
        "LUT4",
        ("gowin_pack", "-d", "{part}", "-o", "circuit.fs", "placed_netlist.json"),
        "circuit.fs",
    ),
    "gatemate": Family(
        "Cologne Chip GateMate",
        "synth_gatemate -nobram -luttree -nomx4 -nomx8",
        "nextpnr-himbaechel-gatemate",
        ("--vopt", "allow-unconstrained", "--vopt", "out=circuit.txt"),
        cells="CPE_LT",
        pack=("gmpack", "circuit.txt", "circuit.bit"),
        bitstream="circuit.bit",
    ),
    "xc7": Family("AMD 7 series", "synth_xilinx -family xc7 -flatten -nobram -nolutram -nosrl -nodsp", table_inputs=6),
}


@dataclass(frozen=True)
class Chip:
    """A chip in its package.

    Args:
        name: as `--chip` takes it.
        family: of `FAMILIES`.
        logic_cells: that it has.
        part: chip and package, as its maker or the packer of its bitstream calls it.
        options: of nextpnr.
        mhz: the clock that is asked for.
        clock: the pin of the clock, where pins are fixed.
        pins: the others, in their order around the package; () leaves them to nextpnr.
        max_pins: user pins.
        path_ns: (a, b): a path of n levels of tables takes about a + b n, fitted to nextpnr's clocks for circuits of some
            hundred gates; None where none were placed for it.
    """

    name: str
    family: str
    logic_cells: int
    part: str
    options: tuple[str, ...]
    mhz: float
    max_pins: int
    clock: int | None = None
    pins: tuple[int, ...] = ()
    path_ns: tuple[float, float] | None = None

    @property
    def tools(self) -> Family:
        """Its family's."""
        return FAMILIES[self.family]

    def estimated_mhz(self, levels: float | None) -> float | None:
        """The clock to expect with so many levels of tables between registers; None where nothing is known.

        >>> chip_named("hx8k").estimated_mhz(4) > chip_named("up5k").estimated_mhz(4) > chip_named("up5k").estimated_mhz(8)
        True
        """
        if levels is None or self.path_ns is None:
            return None
        return 1000 / (self.path_ns[0] + self.path_ns[1] * levels)


def _ice40(name: str, cells: int, package: str, max_pins: int, mhz: float = 12, *, pins: Sequence[int] = ()) -> Chip:
    options = (f"--{name}", "--package", package)
    ns = {"hx8k": (3.0, 1.2), "hx1k": (3.0, 1.2), "up5k": (7.0, 2.8)}.get(name)
    return Chip(name, "ice40", cells, f"{name}-{package}", options, mhz, max_pins, 35 if pins else None, tuple(pins), ns)


_UP5K = (2, 3, 4, 6, 9, 10, 11, 12, 13, 18, 19, 20, 21, 23, 25, 26, 27, 28, 31, 32, 34, 36, 37, 38, 42, 43, 44, 45, 46, 47, 48)
_GW1NR9 = (25, 26, 27, 28, 29, 30, 33, 34, 40, 35, 41, 42, 51, 53, 54, 55, 56, 57, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77)
_GW2AR18 = (73, 74, 75, 85, 77, 15, 16, 27, 28, 25, 26, 29, 30, 31, 17, 20, 19, 18, 49, 51, 54, 56, 41, 42, 48, 52, 53, 55)


def _rows() -> list[Chip]:
    rows = [
        _ice40("lp384", 384, "qn32", 21),
        _ice40("lp1k", 1280, "qn84", 67),
        _ice40("hx1k", 1280, "tq144", 96),
        _ice40("up5k", 5280, "sg48", 39, pins=_UP5K),
        _ice40("hx8k", 7680, "ct256", 206),
        _ice40("lp8k", 7680, "cm225", 178),
    ]
    for size, cells in ((12, 24288), (25, 24288), (45, 43848), (85, 83640)):
        sized = (f"--{size}k", "--package", "CABGA381")
        rows.append(Chip(f"ecp5-{size}k", "ecp5", cells, f"LFE5U-{size}F-6BG381C", sized, 50, 197))
    for name, part, device, cells, mhz, clock, pins in (
        ("gw1nr-9c", "GW1N-9C", "GW1NR-LV9QN88PC6/I5", 8640, 27, 52, _GW1NR9),
        ("gw2ar-18c", "GW2A-18C", "GW2AR-LV18QN88C8/I7", 20736, 27, 4, _GW2AR18),
    ):
        options = ("--device", device, "--vopt", f"family={part}")
        rows.append(Chip(name, "gowin", cells, part, options, mhz, 1 + len(pins), clock, pins))
    rows.append(Chip("ccgm1a1", "gatemate", 40960, "CCGM1A1", ("--device", "CCGM1A1"), 25, 162))
    rows.append(Chip("xc7a35t", "xc7", 20800, "xc7a35tcpg236-1", (), 100, 106))
    return rows


CHIPS = {chip.name: chip for chip in _rows()}
"""Every chip by its name."""


def chip_named(name: str) -> Chip:
    """A chip of `CHIPS`. Raises UnknownNameError.

    >>> chip_named("up5k").logic_cells
    5280
    """
    return CHIPS[check_choice("chip", name, CHIPS)]


def larger_chips(cells: float) -> list[str]:
    """The smallest chip of each family that has so many cells."""
    fitting: dict[str, Chip] = {}
    for chip in CHIPS.values():
        known = fitting.get(chip.family)
        if chip.tools.nextpnr and chip.logic_cells >= cells and (known is None or chip.logic_cells < known.logic_cells):
            fitting[chip.family] = chip
    return [chip.name for chip in fitting.values()]
