"""One training step of a layer of 8,000 gates on 8,000 signals, forward and backward: time and memory beside torchlogix.

Two settings: the layer in a row of layers, as networks have it (four layers; a quarter of their step), and the layer alone.
Inputs lie image by image. torchlogix 0.2.1 and 0.2.2 do not import
before Python 3.12 (a nested f-string in `torchlogix/circuit.py`); nothing of that file is used here, so it is replaced by an
empty module. It needs no dependency for this: `pip install --no-deps --target DIR torchlogix`, then `PYTHONPATH=DIR`. difflogic
compiles CUDA when it is installed and cannot run without; it is left out. One process, one thread, in turns, medians; memory is
the peak of one step in a fresh process. Run: python bench/logic_training.py
"""

from __future__ import annotations

import argparse
import json
import sys
import types
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from interleaved import median_seconds
from peak import in_fresh_process, peak_bytes
from torch import nn

from ordinate.lab.machine import machine
from ordinate.logic import LogicDense
from ordinate.logic.kernels import gates as gate_function

WIDTH = 8000
LAYERS = 4


def ours(parametrisation: str) -> nn.Module:
    """Our layer."""
    return LogicDense(WIDTH, WIDTH, parametrisation=parametrisation)


def torchlogix(parametrisation: str) -> nn.Module:
    """The peer's layer."""
    if "torchlogix" not in sys.modules and sys.version_info < (3, 12):
        empty: Any = types.ModuleType("torchlogix.circuit")
        empty.__file__, empty.Circuit = __file__, object
        sys.modules["torchlogix.circuit"] = empty
    from torchlogix.layers import LogicDense as Peer

    return Peer(WIDTH, WIDTH, parametrization=parametrisation)


LIBRARIES: dict[str, Callable[[str], nn.Module]] = {"ordinate": ours, "torchlogix": torchlogix}


def step(module: nn.Module, batch: int) -> Callable[[], None]:
    """Forward and backward, gradients of parameters and of the input included."""
    x = torch.rand(batch, WIDTH, requires_grad=True)
    slope = torch.rand(batch, WIDTH)

    def run() -> None:
        module(x).backward(slope)
        x.grad = None
        module.zero_grad()

    return run


def memory(library: str, parametrisation: str, layers: int, batch: int) -> int:
    """Bytes of one step of so many layers at its peak, beyond parameters and inputs."""
    run = step(nn.Sequential(*(LIBRARIES[library](parametrisation) for _ in range(layers))).train(), batch)
    run()
    return peak_bytes(run)


def main() -> None:
    """Print the table and one line of JSON."""
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--parametrisation", choices=("raw", "light"), nargs="*", default=["raw", "light"])
    options.add_argument("--clock", choices=("wall", "cpu"), default="cpu")
    options.add_argument("--without-numba", action="store_true", help="ours by torch alone")
    options.add_argument("--memory", nargs=3, metavar=("LIBRARY", "PARAMETRISATION", "LAYERS"), help=argparse.SUPPRESS)
    given = options.parse_args()
    torch.set_num_threads(1)
    gate_function._HAS_KERNELS &= not given.without_numba
    if given.memory:
        name, parametrisation, layers = given.memory
        print(json.dumps([memory(name, parametrisation, int(layers), given.batch)]))
        return
    try:
        peer = version("torchlogix")
        libraries = LIBRARIES
    except PackageNotFoundError:
        peer, libraries = None, {"ordinate": ours}
        print("torchlogix is not installed: ours alone (see the head of this file)")
    told: dict[str, Any] = {"machine": machine(), "torchlogix": peer, "batch": given.batch, "layers": {}}
    print(f"{WIDTH} to {WIDTH}, batch {given.batch}, one thread; milliseconds a step, MiB at its peak; torchlogix {peer}")
    for parametrisation in given.parametrisation:
        ways = {}
        for name, make in libraries.items():
            ways[f"{name}, in a row"] = step(
                nn.Sequential(*(make(parametrisation) for _ in range(LAYERS))).train(), given.batch
            )
            ways[f"{name}, alone"] = step(make(parametrisation).train(), given.batch)
        seconds = median_seconds(ways, given.rounds, clock=given.clock)
        row = {name: 1000 * taken / (LAYERS if "row" in name else 1) for name, taken in seconds.items()}
        for what, layers in (("in a row", LAYERS), ("alone", 1)):
            for name in libraries:
                arguments = ("--memory", name, parametrisation, str(layers), "--batch", str(given.batch))
                arguments += ("--without-numba",) * given.without_numba
                row[f"{name}, {what}, MiB"] = in_fresh_process(__file__, *arguments)[0] / layers / 2**20
        if peer:
            row |= {
                f"torchlogix / ordinate, {what}": row[f"torchlogix, {what}"] / row[f"ordinate, {what}"]
                for what in ("in a row", "alone", "in a row, MiB", "alone, MiB")
            }
        told["layers"][parametrisation] = row
        for name, value in row.items():
            print(f"  {parametrisation:6} {name:40} {value:8.2f}")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
