"""Which signals each gate reads: every wiring is an int64 tensor [2, out_features], kept in the state dict; of tables [k, ...].

`random_wiring` is that of Petersen et al. 2022 (arXiv 2210.08277, section 3.1): shuffled rounds over the inputs, so that all
are read about equally often. `local_wiring` reads from a neighbourhood on a grid, which suits images; `tree_wiring` reads
neighbours two by two, as a tree does. In a `LearnedWiring` each gate input chooses among a few candidate signals: in training
it is the softmax mixture of its candidates, or the best one with the gradient of the mixture; in evaluation the best one.
Bacellar et al. 2024, "Differentiable Weightless Neural Networks" (arXiv 2410.11112, learnable mapping), and Yue and Jha 2024
(arXiv 2407.00198) learn wirings so.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from ordinate.arguments import check_integer
from ordinate.errors import ArgumentError, ArgumentTypeError, UnknownNameError

__all__ = [
    "WIRINGS",
    "LearnedWiring",
    "given_wiring",
    "local_wiring",
    "make_wiring",
    "random_reads",
    "random_wiring",
    "tree_wiring",
    "unique_wiring",
]


def _check_sizes(in_features: int, out_features: int) -> None:
    for name, value, least in (("in_features", in_features, 2), ("out_features", out_features, 1)):
        check_integer(name, value, minimum=least)


def random_wiring(in_features: int, out_features: int, seed: int = 0) -> Tensor:
    """Each gate reads two different inputs; every input is read about equally often.

    Args:
        in_features: signals to read from.
        out_features: gates.
        seed: of the draw.

    Returns:
        int64 [2, out_features].

    Raises:
        ArgumentError: fewer than two inputs or no gate.

    >>> wiring = random_wiring(10, 20)
    >>> wiring.shape, torch.bincount(wiring.flatten()).tolist() == [4] * 10
    (torch.Size([2, 20]), True)
    """
    _check_sizes(in_features, out_features)
    generator = np.random.default_rng(seed)
    rounds = -(-2 * out_features // in_features)
    reads = np.concatenate([generator.permutation(in_features) for _ in range(rounds)])[: 2 * out_features].reshape(2, -1)
    for gate in np.flatnonzero(reads[0] == reads[1]):  # swap with any gate that keeps both apart
        for other in generator.permutation(out_features):
            first, second = reads[1, gate], reads[1, other]
            if reads[0, gate] != second and reads[0, other] != first:
                reads[1, gate], reads[1, other] = second, first
                break
        else:  # too few gates to swap with
            reads[1, gate] = (reads[0, gate] + 1 + generator.integers(in_features - 1)) % in_features
    return torch.from_numpy(reads.astype(np.int64))


def random_reads(in_features: int, out_features: int, k: int, seed: int = 0) -> Tensor:
    """As random, for tables of k inputs: each reads k different inputs, and every input is read about equally often.

    Args:
        in_features: signals to read from, at least k.
        out_features: tables.
        k: inputs of a table.
        seed: of the draw.

    Returns:
        int64 [k, out_features].

    Raises:
        ArgumentError: fewer signals than inputs of a table.

    >>> reads = random_reads(10, 20, 4)
    >>> reads.shape, min(len(set(one)) for one in reads.T.tolist())
    (torch.Size([4, 20]), 4)
    """
    _check_sizes(in_features, out_features)
    if k > in_features:
        raise ArgumentError("k", expected=f"at most {in_features}, the signals there are", got=k)
    generator = np.random.default_rng(seed)
    rounds = -(-k * out_features // in_features)
    reads = np.concatenate([generator.permutation(in_features) for _ in range(rounds)])[: k * out_features].reshape(-1, k)
    for table in np.flatnonzero((np.diff(np.sort(reads, 1), axis=1) == 0).any(1)):  # on the border of two rounds
        reads[table] = generator.choice(in_features, k, replace=False)
    return torch.from_numpy(np.ascontiguousarray(reads.T).astype(np.int64))


def unique_wiring(in_features: int, out_features: int, seed: int = 0) -> Tensor:
    """As random, but no two gates read the same pair. Raises also where there are fewer pairs than gates.

    >>> wiring = unique_wiring(5, 10).sort(0).values
    >>> len({tuple(pair) for pair in wiring.T.tolist()})
    10
    """
    _check_sizes(in_features, out_features)
    pairs = in_features * (in_features - 1) // 2
    if out_features > pairs:
        raise ArgumentError(
            "out_features",
            expected=f"at most {pairs:,}, the pairs of {in_features:,} inputs",
            got=out_features,
            hint="take fewer gates or the random wiring",
        )
    generator = np.random.default_rng(seed)
    chosen = generator.choice(pairs, size=out_features, replace=False)
    # pair number n = second (second - 1) / 2 + first, with first < second
    second = ((1 + np.sqrt(1 + 8 * chosen.astype(np.float64))) / 2).astype(np.int64)
    second -= second * (second - 1) // 2 > chosen
    first = chosen - second * (second - 1) // 2
    swapped = generator.random(out_features) < 0.5
    return torch.from_numpy(np.stack((np.where(swapped, second, first), np.where(swapped, first, second))))


def local_wiring(grid: tuple[int, int, int], out_features: int, radius: int = 2, seed: int = 0) -> Tensor:
    """Each gate reads two different signals of a square neighbourhood on a grid.

    Args:
        grid: channels, height and width of the inputs, numbered in that order.
        out_features: gates; their centres go over the grid in shuffled rounds.
        radius: of the neighbourhood, in cells; 2 gives 5 by 5.
        seed: of the draw.

    Raises:
        ArgumentError: an empty grid or a radius below 1.

    >>> wiring = local_wiring((1, 28, 28), 100, radius=1)
    >>> int((wiring // 28).diff(dim=0).abs().max()) <= 2
    True
    """
    channels, height, width = grid
    if min(grid) < 1 or height * width * channels < 2:
        raise ArgumentError("grid", expected="channels, height and width of at least two signals", got=grid)
    check_integer("radius", radius, minimum=1)
    _check_sizes(channels * height * width, out_features)
    generator = np.random.default_rng(seed)
    cells = height * width
    rounds = -(-out_features // cells)
    centres = np.concatenate([generator.permutation(cells) for _ in range(rounds)])[:out_features]

    def near(gates: np.ndarray) -> np.ndarray:
        low = np.stack((gates // width, gates % width)) - radius
        high = np.minimum(low + 2 * radius + 1, np.array([[height], [width]]))
        rows, columns = generator.integers(np.maximum(low, 0), high)
        return np.asarray((generator.integers(channels, size=len(gates)) * height + rows) * width + columns)

    reads = np.stack((near(centres), near(centres)))
    while len(same := np.flatnonzero(reads[0] == reads[1])):
        reads[1, same] = near(centres[same])
    return torch.from_numpy(reads)


def tree_wiring(in_features: int, out_features: int, seed: int = 0) -> Tensor:
    """Gate n reads inputs 2 n and 2 n + 1, counted modulo in_features; the seed is not used.

    >>> tree_wiring(4, 2).tolist()
    [[0, 2], [1, 3]]
    """
    _check_sizes(in_features, out_features)
    first = torch.arange(out_features) * 2 % in_features
    return torch.stack((first, (first + 1) % in_features))


def given_wiring(wiring: Tensor, in_features: int, out_features: int, *, inputs: int = 2) -> Tensor:
    """A wiring of the user's, checked.

    Args:
        wiring: [inputs, out_features], an integer tensor with values below in_features.
        in_features: signals to read from.
        out_features: gates.
        inputs: of a gate.

    Raises:
        ArgumentTypeError: not an integer tensor.
        ArgumentError: another shape, or a signal that is not there.

    >>> given_wiring(torch.tensor([[0, 1], [1, 2]]), in_features=3, out_features=2).dtype
    torch.int64
    """
    if not isinstance(wiring, Tensor) or wiring.is_floating_point() or wiring.dtype is torch.bool:
        raise ArgumentTypeError(
            "wiring",
            expected="an integer tensor; numbers of signals are exact only so",
            got=str(wiring.dtype) if isinstance(wiring, Tensor) else type(wiring).__name__,
        )
    if tuple(wiring.shape) != (inputs, out_features):
        raise ArgumentError("wiring", expected=f"shape ({inputs}, {out_features})", got=tuple(wiring.shape))
    if wiring.numel() and (int(wiring.min()) < 0 or int(wiring.max()) >= in_features):
        raise ArgumentError(
            "wiring",
            expected=f"signals 0 to {in_features - 1}",
            got=f"{int(wiring.min())} to {int(wiring.max())}",
        )
    return wiring.to(torch.int64).contiguous()


WIRINGS: dict[str, Callable[[int, int, int], Tensor]] = {
    "random": random_wiring,
    "unique": unique_wiring,
    "tree": tree_wiring,
}
"""Wirings by name, each a function of in_features, out_features and a seed."""


def make_wiring(wiring: str | Tensor, in_features: int, out_features: int, seed: int = 0) -> Tensor:
    """The wiring of a name, or the given tensor, checked.

    Raises:
        UnknownNameError: a name that is none of `WIRINGS`.
        ArgumentError, ArgumentTypeError: as the wiring itself.

    >>> make_wiring("tree", 6, 3).tolist()
    [[0, 2, 4], [1, 3, 5]]
    """
    if not isinstance(wiring, str):
        return given_wiring(wiring, in_features, out_features)
    if wiring not in WIRINGS:
        raise UnknownNameError(
            "wiring",
            expected=f"one of {', '.join(WIRINGS)}, learned, or a tensor",
            got=wiring,
            hint="local wirings are made by local_wiring(grid, ...) and passed as a tensor",
        )
    return WIRINGS[wiring](in_features, out_features, seed)


class LearnedWiring(nn.Module):
    """Candidates of each gate input, and how much each is wanted.

    Args:
        in_features: signals to choose from.
        out_features: gates.
        inputs: of a gate.
        candidates: signals each input chooses among, all different within a gate.
        hard: forward the best candidate alone, with the gradient of the mixture.
        temperature: divides the wishes.
        seed: of the candidates and of the first wishes.

    Raises:
        ArgumentError: more candidates than a gate's inputs can share out the signals among.

    >>> LearnedWiring(20, 3, candidates=4).wiring().shape
    torch.Size([2, 3])
    """

    candidates: Tensor

    def __init__(
        self,
        in_features: int,
        out_features: int,
        *,
        inputs: int = 2,
        candidates: int = 8,
        hard: bool = False,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not 1 <= candidates <= in_features // inputs:
            share = "half" if inputs == 2 else f"a share of one in {inputs}"
            raise ArgumentError(
                "candidates",
                expected=f"1 to {in_features // inputs}, {share} of the {in_features} signals",
                got=candidates,
                hint="the inputs of a gate choose among different signals",
            )
        self.hard, self.temperature = hard, temperature
        generator = np.random.default_rng(seed)
        drawn = generator.random((out_features, in_features)).argpartition(inputs * candidates - 1, axis=1)[
            :, : inputs * candidates
        ]
        drawn = generator.permuted(drawn, axis=1).reshape(out_features, inputs, candidates).transpose(1, 0, 2)
        self.register_buffer("candidates", torch.from_numpy(np.ascontiguousarray(drawn).astype(np.int64)))
        wishes = torch.randn(inputs, out_features, candidates, generator=torch.Generator().manual_seed(seed))
        self.wishes = nn.Parameter(0.1 * wishes)

    def wiring(self) -> Tensor:
        """The discrete wiring, int64 [inputs, out_features]: the most wanted candidates."""
        return self.candidates.gather(-1, self.wishes.detach().argmax(-1, keepdim=True)).squeeze(-1)

    def mixed(self, x: Tensor) -> Tensor:
        """What the inputs read in training: [F, B] to [inputs * out_features, B], all first inputs, then all second ones."""
        shares = torch.softmax(self.wishes / self.temperature, -1)
        if self.hard:
            best = torch.zeros_like(shares).scatter_(-1, shares.argmax(-1, keepdim=True), 1.0)
            shares = best + (shares - shares.detach())
        read = x[self.candidates.flatten(0, 1)]  # [inputs * out, candidates, B]
        return torch.bmm(shares.flatten(0, 1).unsqueeze(1), read).squeeze(1)
