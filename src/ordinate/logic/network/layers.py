"""The layers of a logic network: thresholds, dense and convolutional gates, OR pooling, and the sum for each class.

`Thresholds` turns numbers into bits, fixed or learned (a thermometer code). `LogicDense` is a layer of two-input gates
(Petersen et al. 2022, arXiv 2210.08277). `LogicConv2d` lays the same binary trees of gates at every place of an image: 2^depth
leaves read signals of the receptive field, each inner node is a learned gate of two nodes below (Petersen et al. 2024,
"Convolutional Differentiable Logic Gate Networks", arXiv 2411.04732, section 3.1). `GroupSum` counts. How gates and trees are
evaluated is the business of `ordinate.logic.kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ordinate.arguments import check_choice, check_flag, check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.logic.circuit.input_thresholds import InputThresholds
from ordinate.logic.kernels.gates import by_rows, relaxed_gates, signals_of
from ordinate.logic.kernels.trees import largest_of_windows, relaxed_trees
from ordinate.logic.network.parametrisation import GateBank
from ordinate.logic.network.wiring import LearnedWiring, make_wiring

__all__ = ["GroupSum", "LogicConv2d", "LogicDense", "OrPooling2d", "Thresholds", "check_signals"]


class Thresholds(nn.Module):
    """Bits x > t: each feature compared with its thresholds, feature by feature.

    Args:
        values: thresholds [F, T]; feature f gives the bits f T to f T + T - 1. Kept in float32, or float64 if such.
        learned: train the thresholds: forward the bit, backward the slope of sigmoid((x - t) / temperature).
        temperature: of that slope, in units of the features.

    Raises:
        ArgumentError: thresholds that are not [F, T] or not finite, a temperature that is not positive.

    >>> Thresholds(torch.tensor([[0.2, 0.8], [0.5, 0.5]]))(torch.tensor([0.5, 0.9]))
    tensor([1., 0., 1., 1.])
    """

    values: Tensor
    feature: Tensor | None
    _numbers: str | None  # the type of the numbers that come in, where it is known

    def __init__(self, values: Tensor, *, learned: bool = False, temperature: float = 0.1) -> None:
        super().__init__()
        values = torch.as_tensor(values)
        values = values if values.dtype is torch.float64 else values.float()
        if values.ndim != 2 or not values.numel() or not torch.isfinite(values).all():
            raise ArgumentError("values", expected="finite thresholds [features, thresholds]", got=tuple(values.shape))
        self.learned = check_flag("learned", learned)
        self.temperature = check_number("temperature", temperature, above=0, hint="a tenth of a feature's spread is usual")
        self.feature, self._num_features, self._numbers = None, int(values.shape[0]), None
        if learned:
            self.values = nn.Parameter(values.clone())
        else:
            self.register_buffer("values", values.clone())

    @classmethod
    def of_codes(cls, codes: InputThresholds, *, learned: bool = False, temperature: float = 0.1) -> Thresholds:
        """The bits of a circuit's thresholds, in their order and to their last digit: as many for a feature as it has there.

        >>> layer = Thresholds.of_codes(InputThresholds(3, [0, 2, 2], [0.5, 1.0, 2.0]))
        >>> layer(torch.tensor([1.0, 9.0, 1.5])), layer.in_features, layer.out_features
        (tensor([1., 1., 0.]), 3, 3)
        """
        layer = cls(torch.from_numpy(codes.threshold.copy()).unsqueeze(1), learned=learned, temperature=temperature)
        layer._num_features, layer._numbers = codes.num_features, codes.dtype
        del layer.feature
        layer.register_buffer("feature", torch.from_numpy(codes.feature.astype(np.int64)))
        return layer

    def codes(self) -> InputThresholds:
        """The thresholds as a circuit carries them."""
        values = self.values.detach().double().cpu().numpy()
        feature = np.repeat(np.arange(len(values)), values.shape[1]) if self.feature is None else self.feature.cpu().numpy()
        return InputThresholds(self.in_features, feature, values.reshape(-1), self._numbers)

    @classmethod
    def quantiles(cls, data: Tensor, count: int, *, learned: bool = False, temperature: float = 0.1) -> Thresholds:
        """Thresholds at evenly spaced quantiles of each feature of `data` [N, F], which must be training data only.

        >>> Thresholds.quantiles(torch.arange(5.0).unsqueeze(1), 3).values
        tensor([[1., 2., 3.]])
        """
        if data.ndim != 2 or not len(data):
            raise ArgumentError("data", expected="rows of features [N, F]", got=tuple(data.shape))
        check_integer("count", count, minimum=1)
        levels = torch.linspace(0, 1, count + 2, dtype=torch.float32)[1:-1]
        return cls(torch.quantile(data.float(), levels, dim=0).T, learned=learned, temperature=temperature)

    @classmethod
    def uniform(
        cls, features: int, count: int, *, low: float = 0.0, high: float = 1.0, learned: bool = False, temperature: float = 0.1
    ) -> Thresholds:
        """The same evenly spaced thresholds between `low` and `high` for every feature.

        >>> Thresholds.uniform(2, 1).values
        tensor([[0.5000],
                [0.5000]])
        """
        levels = torch.linspace(low, high, count + 2)[1:-1]
        return cls(levels.expand(features, -1), learned=learned, temperature=temperature)

    @property
    def in_features(self) -> int:
        """Features."""
        return self._num_features

    @property
    def out_features(self) -> int:
        """Bits."""
        return int(self.values.numel())

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again."""
        return {
            "values": list(self.values.shape),
            "learned": self.learned,
            "temperature": self.temperature,
            **({} if self.values.dtype is torch.float32 else {"dtype": "float64"}),
            **({} if self.feature is None else {"num_features": self.in_features, "numbers": self._numbers}),
        }

    @classmethod
    def _blank(cls, settings: dict[str, Any]) -> Thresholds:
        """A layer of these settings, whose tensors are still to be filled."""
        values = torch.zeros(settings["values"], dtype=torch.float64 if settings.get("dtype") == "float64" else torch.float32)
        rest = {name: settings[name] for name in ("learned", "temperature")}
        if "num_features" not in settings:
            return cls(values, **rest)
        bits = np.zeros(len(values))
        codes = InputThresholds(settings["num_features"], bits.astype(np.int32), bits, settings["numbers"])
        return cls.of_codes(codes, **rest)

    def forward(self, x: Tensor) -> Tensor:
        """Features (..., F) to bits (..., F T), as floats.

        Raises:
            ShapeError: another number of features.
        """
        if x.ndim == 0 or x.shape[-1] != self.in_features:
            raise ShapeError("x", expected=f"shape (..., {self.in_features})", got=tuple(x.shape))
        x = x.to(self.values.dtype)
        distance = (x if self.feature is None else x[..., self.feature]).unsqueeze(-1) - self.values
        bits = (distance > 0).float()
        if self.learned and self.training:
            slope = torch.sigmoid(distance / self.temperature).float()
            bits = bits + (slope - slope.detach())
        return bits.flatten(-2)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.in_features} features, {self.out_features} thresholds, learned={self.learned}"


def check_signals(x: Tensor, features: int) -> None:
    """Refuse what is no floating tensor (..., features)."""
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise ArgumentTypeError(
            "x",
            expected="a floating tensor with values from 0 to 1",
            got=str(x.dtype) if isinstance(x, Tensor) else type(x).__name__,
            hint="pass bits as x.float()",
        )
    if x.ndim == 0 or x.shape[-1] != features:
        raise ShapeError("x", expected=f"shape (..., {features})", got=tuple(x.shape))


class LogicDense(nn.Module):
    """Gates z = a0 + a1 x + a2 y + a3 x y on two signals each; the coefficients are learned, the wiring is fixed or learned.

    In training the coefficients are those of the mode; in evaluation every gate is discrete, so that bits in give bits out.
    Inputs and outputs are (..., features). Where no compiled loops run (the extra `fast`, float32, a CPU), signals lie by rows
    inside, and the transposed view that a layer returns is what the next one reads without a copy.

    Args:
        in_features: signals to read from.
        out_features: gates.
        wiring: "random", "unique", "tree", "learned", or an int64 tensor [2, out_features].
        candidates: of a learned wiring, signals that each input chooses among.
        parametrisation: "raw" (16 logits), "light" (4 corners) or "walsh" (4 corners in the Walsh basis).
        mode: "soft", "hard", "gumbel_soft" or "gumbel_hard".
        initialisation: "residual" (each gate starts as its first input) or "random".
        certainty: of residual gates, above 0.5 and below 1.
        temperature: divides the logits of the gates.
        seed: of the wiring and of the initial parameters.

    Raises:
        ArgumentError: sizes, certainty or temperature out of range, a wiring of another shape.
        UnknownNameError: an unknown name.

    Source: Petersen et al. 2022, arXiv 2210.08277.

    >>> layer = LogicDense(4, 2, wiring="tree").eval()
    >>> layer(torch.tensor([1.0, 0.0, 0.0, 1.0]))  # residual gates pass their first input on
    tensor([1., 0.])
    """

    fixed_wiring: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        wiring: str | Tensor = "random",
        candidates: int = 8,
        parametrisation: str = "light",
        mode: str = "soft",
        initialisation: str = "residual",
        certainty: float = 0.9,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.learned_wiring: LearnedWiring | None = None
        if isinstance(wiring, str) and wiring == "learned":
            self.learned_wiring = LearnedWiring(
                in_features, out_features, candidates=candidates, hard=mode.endswith("hard"), seed=seed
            )
        else:
            self.register_buffer("fixed_wiring", make_wiring(wiring, in_features, out_features, seed))
        self.gates = GateBank(
            (out_features,),
            parametrisation=parametrisation,
            mode=mode,
            initialisation=initialisation,
            certainty=certainty,
            temperature=temperature,
            seed=seed,
        )
        self._wiring_name = wiring if isinstance(wiring, str) else "given"  # the word in network files
        self._candidates = candidates

    @property
    def wiring(self) -> Tensor:
        """The discrete wiring, int64 [2, out_features]."""
        return self.fixed_wiring if self.learned_wiring is None else self.learned_wiring.wiring()

    def tables(self) -> Tensor:
        """The discrete gates, int64 [out_features] of truth tables."""
        return self.gates.tables()

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again; wiring and parameters are in the state dict."""
        return {
            "in_features": self.in_features,
            "out_features": self.out_features,
            "wiring": self._wiring_name,
            "candidates": self._candidates,
            **self.gates.settings,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., in_features) to (..., out_features). Raises ShapeError, ArgumentTypeError."""
        check_signals(x, self.in_features)
        signals = signals_of(x.reshape(-1, self.in_features))
        coefficients = self.gates.coefficients().to(x.dtype)
        if self.learned_wiring is not None and self.training:
            signals = self.learned_wiring.mixed(signals)
            wiring = torch.arange(2 * self.out_features, device=x.device).reshape(2, -1)
        else:
            wiring = self.wiring
        return relaxed_gates(signals, coefficients, wiring).T.reshape(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        """Sizes and the settings that differ from layer to layer."""
        return f"{self.in_features}, {self.out_features}, wiring={self._wiring_name!r}, mode={self.gates.mode!r}"


def _check_images(x: Tensor, channels: int | None) -> None:
    if not isinstance(x, Tensor) or not x.is_floating_point():
        raise ArgumentTypeError("x", expected="a floating tensor with values from 0 to 1", got=str(x), hint="pass x.float()")
    if x.ndim < 3 or (channels is not None and x.shape[-3] != channels):
        raise ShapeError(
            "x",
            expected=f"shape (..., {'channels' if channels is None else channels}, height, width)",
            got=tuple(x.shape),
            hint="images of one channel need x.unsqueeze(-3)",
        )


class LogicConv2d(nn.Module):
    """Trees of gates at every place of an image.

    Args:
        in_channels: channels of the image.
        out_channels: kernels, one tree each.
        receptive_field: height and width that leaves may read from.
        depth: levels of gates; a tree has 2^depth leaves and 2^depth - 1 gates.
        stride: from place to place.
        padding: zeros around the image.
        parametrisation: as in `LogicDense`, like the arguments below.
        mode: what training sees.
        initialisation: of the gates.
        certainty: of residual gates.
        temperature: divides the logits of the gates.
        channels_read: channels that the leaves of one kernel may read from, drawn for each kernel; None for all. Few make the
            leaves of a tree more related (the source has 2).
        seed: of the leaves and of the initial parameters.

    Raises:
        ArgumentError: sizes out of range.
        UnknownNameError: an unknown name.

    Source: Petersen et al. 2024, arXiv 2411.04732.

    >>> layer = LogicConv2d(1, 6, receptive_field=3, depth=2, padding=1)
    >>> layer(torch.rand(2, 1, 8, 8)).shape, layer.num_gates_per_place
    (torch.Size([2, 6, 8, 8]), 18)
    """

    leaves: Tensor

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        *,
        receptive_field: int = 3,
        depth: int = 2,
        stride: int = 1,
        padding: int = 0,
        parametrisation: str = "light",
        mode: str = "soft",
        initialisation: str = "residual",
        certainty: float = 0.9,
        temperature: float = 1.0,
        channels_read: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        read = in_channels if channels_read is None else channels_read
        for name, value, least in (
            ("in_channels", in_channels, 1),
            ("out_channels", out_channels, 1),
            ("receptive_field", receptive_field, 1),
            ("depth", depth, 1),
            ("stride", stride, 1),
            ("padding", padding, 0),
            ("channels_read", read, 1),
        ):
            check_integer(name, value, minimum=least)
        if read > in_channels:
            raise ArgumentError("channels_read", expected=f"at most {in_channels} channels", got=read)
        self.in_channels, self.out_channels = in_channels, out_channels
        self.receptive_field, self.depth, self.stride, self.padding = receptive_field, depth, stride, padding
        self.channels_read = channels_read
        field = read * receptive_field**2
        if field < 2:
            raise ArgumentError("receptive_field", expected="at least two signals", got=field)
        self.register_buffer("leaves", _draw_leaves(in_channels, read, receptive_field**2, out_channels, 2**depth, seed))
        shared = {
            "parametrisation": parametrisation,
            "mode": mode,
            "initialisation": initialisation,
            "certainty": certainty,
            "temperature": temperature,
        }
        self.levels = nn.ModuleList(
            GateBank((out_channels, 2 ** (depth - 1 - level)), seed=seed + level, **shared)  # type: ignore[arg-type]
            for level in range(depth)
        )
        self._settings: dict[str, Any] = {**shared, "seed": seed}

    @property
    def num_gates_per_place(self) -> int:
        """Gates at one place: of all trees together."""
        return self.out_channels * (2**self.depth - 1)

    def tables(self) -> list[Tensor]:
        """The discrete gates of each level, from the leaves up: int64 [out_channels, 2^(depth - 1 - level)]."""
        return [level.tables() for level in self.levels]  # type: ignore[operator]

    def settings(self) -> dict[str, Any]:
        """What makes a layer of the same shape again."""
        return {
            "in_channels": self.in_channels,
            "out_channels": self.out_channels,
            "receptive_field": self.receptive_field,
            "depth": self.depth,
            "stride": self.stride,
            "padding": self.padding,
            "channels_read": self.channels_read,
            **self._settings,
        }

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result. Raises ArgumentError where the receptive field does not fit."""
        size = tuple((side + 2 * self.padding - self.receptive_field) // self.stride + 1 for side in (height, width))
        if min(size) < 1:
            raise ArgumentError(
                "x",
                expected=f"an image of at least {self.receptive_field} by {self.receptive_field} with its padding",
                got=f"{height} by {width}",
                hint="pad it or take a smaller receptive field",
            )
        return size[0], size[1]

    def leaf_signals(self, height: int, width: int) -> Tensor:
        """Which signal of the padded image each leaf reads, int64 [out_channels, places, 2^depth].

        Signals of the padded image are numbered channel by channel, row by row.
        """
        rows, columns = self.output_size(height, width)
        high, wide = height + 2 * self.padding, width + 2 * self.padding
        field = self.receptive_field
        channel, dy, dx = self.leaves // field**2, self.leaves // field % field, self.leaves % field
        offset = (channel * high + dy) * wide + dx
        places = torch.arange(rows, device=offset.device)[:, None] * self.stride * wide
        places = places + torch.arange(columns, device=offset.device) * self.stride
        return offset[:, None, :] + places.reshape(1, -1, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Images (..., in_channels, height, width) to (..., out_channels, rows, columns)."""
        _check_images(x, self.in_channels)
        height, width = x.shape[-2:]
        rows, columns = self.output_size(height, width)
        images = by_rows(x.reshape(-1, x.shape[-3:].numel())).reshape(self.in_channels, height, width, -1)
        padded = F.pad(images, (0, 0, *(self.padding,) * 4)) if self.padding else images
        coefficients = torch.cat([level.coefficients() for level in self.levels], 1)  # type: ignore[operator]
        roots = relaxed_trees(padded.flatten(0, 2), coefficients.to(x.dtype), self.leaf_signals(height, width))
        return roots.T.reshape(*x.shape[:-3], self.out_channels, rows, columns)

    def extra_repr(self) -> str:
        """Sizes."""
        return (
            f"{self.in_channels}, {self.out_channels}, receptive_field={self.receptive_field}, depth={self.depth}, "
            f"stride={self.stride}, padding={self.padding}"
        )


def _draw_leaves(channels: int, read: int, cells: int, kernels: int, leaves: int, seed: int) -> Tensor:
    """Signals of the receptive field, each kernel's by shuffled rounds so that the two inputs of a gate differ."""
    generator = np.random.default_rng(seed)
    field = read * cells
    rounds = -(-leaves // field)
    drawn = np.stack([np.concatenate([generator.permutation(field) for _ in range(rounds)])[:leaves] for _ in range(kernels)])
    pairs = drawn.reshape(kernels, -1, 2)
    same = pairs[..., 0] == pairs[..., 1]
    pairs[..., 1] = np.where(same, (pairs[..., 1] + 1) % field, pairs[..., 1])
    drawn = pairs.reshape(kernels, leaves).astype(np.int64)
    if read < channels:
        used, chosen = np.zeros(channels), np.empty((kernels, read), np.int64)
        for kernel in range(kernels):  # of the channels least read so far, so that none is left out
            chosen[kernel] = np.argsort(used + generator.random(channels))[:read]
            used[chosen[kernel]] += 1
        drawn = np.take_along_axis(chosen, drawn // cells, 1) * cells + drawn % cells
    return torch.from_numpy(drawn)


class OrPooling2d(nn.Module):
    """The OR of each window, relaxed as the largest value, or as 1 - prod(1 - x), the probability of any.

    Args:
        kernel_size: height and width of the window.
        stride: from window to window; by default the window's size.
        padding: zeros around the image, at most half of the window.
        relaxation: "max" (Petersen et al. 2024, arXiv 2411.04732, section 3.2) or "probabilistic"; on bits they are the same.

    Raises:
        ArgumentError: sizes out of range.
        UnknownNameError: another relaxation.

    >>> OrPooling2d(2)(torch.tensor([[[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]]))
    tensor([[[1., 0.]]])
    """

    def __init__(self, kernel_size: int = 2, *, stride: int | None = None, padding: int = 0, relaxation: str = "max") -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        for name, value, least in (("kernel_size", kernel_size, 1), ("stride", stride, 1), ("padding", padding, 0)):
            check_integer(name, value, minimum=least)
        if padding > kernel_size // 2:
            raise ArgumentError("padding", expected="at most half of the window", got=padding)
        check_choice("relaxation", relaxation, ("max", "probabilistic"))
        self.kernel_size, self.stride, self.padding, self.relaxation = kernel_size, stride, padding, relaxation

    def settings(self) -> dict[str, Any]:
        """What makes the layer again."""
        return {
            "kernel_size": self.kernel_size,
            "stride": self.stride,
            "padding": self.padding,
            "relaxation": self.relaxation,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Images (..., channels, height, width) to (..., channels, rows, columns)."""
        _check_images(x, None)
        if self.relaxation == "max":
            rows = by_rows(x.reshape(-1, x.shape[-3:].numel())).reshape(*x.shape[-3:], -1)
            pooled = largest_of_windows(F.pad(rows, (0, 0, *(self.padding,) * 4)), self.kernel_size, self.stride)
            return pooled.flatten(0, 2).T.reshape(*x.shape[:-3], *pooled.shape[:3])
        images = F.pad(x, (self.padding,) * 4)
        windows = images.unfold(-2, self.kernel_size, self.stride).unfold(-2, self.kernel_size, self.stride)
        return 1 - (1 - windows).flatten(-2).prod(-1)

    def extra_repr(self) -> str:
        """Sizes."""
        return f"{self.kernel_size}, stride={self.stride}, padding={self.padding}"


class GroupSum(nn.Module):
    """Scores of classes: each class counts an equal share of the signals, score = count / tau + beta.

    Args:
        num_classes: classes; the signals of class k are those from k n / num_classes on.
        tau: temperature of the counts; large counts need a large one, or the softmax saturates.
        beta: added to each score, one number or one a class.

    Raises:
        ArgumentError: no class, a tau that is not positive, betas of another number.

    Source: Petersen et al. 2022, arXiv 2210.08277, section 3.2.

    >>> GroupSum(2, tau=2.0, beta=0.5)(torch.tensor([1.0, 1.0, 0.0, 1.0]))
    tensor([1.5000, 1.0000])
    """

    beta: Tensor

    def __init__(self, num_classes: int, tau: float = 1.0, beta: float | Sequence[float] = 0.0) -> None:
        super().__init__()
        num_classes, tau = check_integer("num_classes", num_classes, minimum=1), check_number("tau", tau, above=0)
        betas = torch.tensor(beta, dtype=torch.float64)
        if betas.ndim > 1 or (betas.ndim == 1 and len(betas) != num_classes) or not torch.isfinite(betas).all():
            raise ArgumentError("beta", expected=f"a finite number, or {num_classes} of them", got=beta)
        self.num_classes, self.tau = num_classes, tau
        self.register_buffer("beta", betas.float().expand(num_classes).clone())

    def settings(self) -> dict[str, Any]:
        """What makes the layer again."""
        return {"num_classes": self.num_classes, "tau": self.tau, "beta": self.beta.tolist()}

    def forward(self, x: Tensor) -> Tensor:
        """Signals (..., F) to scores (..., num_classes).

        Raises:
            ShapeError: a number of signals that the classes cannot share evenly.
        """
        if x.ndim == 0 or x.shape[-1] % self.num_classes or not x.shape[-1]:
            raise ShapeError(
                "x",
                expected=f"shape (..., F) with F a multiple of {self.num_classes} classes",
                got=tuple(x.shape),
                hint="make the last layer's out_features a multiple of the number of classes",
            )
        counts = x.reshape(*x.shape[:-1], self.num_classes, -1).sum(-1)
        return counts / self.tau + self.beta.to(x.dtype)

    def extra_repr(self) -> str:
        """Classes and temperature."""
        return f"{self.num_classes}, tau={self.tau:g}"
