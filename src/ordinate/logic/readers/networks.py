"""Trained networks of torchlogix, difflogic and torch-dwn as circuits: from the module itself, or from its state dict.

| library | what its state dict has | what it lacks |
|---|---|---|
| torchlogix 0.2 (`LogicDense`, `LogicConv2d`) | weights, connections, thresholds | classes, tau, beta; sizes of images |
| difflogic 0.1 (`LogicLayer`) | weights | connections (to be saved beside, as `N.indices`), classes, tau |
| torch-dwn 1.1 (`LUTLayer`) | tables, mappings | thresholds, classes, tau, a permutation in `GroupSum` |

What a state dict lacks is an argument here; the module says it itself, so convolutions are read from modules alone. torchlogix
and difflogic number the rows of a table with the first input as the highest bit, torch-dwn with it as the lowest; in the
numbers of raw gates row 0 is the highest bit. Their sums are float32, a circuit's are exact: `Imported.compared` runs both on
the same inputs and says where that shows. Read were torchlogix 0.2.1, and of the repositories Felix-Petersen/difflogic the
commit 16a3d19 and of alanbacellar/DWN the commits b26a3bc and 7da6d4e.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, DataError, MissingDataError, RefusedError
from ordinate.logic.circuit.circuit import Circuit, Votes
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.circuit.luts import LutCircuit, widened

__all__ = ["Comparison", "Imported", "from_module", "from_state_dict", "read_state_dict"]


@dataclass(frozen=True)
class Comparison:
    """A network's own forward pass and its circuit on the same inputs.

    Args:
        rows: inputs that were compared.
        other_classes: inputs that they answer with different classes.
        largest_difference: between two scores.
        ties: inputs of which the greatest score is reached by several classes; both take the first.
    """

    rows: int
    other_classes: int
    largest_difference: float
    ties: int


@dataclass(frozen=True, eq=False)
class Imported:
    """A network of another library.

    Args:
        library: "torchlogix", "difflogic" or "torch-dwn".
        luts: its tables as they are.
        circuit: the same in two-input gates.
        layers: what was read, in words, a layer each.
        lost: what is not as it was there, and what was assumed; by name.

    >>> state = {"0.indices": torch.tensor([[0], [1]]), "0.weights": torch.eye(16)[[8]] * 9}
    >>> read = from_state_dict(state, classes=1)
    >>> read.luts.num_tables, read.circuit.num_votes
    (1, 1)
    """

    library: str
    luts: LutCircuit
    circuit: Circuit
    layers: tuple[str, ...]
    lost: Mapping[str, str]

    def compared(self, forward: Callable[[Tensor], Tensor], inputs: Tensor) -> Comparison:
        """Run the network's own forward pass and the circuit on the same inputs.

        Args:
            forward: the network in evaluation, from inputs as it takes them to scores [N, classes].
            inputs: [N, ...]; numbers where the circuit has thresholds, else bits.
        """
        with torch.no_grad():
            theirs = forward(inputs).double().cpu().numpy()
        flat = inputs.reshape(len(inputs), -1).double().cpu().numpy()
        bits = flat.astype(bool) if self.circuit.inputs is None else self.circuit.inputs.bits(flat)
        ours = self.circuit.evaluate(bits)
        ties = (ours == ours.max(1, keepdims=True)).sum(1) > 1
        return Comparison(
            len(ours),
            int((theirs.argmax(1) != self.circuit.predict(bits)).sum()),
            float(np.abs(theirs - ours).max(initial=0.0)),
            int(ties.sum()),
        )


class _Tables:
    """Tables as they are added, and the signals that flow."""

    def __init__(self, signals: Tensor) -> None:
        self.num_inputs = self.count = int(signals.numel())
        self.signals = signals
        self.reads: list[npt.NDArray[np.int64]] = []
        self.tables: list[list[int]] = []
        self.said: list[str] = []
        self._zero: int | None = None

    def add(self, reads: Tensor, rows: Tensor) -> Tensor:
        """The signals of tables with inputs [..., k] and truth tables [..., 2^k], of which row r has the first input lowest."""
        k = int(reads.shape[-1])
        shape = reads.shape[:-1]
        rows = rows.expand(*shape, 1 << k).reshape(-1, 1 << k)
        powers = [1 << place for place in range(1 << k)]
        self.reads.append(reads.reshape(-1, k).cpu().numpy())
        self.tables.append([sum(power for power, bit in zip(powers, row, strict=True) if bit) for row in rows.tolist()])
        first, self.count = self.count, self.count + len(rows)
        return torch.arange(first, self.count).reshape(shape)

    def zero(self) -> int:
        """The constant false, for padding."""
        if self._zero is None:
            self._zero = int(self.add(torch.zeros(1, 1, dtype=torch.int64), torch.zeros(1, 2, dtype=torch.bool)))
        return self._zero

    def circuit(self, votes: list[Votes], bias: Any, tau: float, thresholds: InputThresholds | None) -> LutCircuit:
        k = max((one.shape[1] for one in self.reads), default=1)
        wide = [np.pad(one, ((0, 0), (0, k - one.shape[1]))) for one in self.reads]
        tables = [widened(table, one.shape[1], k) for one, part in zip(self.reads, self.tables, strict=True) for table in part]
        reads = np.concatenate(wide) if wide else np.zeros((0, 1), np.int64)
        return LutCircuit(self.num_inputs, reads, np.array(tables, np.uint64), votes, bias, tau, thresholds)


def _highest_first(rows: Tensor, rank: int) -> Tensor:
    """Rows numbered with the first input as the highest bit, renumbered with it as the lowest."""
    number = torch.arange(1 << rank)
    turned = sum(((number >> place & 1) << (rank - 1 - place) for place in range(rank)), torch.zeros_like(number))
    return rows[..., turned]


def _lut_rows(weight: Tensor, rank: int, parametrisation: str, name: str) -> Tensor:
    """The truth tables [..., 2^rank] of torchlogix's weights in evaluation, first input highest."""
    size = 1 << rank
    if parametrisation == "raw":
        if rank != 2 or weight.shape[-1] != 16:
            raise DataError(name, expected="16 weights a gate of two inputs", got=f"{list(weight.shape)} for {rank} inputs")
        return (weight.argmax(-1, keepdim=True) >> torch.arange(3, -1, -1) & 1).bool()
    if weight.shape[-1] != size:
        raise DataError(name, expected=f"{size} weights a table of {rank} inputs", got=list(weight.shape))
    if parametrisation == "light":
        return weight > 0
    number = torch.arange(size)
    signs = torch.zeros(size, size, dtype=torch.int64)
    for place in range(rank):
        signs += (number[:, None] >> place & 1) * (number >> place & 1)
    basis = (1 - 2 * (signs % 2)).double()
    return weight.double() @ basis < 0


def _parametrisation(weight: Tensor, rank: int, asked: str | None, name: str) -> str:
    if asked is not None:
        return check_choice("parametrisation", asked, ("raw", "light", "warp"))
    if rank == 2 and weight.shape[-1] == 16:
        return "raw"
    raise ArgumentError(
        "parametrisation",
        expected=f"'light' or 'warp': the {weight.shape[-1]} weights a table of {name} may be either",
        got=None,
    )


def _dense(
    tables: _Tables, indices: Tensor, choice: Tensor | None, weight: Tensor, parametrisation: str | None, name: str
) -> None:
    """A dense layer of torchlogix: connections [rank, out], or candidates [C, rank, out] and how much each is wanted."""
    reads = indices if choice is None else indices.gather(0, choice.argmax(0, keepdim=True)).squeeze(0)
    rank = int(reads.shape[0])
    kind = _parametrisation(weight, rank, parametrisation, name)
    rows = _highest_first(_lut_rows(weight, rank, kind, name), rank)
    if int(reads.max()) >= tables.signals.numel():
        raise DataError(name, expected=f"connections below {tables.signals.numel()}, the signals before", got=int(reads.max()))
    tables.signals = tables.add(tables.signals.reshape(-1)[reads.T], rows)
    wiring = "" if choice is None else ", learned connections"
    tables.said.append(f"{len(rows):,} tables of {rank} inputs, {kind}{wiring}")


def _dwn(tables: _Tables, luts: Tensor, mapping: Tensor, name: str) -> None:
    k = int(mapping.shape[1])
    if luts.shape != (len(mapping), 1 << k) or not 1 <= k <= 6:
        raise DataError(name, expected="tables [out, 2^n] and a mapping [out, n] of 1 to 6 inputs", got=list(luts.shape))
    if int(mapping.min()) < 0 or int(mapping.max()) >= tables.signals.numel():
        raise DataError(name, expected=f"a mapping below {tables.signals.numel()}", got=int(mapping.max()))
    tables.signals = tables.add(tables.signals.reshape(-1)[mapping.long()], luts > 0)
    tables.said.append(f"{len(luts):,} tables of {k} inputs")


def from_module(
    model: nn.Module, *, input_shape: tuple[int, ...] | None = None, parametrisation: str | None = None
) -> Imported:
    """The circuit of a network of torchlogix, difflogic or torch-dwn in evaluation.

    Args:
        model: its modules in a row, as in `nn.Sequential`.
        input_shape: of one input without the batch; needed where the first layer does not say, such as (1, 28, 28).
        parametrisation: not needed for a module; see `from_state_dict`.

    Raises:
        RefusedError: a module that is not known, or one that has no meaning in tables, by its name.
        ArgumentError: an input shape that is needed.

    >>> from_module(nn.Sequential(nn.ReLU()))
    Traceback (most recent call last):
        ...
    ordinate.errors.ArgumentError: input_shape: expected the shape of one input, for ReLU does not say it
    >>> from torchlogix.layers import GroupSum, LogicDense  # doctest: +SKIP
    >>> from_module(nn.Sequential(LogicDense(16, 8), GroupSum(2))).circuit  # doctest: +SKIP
    """
    leaves = [(name, module) for name, module in _leaves(model, "model") if not isinstance(module, nn.Identity | nn.Dropout)]
    if not leaves:
        raise ArgumentError("model", expected="at least one layer", got="none")
    library = _library(leaves)
    thresholds: InputThresholds | None = None
    tables: _Tables | None = None
    votes: list[Votes] = []
    bias: list[float] | None = None
    tau, lost = 1.0, {}
    for name, module in leaves:
        kind = type(module).__name__
        if votes:
            raise RefusedError(name, expected="nothing after GroupSum", got=kind)
        if kind in ("FixedBinarization", "SoftBinarization", "LearnableBinarization") and tables is None:
            values = module.get_thresholds().detach().cpu()
            shape = input_shape or ((len(values),) if values.ndim == 2 else None)
            if shape is None:
                raise ArgumentError("input_shape", expected=f"the shape of one input, for {name} does not say it", got=None)
            signals, thresholds = _binarised(values, shape, int(module.feature_dim), name)
            tables = _Tables(torch.arange(signals.numel()).reshape(signals.shape))
            tables.said.append(f"{thresholds.threshold.size:,} thresholds")
            if kind != "FixedBinarization":
                lost["thresholds"] = f"those of evaluation ({kind})"
            continue
        if kind == "DummyBinarization":
            continue
        if tables is None:
            size = getattr(module, "in_dim", getattr(module, "input_size", None))
            known = input_shape or ((size,) if isinstance(size, int) else None)
            if known is None:
                raise ArgumentError("input_shape", expected=f"the shape of one input, for {kind} does not say it", got=None)
            tables = _Tables(torch.arange(int(np.prod(known))).reshape(known))
        if kind == "GroupSum":
            order = getattr(module, "randperm", None)
            votes, tau = _grouped(tables, int(module.k), order, library), float(module.tau)
            bias = [float(getattr(module, "beta", 0.0))] * int(module.k)
        else:
            _follow(tables, module, kind, name, parametrisation)
    assert tables is not None
    if not votes:
        votes = [Votes.of([int(signal)]) for signal in tables.signals.reshape(-1)]
        lost["votes"] = "there is no GroupSum: every output is a class of its own"
    return _imported(library, tables, votes, bias, tau, thresholds, lost)


def _leaves(module: nn.Module, name: str) -> list[tuple[str, Any]]:
    root = type(module).__module__.split(".")[0]
    own = root in ("torchlogix", "difflogic", "torch_dwn") and not isinstance(module, nn.Sequential)
    if own or not list(module.children()):
        return [(name, module)]
    if not isinstance(module, nn.Sequential):
        raise RefusedError(name, expected="layers in a row (nn.Sequential)", got=type(module).__name__)
    return [pair for key, child in module.named_children() for pair in _leaves(child, f"{name}[{key}]")]


def _library(leaves: list[tuple[str, nn.Module]]) -> str:
    kinds = {type(module).__name__ for _, module in leaves}
    for library, kind in (("difflogic", "LogicLayer"), ("torch-dwn", "LUTLayer")):
        if kind in kinds:
            return library
    return "torchlogix"


def _binarised(values: Tensor, shape: tuple[int, ...], dim: int, name: str) -> tuple[Tensor, InputThresholds]:
    """The shape of the bits, and the thresholds in the order in which the bits lie there."""
    count = int(np.prod(shape))
    features = torch.arange(count).reshape(shape).unsqueeze(-1)
    wide = values
    if values.ndim == 2 and len(shape) == 3:  # a row of thresholds a channel
        wide = values.view(-1, 1, 1, values.shape[1])
    try:
        each = torch.broadcast_to(wide, (*shape, values.shape[-1]))
    except RuntimeError as error:
        raise DataError(name, expected=f"thresholds for an input of {list(shape)}", got=str(error).splitlines()[0]) from None
    features = features.expand_as(each)
    place = dim - 1 if dim >= 0 else len(shape) + 1 + dim  # without the batch

    def merged(x: Tensor) -> Tensor:
        moved = x.movedim(-1, place + 1)
        return moved.reshape(*moved.shape[:place], -1, *moved.shape[place + 2 :])

    thresholds = InputThresholds(
        count, merged(features).reshape(-1).numpy(), merged(each).reshape(-1).double().numpy(), "float32"
    )
    return merged(features), thresholds


def _follow(tables: _Tables, module: Any, kind: str, name: str, parametrisation: str | None) -> None:
    if kind == "LogicDense":
        link = module.connections
        own = {"RawLUTParametrization": "raw", "LightLUTParametrization": "light", "WarpLUTParametrization": "warp"}
        known = own.get(type(module.parametrization).__name__, parametrisation)
        _dense(tables, link.indices.cpu(), _choice(link), module.weight.detach().cpu(), known, name)
    elif kind == "LogicLayer":
        indices = torch.stack([one.cpu() for one in module.indices]).long()
        _dense(tables, indices, None, module.weights.detach().cpu(), "raw", name)
    elif kind == "LUTLayer":
        mapping: Any = module.mapping
        luts = module.luts.detach().cpu()
        if not getattr(module, "ste", True):
            raise RefusedError(name, expected="a table layer whose outputs are bits (ste=True)", got="ste=False")
        if isinstance(mapping, nn.Module):
            wanted: Any = mapping.weights
            chosen = wanted.detach().cpu().argmax(0).reshape(len(luts), -1)
        else:
            chosen = mapping.detach().cpu()
        _dwn(tables, luts, chosen, name)
    elif kind == "LogicConv2d":
        _convolution(tables, module, name)
    elif kind == "OrPooling2d":
        _pooling(tables, module)
    elif isinstance(module, nn.Flatten):
        tables.signals = module(tables.signals.unsqueeze(0)).squeeze(0)
    else:
        raise RefusedError(name, expected="a layer that has tables", got=kind, hint="replace it, or build a LutCircuit by hand")


def _choice(link: Any) -> Tensor | None:
    weights = getattr(link, "weights", None)
    return None if weights is None else weights.detach().cpu()


def _padded(tables: _Tables, padding: tuple[int, int]) -> Tensor:
    if not any(padding):
        return tables.signals
    high, wide = padding
    return F.pad(tables.signals, (wide, wide, high, high), value=tables.zero())


def _convolution(tables: _Tables, module: Any, name: str) -> None:
    if tables.signals.ndim != 3:
        raise RefusedError(name, expected="an image before it", got=f"signals of shape {list(tables.signals.shape)}")
    own = {"RawLUTParametrization": "raw", "LightLUTParametrization": "light", "WarpLUTParametrization": "warp"}
    kind, rank = own[type(module.parametrization).__name__], int(module.lut_rank)
    image = values = _padded(tables, (int(module.padding),) * 2)
    for level, weight in enumerate(module.tree_weights):
        indices = module.connections.indices[level].cpu()
        if level == 0:
            *places, channel = indices.unbind(-1)  # each [rank, kernels, positions, leaves]
            reads = image[(channel, *places)].movedim(0, -1)
        else:
            reads = values[..., indices].movedim(-2, -1)  # [kernels, positions, nodes, rank]
        rows = _highest_first(_lut_rows(weight.detach().cpu(), rank, kind, name), rank)  # [nodes, kernels, 2^rank]
        values = tables.add(reads, rows.movedim(0, 1).unsqueeze(1))
    tables.signals = values.reshape(len(values), *module.kernel_positions)
    tables.said.append(f"{module.num_kernels} trees of {len(module.tree_weights)} levels of {rank} inputs, {kind}")


def _pooling(tables: _Tables, module: Any) -> None:
    def pair(value: Any) -> tuple[int, int]:
        return tuple(value) if isinstance(value, tuple) else (int(value), int(value))

    size, stride = pair(module.kernel_size), pair(module.stride)
    windows = _padded(tables, pair(module.padding)).unfold(-2, size[0], stride[0]).unfold(-2, size[1], stride[1]).flatten(-2)
    either = torch.tensor([False, True, True, True])
    values = windows[..., 0]
    for place in range(1, windows.shape[-1]):
        values = tables.add(torch.stack((values, windows[..., place]), -1), either)
    tables.signals = values
    tables.said.append(f"OR of windows of {size[0]} by {size[1]}")


def _grouped(tables: _Tables, classes: int, order: Any, library: str) -> list[Votes]:
    signals = tables.signals.reshape(-1) if order is None else tables.signals.reshape(-1)[order]
    missing = -len(signals) % classes
    if missing and library != "torch-dwn":  # which fills up with zeros, and these do not vote
        raise ArgumentError("classes", expected=f"a number that shares {len(signals)} signals evenly", got=classes)
    group = (len(signals) + missing) // classes
    tables.said.append(f"sums for {classes} classes")
    return [Votes.of(signals[place * group : (place + 1) * group].numpy()) for place in range(classes)]


def _imported(
    library: str,
    tables: _Tables,
    votes: list[Votes],
    bias: list[float] | None,
    tau: float,
    thresholds: InputThresholds | None,
    lost: dict[str, str],
) -> Imported:
    luts = tables.circuit(votes, bias, tau, thresholds)
    kept = float(luts.frame.bias[0])
    if bias is not None and kept != bias[0]:
        lost["bias"] = f"{bias[0]!r} became {kept!r}: a bias is kept in multiples of 2^-20 of a vote"
    lost["temperature"] = f"kept, {tau!r}; scores are divided in double, theirs in float32"
    lost["ties"] = "of equal scores the first class answers, as with argmax; sums are exact, theirs are rounded to float32"
    circuit = luts.to_circuit()
    notes = {"read_from": library, "layers": list(tables.said), "tables": luts.num_tables, "inputs_a_table": luts.k, **lost}
    named = Circuit(
        circuit.num_inputs,
        circuit.tables,
        circuit.inputs_a,
        circuit.inputs_b,
        circuit.votes,
        circuit.bias,
        circuit.tau,
        thresholds,
        circuit.labels,
        notes,
    )
    return Imported(library, luts, named, tuple(tables.said), lost)


def from_state_dict(
    state: Mapping[str, Tensor],
    *,
    classes: int,
    tau: float = 1.0,
    beta: float = 0.0,
    num_inputs: int | None = None,
    parametrisation: str | None = None,
    thresholds: InputThresholds | None = None,
) -> Imported:
    """The circuit of dense layers from their state dict, in the order of its keys.

    Args:
        state: of torchlogix, torch-dwn, or difflogic; the last with `N.indices` [2, out] beside each `N.weights`.
        classes: of the `GroupSum` at the end, which has no tensors.
        tau: its temperature.
        beta: its bias, added to the sums before they are divided (torchlogix).
        num_inputs: bits that come in; by default as many as thresholds, or as the first layer reads.
        parametrisation: "light" or "warp" for torchlogix's tables, whose weights do not say which; raw gates do.
        thresholds: that make the bits, where the state dict has none.

    Raises:
        DataError: keys that are of no known layer, tensors that do not fit each other.
        ArgumentError: what the state dict lacks, by name.

    >>> state = {"0.indices": torch.tensor([[0], [1]]), "0.weights": torch.eye(16)[[8]] * 9}
    >>> read = from_state_dict(state, classes=1)
    >>> read.library, read.circuit.num_gates
    ('difflogic', 1)
    """
    check_integer("classes", classes, minimum=1)
    check_number("tau", tau, above=0)
    check_number("beta", beta)
    layers: dict[str, dict[str, Tensor]] = {}
    ends = ("connections.indices", "connections.weights", "mapping.weights", "_LUTLayer__dummy_mapping")
    for key, value in state.items():
        end = next((one for one in ends if key == one or key.endswith(f".{one}")), key.rpartition(".")[2])
        layers.setdefault(key[: -len(end)].rstrip("."), {})[end] = value.detach().cpu()
    tables: _Tables | None = None
    library = "torchlogix"
    for name, own in layers.items():
        known = own.keys() - {"_export_lut_ids", "_LUTLayer__dummy_mapping"}
        if known and known <= {"thresholds", "raw_diffs"} and tables is None:
            values = own["raw_diffs"].cumsum(-1) if "raw_diffs" in own else own["thresholds"]
            if values.ndim != 2:
                raise DataError(f"{name}.thresholds", expected="thresholds [features, bits]", got=list(values.shape))
            signals, thresholds = _binarised(values, (len(values),), -2, name)
            tables = _Tables(torch.arange(signals.numel()))
            tables.said.append(f"{signals.numel():,} thresholds")
            continue
        first = next((own[key] for key in ("connections.indices", "indices", "mapping") if key in own), None)
        if tables is None:
            size = len(own["mapping.weights"]) if "mapping.weights" in own else 0 if first is None else int(first.max()) + 1
            bits = num_inputs if thresholds is None else thresholds.feature.size
            tables = _Tables(torch.arange(check_integer("num_inputs", bits or size or 1, minimum=size or 1)))
        if known in ({"weight", "connections.indices"}, {"weight", "connections.indices", "connections.weights"}):
            _dense(tables, own["connections.indices"], own.get("connections.weights"), own["weight"], parametrisation, name)
        elif known == {"weights", "indices"}:
            library = "difflogic"
            _dense(tables, own["indices"].long(), None, own["weights"], "raw", name)
        elif known == {"luts", "mapping"}:
            library = "torch-dwn"
            _dwn(tables, own["luts"], own["mapping"], name)
        elif known == {"luts", "mapping.weights"}:
            library = "torch-dwn"
            _dwn(tables, own["luts"], own["mapping.weights"].argmax(0).reshape(len(own["luts"]), -1), name)
        elif known == {"weights"}:
            raise ArgumentError(
                f"{name}.indices",
                expected="the connections [2, out] of difflogic's layer, which its state dict does not hold",
                got="none",
                hint=f"save torch.stack(layer.indices) as {name}.indices beside it, or pass the module to from_module",
            )
        else:
            hint = "convolutions and images are read from the module: from_module" if "tree_weights" in " ".join(state) else ""
            raise DataError(name or "state dict", expected="a dense layer of tables", got=", ".join(sorted(known)), hint=hint)
    if tables is None or tables.count == tables.num_inputs:
        raise DataError("state dict", expected="at least one layer of tables", got=f"{len(state)} tensors")
    lost = {"assumed": f"{classes} classes, tau {tau:g}, beta {beta:g}: a state dict does not hold them"}
    if thresholds is None:
        lost["thresholds"] = "none in the state dict: the circuit takes bits"
    votes = _grouped(tables, classes, None, library)
    return _imported(library, tables, votes, [beta] * classes, tau, thresholds, lost)


def read_state_dict(path: str | Path) -> dict[str, Tensor]:
    """The tensors of a file of `torch.save` (read without running code) or of safetensors.

    Raises:
        MissingDataError: no such file.
        DataError: damaged, or something other than a state dict, such as a whole pickled module.
    """
    source = Path(path)
    if not source.is_file():
        raise MissingDataError(str(path), expected="a state dict in a file", got="no such file")
    if source.suffix == ".safetensors":
        from ordinate.safetensors_io import read_tensors

        return dict(read_tensors(source)[0])
    try:
        loaded = torch.load(source, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises anything from UnpicklingError to RuntimeError
        hint = "save model.state_dict(); a whole pickled module would run its code, and is not read"
        raise DataError(str(path), expected="a state dict", got=str(error).splitlines()[0][:200], hint=hint) from None
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise DataError(str(path), expected="a mapping of names to tensors", got=type(loaded).__name__)
    return loaded
