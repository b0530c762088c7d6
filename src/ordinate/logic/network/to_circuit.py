"""From a trained network to its circuit: every layer that is known becomes nodes, every other is refused by name.

The layers are followed with a tensor that holds signal numbers where the network's would hold bits, so that flattening, padding
and windows are done by the same indexing as in the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ordinate.errors import ArgumentError, ArgumentTypeError, RefusedError, ShapeError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.circuit.luts import LutCircuit, decomposed, widened
from ordinate.logic.circuit.netlist import Netlist
from ordinate.logic.network.layers import GroupSum, LogicConv2d, LogicDense, OrPooling2d, Thresholds
from ordinate.logic.network.lut_layer import LutDense
from ordinate.logic.network.network import LogicNetwork

__all__ = ["from_network", "lut_circuit"]

_ZERO, _OR = 0, 14
_RESHAPING = (nn.Flatten, nn.Unflatten)
_TRANSPARENT = (nn.Identity,)


class _Nodes:
    """Nodes as they are added."""

    def __init__(self, num_inputs: int) -> None:
        self.num_inputs, self.count = num_inputs, num_inputs
        self.tables: list[Tensor] = []
        self.a: list[Tensor] = []
        self.b: list[Tensor] = []
        self._zero: int | None = None

    def add(self, tables: Tensor, a: Tensor, b: Tensor) -> Tensor:
        """The signals of new nodes, in the shape of `a`."""
        self.tables.append(tables.reshape(-1))
        self.a.append(a.reshape(-1))
        self.b.append(b.reshape(-1))
        signals = torch.arange(self.count, self.count + a.numel()).reshape(a.shape)
        self.count += a.numel()
        return signals

    def zero(self) -> int:
        """The constant false, for padding."""
        if self._zero is None:
            self._zero = int(self.add(torch.tensor([_ZERO]), torch.tensor([0]), torch.tensor([0])))
        return self._zero


def from_network(network: nn.Module, *, input_shape: Sequence[int] | None = None, input_scale: float = 1.0) -> Circuit:
    """The circuit that a network is in evaluation: its discrete gates, its wiring, its votes, temperature and bias.

    A `Thresholds` layer at the front becomes the circuit's thresholds, `GroupSum(tau, beta)` its votes, its temperature and the
    bias beta * tau. Without a `GroupSum` every output is a class with one vote. A `LogicNetwork`'s notes become the circuit's.

    Args:
        network: a `LogicNetwork`, or such layers in `nn.Sequential`.
        input_shape: of one input without the batch, such as (1, 28, 28); needed where the first layer does not say.
        input_scale: what the thresholds are multiplied by, where the circuit takes other numbers than the network: 255
            for a network of pixels from 0 to 1 and a circuit of bytes.

    Raises:
        RefusedError: a layer that is not known, or one in a place where it has no meaning in gates.
        ArgumentError: an input shape that is needed or does not fit.
        ArgumentTypeError: wires that are no integers.
        ShapeError: signals that the classes cannot share evenly.

    >>> from ordinate.logic import LogicDense, LogicNetwork
    >>> network = LogicNetwork(LogicDense(8, 20, initialisation="random"), GroupSum(2, tau=2.0, beta=[0.0, 0.5])).eval()
    >>> circuit = from_network(network)
    >>> bits = torch.randint(0, 2, (5, 8))
    >>> bool((torch.from_numpy(circuit.evaluate(bits)) == network(bits.float())).all())
    True
    """
    layers = list(_layers(network, "network"))
    inputs, shape = _start(layers, input_shape, input_scale)
    num_inputs = int(np.prod(shape))
    nodes = _Nodes(num_inputs)
    signals = torch.arange(num_inputs).reshape(1, *shape)
    votes: list[Votes] = []
    bias, tau = None, 1.0
    for place, (name, layer) in enumerate(layers):
        if votes:
            raise RefusedError(
                name, expected="nothing after GroupSum", got=type(layer).__name__, hint="scores are numbers; end with GroupSum"
            )
        if isinstance(layer, GroupSum):
            votes, bias, tau = _votes(layer, signals, name), layer.beta.double().numpy() * layer.tau, layer.tau
        elif isinstance(layer, Thresholds):
            if place:
                raise RefusedError(name, expected="Thresholds first", got=f"place {place}", hint="bits need no thresholds")
        else:
            signals = _follow(layer, signals, nodes, name)
    if not votes:
        votes = [Votes.of([int(signal)]) for signal in signals.reshape(-1)]
    return Circuit(
        num_inputs,
        _joined(nodes.tables).astype(np.uint8),
        _joined(nodes.a),
        _joined(nodes.b),
        votes=votes,
        bias=bias,
        tau=tau,
        inputs=inputs,
        labels=getattr(network, "notes", {}).get("labels"),
        notes={name: value for name, value in getattr(network, "notes", {}).items() if name != "labels"},
    )


def _layers(module: nn.Module, name: str) -> list[tuple[str, nn.Module]]:
    if type(module) in (nn.Sequential, LogicNetwork):
        return [pair for key, child in module.named_children() for pair in _layers(child, f"{name}[{key}]")]
    known = (LogicDense, LutDense, LogicConv2d, OrPooling2d, GroupSum, Thresholds, *_RESHAPING, *_TRANSPARENT)
    # exactly these: a subclass may compute something else, and skipping or guessing would give a wrong circuit in silence
    if type(module) not in known:
        raise RefusedError(
            name,
            expected="a layer that has a circuit: " + ", ".join(kind.__name__ for kind in known),
            got=type(module).__name__,
            hint="replace it, or build the Circuit by hand",
        )
    return [(name, module)]


def _start(
    layers: list[tuple[str, nn.Module]], input_shape: Sequence[int] | None, input_scale: float
) -> tuple[InputThresholds | None, tuple[int, ...]]:
    """Thresholds, if any, and the shape of the bits."""
    if not layers:
        raise ArgumentError("network", expected="at least one layer", got="none")
    first = layers[0][1]
    known_shape = None
    thresholds = None
    if isinstance(first, Thresholds):
        codes = first.codes()
        if input_scale != 1:
            codes = InputThresholds(codes.num_features, codes.feature, codes.threshold * input_scale)
        return codes, (first.out_features,)
    if isinstance(first, LogicDense | LutDense):
        known_shape = (first.in_features,)
    if input_shape is None and known_shape is None:
        raise ArgumentError(
            "input_shape",
            expected=f"the shape of one input, for {type(first).__name__} does not say it",
            got="none",
            hint="give such as (1, 28, 28)",
        )
    shape = tuple(input_shape) if input_shape is not None else known_shape
    assert shape is not None
    if not all(isinstance(side, int) and side > 0 for side in shape):
        raise ArgumentError("input_shape", expected="positive sizes", got=shape, hint="leave the batch out")
    return thresholds, shape


def _follow(layer: nn.Module, signals: Tensor, nodes: _Nodes, name: str) -> Tensor:
    if isinstance(layer, _RESHAPING):
        return layer(signals)
    if isinstance(layer, LogicDense):
        wiring = _wires(layer.wiring, name)
        if signals.shape[-1] != layer.in_features:
            raise ArgumentError(name, expected=f"{layer.in_features} signals", got=int(signals.shape[-1]))
        a, b = signals[..., wiring[0]], signals[..., wiring[1]]
        return nodes.add(layer.tables().expand_as(a), a, b)
    if isinstance(layer, LutDense):
        if signals.shape[-1] != layer.in_features or signals.numel() != layer.in_features:
            raise ArgumentError(name, expected=f"{layer.in_features} flat signals", got=tuple(signals.shape[1:]))
        return _decomposed(layer, signals.reshape(-1), nodes).reshape(1, -1)
    if isinstance(layer, LogicConv2d | OrPooling2d):
        if signals.ndim != 4 or (isinstance(layer, LogicConv2d) and signals.shape[1] != layer.in_channels):
            raise ArgumentError(name, expected="images (channels, height, width)", got=tuple(signals.shape[1:]))
        return _convolution(layer, signals, nodes, name) if isinstance(layer, LogicConv2d) else _pooling(layer, signals, nodes)
    return signals


def _decomposed(layer: LutDense, signals: Tensor, nodes: _Nodes) -> Tensor:
    """A layer of tables as gates; what its tables share is there once."""
    netlist = Netlist(layer.in_features)
    outputs = [
        decomposed(netlist, table, [2 * (1 + one) for one in reads])
        for table, reads in zip(layer.tables(), layer.wiring.T.tolist(), strict=True)
    ]
    place = [0, *signals.tolist(), *range(nodes.count, nodes.count + len(netlist) - 1 - layer.in_features)]
    gates = []
    for node in range(1 + layer.in_features, len(netlist)):
        x, y = netlist.left[node], netlist.right[node]
        table = 6 if netlist.is_xor[node] else 1 << (2 * (1 - (x & 1)) + 1 - (y & 1))
        gates.append((table, place[x >> 1], place[y >> 1]))
    ends = []  # a complement is an inverter, a constant a node of its own
    for one in outputs:
        if one & 1 or not one >> 1:
            own = place[one >> 1] if one >> 1 else int(signals[0])
            gates.append((3 if one >> 1 else 15 * (one & 1), own, own))
            ends.append(nodes.count + len(gates) - 1)
        else:
            ends.append(place[one >> 1])
    if gates:
        tables, a, b = (torch.tensor(column) for column in zip(*gates, strict=True))
        nodes.add(tables, a, b)
    return torch.tensor(ends)


def lut_circuit(network: nn.Module) -> LutCircuit:
    """The tables of a network as they are: thresholds, dense layers of gates and of tables, and the sums.

    Args:
        network: `Thresholds`, `LogicDense`, `LutDense` and `GroupSum` in a row.

    Raises:
        RefusedError: another layer.
        ArgumentError: no such layer.

    >>> from ordinate.logic import LogicNetwork, LutDense
    >>> lut_circuit(LogicNetwork(LutDense(12, 6, k=4), GroupSum(2))).num_tables
    0
    """
    layers = list(_layers(network, "network"))
    inputs, shape = _start(layers, None, 1.0)
    signals = np.arange(int(np.prod(shape)))
    count = len(signals)
    reads: list[npt.NDArray[np.int64]] = []
    tables: list[int] = []
    k = max([2, *(layer.k for _, layer in layers if isinstance(layer, LutDense))])
    votes, bias, tau = None, None, 1.0
    for name, layer in layers:
        if isinstance(layer, LogicDense | LutDense):
            # bit 2a + b of a gate: b is the lowest bit of the row
            wires = layer.wiring.flip(0) if isinstance(layer, LogicDense) else layer.wiring
            own = signals[wires.cpu().numpy().T]
            wide = list(map(int, layer.tables()))
            tables += [widened(table, own.shape[1], k) for table in wide]
            reads.append(np.pad(own, ((0, 0), (0, k - own.shape[1]))))
            signals = np.arange(count, count + len(own))
            count += len(own)
        elif isinstance(layer, GroupSum):
            votes = _votes(layer, torch.from_numpy(signals).unsqueeze(0), name)
            bias, tau = layer.beta.double().numpy() * layer.tau, layer.tau
        elif not isinstance(layer, Thresholds | nn.Identity):
            raise RefusedError(name, expected="dense layers of gates and tables", got=type(layer).__name__)
    if not reads:
        raise ArgumentError("network", expected="a layer of gates or tables", got="none")
    return LutCircuit(
        int(np.prod(shape)),
        np.concatenate(reads),
        np.array(tables, np.uint64),
        votes or [Votes.of([int(signal)]) for signal in signals],
        bias,
        tau,
        inputs,
        getattr(network, "notes", {}).get("labels"),
    )


def _wires(wiring: Tensor, name: str) -> Tensor:
    if wiring.is_floating_point():  # past 2^24 float32 gives neighbours the same number
        raise ArgumentTypeError(name, expected="integer wires", got=str(wiring.dtype))
    return wiring.detach().cpu()


def _padded(signals: Tensor, padding: int, nodes: _Nodes) -> Tensor:
    return F.pad(signals, (padding,) * 4, value=nodes.zero()) if padding else signals


def _convolution(layer: LogicConv2d, signals: Tensor, nodes: _Nodes, name: str) -> Tensor:
    rows, columns = layer.output_size(*signals.shape[-2:])
    flat = _padded(signals, layer.padding, nodes).reshape(-1)
    values = flat[_wires(layer.leaf_signals(*signals.shape[-2:]), name)]  # [out_channels, places, leaves]
    for tables in layer.tables():
        a, b = values[..., 0::2], values[..., 1::2]
        values = nodes.add(tables.cpu().unsqueeze(1).expand_as(a), a, b)
    return values.reshape(1, layer.out_channels, rows, columns)


def _pooling(layer: OrPooling2d, signals: Tensor, nodes: _Nodes) -> Tensor:
    windows = _padded(signals, layer.padding, nodes)
    for axis in (2, 3):  # the windows' own axes go to the end
        windows = windows.unfold(axis, layer.kernel_size, layer.stride)
    values = windows.flatten(-2)
    while values.shape[-1] > 1:
        even = values.shape[-1] // 2 * 2
        a, b = values[..., 0:even:2], values[..., 1:even:2]
        level = nodes.add(torch.full_like(a, _OR), a, b)
        values = torch.cat((level, values[..., even:]), -1)
    return values.squeeze(-1)


def _votes(layer: GroupSum, signals: Tensor, name: str) -> list[Votes]:
    width = int(signals.shape[-1])
    if signals[0].ndim != 1 or width % layer.num_classes:
        raise ShapeError(
            name,
            expected=f"flat signals, a multiple of {layer.num_classes} classes",
            got=tuple(signals.shape[1:]),
            hint="make the last layer's out_features a multiple of the number of classes, and flatten images",
        )
    return [Votes.of(row) for row in signals.reshape(layer.num_classes, -1).numpy()]


def _joined(parts: list[Tensor]) -> Any:
    return torch.cat(parts).cpu().numpy() if parts else np.zeros(0, np.int32)
