"""A Verilog module as it grows: wires that know after how many clocks they hold, and registers put in where paths meet.

Every value has a stage, the number of registers between the inputs and it. Where two values of different stages meet, the
earlier one is delayed, so that whatever is pipelined stays right by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ["Module", "Wire"]


@dataclass(frozen=True)
class Wire:
    """A value in the module.

    Args:
        name: of the wire, or an expression that selects from one.
        width: bits.
        stage: registers since the inputs.
        depth: levels of logic since the last register.
    """

    name: str
    width: int
    stage: int = 0
    depth: int = 0


class Module:
    """The wires and registers of a module.

    Args:
        limit: levels of logic after which `operation` puts a register; None for none.
        mark: what its names begin with, where several stand in one text.
    """

    def __init__(self, limit: int | None, mark: str = "") -> None:
        self.limit, self.mark = limit, mark
        self.wires: list[str] = []
        self.registers: list[str] = []
        self.clocked: list[str] = []
        self._late: dict[tuple[str, int], Wire] = {}
        self._count = 0

    def name(self, prefix: str) -> str:
        """A name that is not taken."""
        self._count += 1
        return f"{self.mark}{prefix}{self._count}"

    def wire(self, expression: str, width: int, stage: int, depth: int, prefix: str) -> Wire:
        """A wire that is assigned an expression."""
        name = self.name(prefix)
        self.wires.append(f"  wire {_range(width)}{name} = {expression};")
        return Wire(name, width, stage, depth)

    def register(self, source: Wire) -> Wire:
        """The value one clock later."""
        name = self.name("r")
        self.registers.append(f"  reg {_range(source.width)}{name};")
        self.clocked.append(f"    {name} <= {source.name};")
        return Wire(name, source.width, source.stage + 1)

    def at(self, source: Wire, stage: int) -> Wire:
        """The value delayed to a stage; what is delayed once is used again."""
        while source.stage < stage:
            key = (source.name, source.stage)
            if key not in self._late:
                self._late[key] = self.register(source)
            source = self._late[key]
        return source

    def align(self, sources: Sequence[Wire]) -> list[Wire]:
        """The values, all delayed to the latest stage among them."""
        stage = max(source.stage for source in sources)
        return [self.at(source, stage) for source in sources]

    def operation(
        self, sources: Sequence[Wire], expression: Callable[..., str], width: int, prefix: str, levels: int = 1
    ) -> Wire:
        """The result of an expression of aligned values; registered where it has come too far since the last register.

        Args:
            sources: what it reads.
            expression: from their names to Verilog.
            width: of the result.
            prefix: of its name.
            levels: of logic that it adds.
        """
        aligned = self.align(sources)
        depth = levels + max(source.depth for source in aligned)
        made = self.wire(expression(*(source.name for source in aligned)), width, aligned[0].stage, depth, prefix)
        return self.register(made) if self.limit is not None and depth >= self.limit else made

    def text(self) -> str:
        """Declarations and clocked assignments."""
        lines = [*self.registers, *self.wires]
        if self.clocked:
            lines += ["  always @(posedge clk) begin", *self.clocked, "  end"]
        return "\n".join(lines)


def _range(width: int) -> str:
    return f"[{width - 1}:0] " if width > 1 else ""
