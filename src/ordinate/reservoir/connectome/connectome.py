"""A connectome: who sends how many synapses to whom, and what is known about each neuron.

**Rows are presynaptic, columns postsynaptic**, everywhere in this package: `weights[i, j]` is what neuron i sends to neuron j.
Because half of the confusion in this field is a transposed matrix, the only way to move activity is `propagate`, which computes
`x W`: it hands activity from each neuron to the neurons it synapses on. Loaders live beside this file, one a format; null
models, gains and signs take a connectome and give a new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ordinate.arguments import check_choice, check_integer, check_number
from ordinate.errors import ArgumentError, ArgumentTypeError, ShapeError
from ordinate.reservoir.connectome.annotations import annotate
from ordinate.reservoir.connectome.edges import graph_fields, read_edges, table_fields
from ordinate.reservoir.connectome.elegans import read_elegans
from ordinate.reservoir.connectome.larval import read_larval
from ordinate.reservoir.connectome.published import read_flywire, read_male_cns
from ordinate.reservoir.connectome.query import matching
from ordinate.reservoir.connectome.spectrum import spectral_radius
from ordinate.reservoir.seeds import generator_of

__all__ = ["SIDES", "Connectome", "draw_synthetic"]

IntArray = npt.NDArray[np.int64]

SIDES = ("left", "right", "unknown")

_DEFAULT: Any = None  # which `__post_init__` fills in


@dataclass(frozen=True, eq=False)
class Connectome:
    """Neurons, their directed weights, and their sides, mates, kinds and labels.

    `weights[i, j]` goes from neuron i (presynaptic) to neuron j (postsynaptic). Loaders leave synapse counts as they are.

    Args:
        weights: [N, N], anything scipy can make a `csr_array` of; finite; kept without stored zeros.
        ids: N distinct names, str or int; by default 0 .. N-1.
        side: for each neuron "left", "right" or "unknown" (the default).
        mate: for each neuron the index of its homolog on the other side, -1 where none; an involution.
        kind: for each neuron its cell type, "" where unknown.
        labels: for each neuron the further words that a query may ask for.
        name: for messages, tables and figures.
        assumptions: what the data do not say and was assumed here, one sentence each.

    Raises:
        ArgumentError: a matrix that is not square, NaN or infinity in it, duplicate ids, an unknown side, a mate that is
            not mutual, or annotations that are not one a neuron.

    >>> chain = Connectome([[0, 2, 0], [0, 0, 3], [0, 0, 0]], ids=["a", "b", "c"])
    >>> chain.num_neurons, chain.num_edges, chain.num_synapses
    (3, 2, 5.0)
    >>> chain.propagate([1.0, 0.0, 0.0])
    array([0., 2., 0.])
    """

    weights: sparse.csr_array
    ids: npt.NDArray[Any] = _DEFAULT
    side: npt.NDArray[np.str_] = _DEFAULT
    mate: IntArray = _DEFAULT
    kind: npt.NDArray[np.str_] = _DEFAULT
    labels: tuple[frozenset[str], ...] = _DEFAULT
    name: str = "connectome"
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        weights = _checked_weights(self.weights)
        count = int(weights.shape[0])
        ids = np.arange(count) if self.ids is None else _checked_ids(self.ids, count)
        side = np.full(count, "unknown") if self.side is None else _one_each("side", np.asarray(self.side, dtype=str), count)
        if not np.isin(side, SIDES).all():
            raise ArgumentError("side", expected=f"one of {SIDES}", got=str(side[~np.isin(side, SIDES)][0]))
        mate = np.full(count, -1) if self.mate is None else _checked_mate(self.mate, count)
        kind = np.full(count, "") if self.kind is None else _one_each("kind", np.asarray(self.kind, dtype=str), count)
        labels = (frozenset(),) * count if self.labels is None else tuple(frozenset(words) for words in self.labels)
        _one_each("labels", labels, count)
        for key, value in (("ids", ids), ("side", side), ("mate", mate), ("kind", kind)):
            value = value.copy()
            value.flags.writeable = False
            object.__setattr__(self, key, value)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "labels", labels)

    # --- what is in it -------------------------------------------------------------------------------------------------

    @property
    def num_neurons(self) -> int:
        """Neurons N."""
        return int(self.weights.shape[0])

    @property
    def num_edges(self) -> int:
        """Ordered pairs of neurons with a weight other than 0."""
        return int(self.weights.nnz)

    @property
    def num_synapses(self) -> float:
        """The sum of all absolute weights: synapses, while the weights are counts."""
        return float(abs(self.weights.astype(np.float64)).sum())

    def __repr__(self) -> str:
        return f"<Connectome {self.name}: {self.num_neurons:,} neurons, {self.num_edges:,} edges>"

    def select(self, query: str | Iterable[Any], *, allow_empty: bool = False, argument: str = "query") -> IntArray:
        """The sorted indices of the neurons that a query names.

        Args:
            query: words joined by `&`, `|`, `!` and parentheses, such as "sensory & olfactory & left". A word is matched
                whole against side, kind and labels, `id=` against the id; quote it where it holds an operator. Or indices.
            allow_empty: whether it may select nobody.
            argument: what the caller calls the query, for messages.

        Raises:
            ArgumentError: a query that cannot be read, or that selects nobody.
            UnknownNameError: a word that no neuron carries.

        >>> Connectome.synthetic().select("descending & left").size
        8
        """
        return matching(query, self, allow_empty=allow_empty, argument=argument)

    # --- what it does --------------------------------------------------------------------------------------------------

    def propagate(self, x: npt.ArrayLike) -> npt.NDArray[Any]:
        """Hand activity from each neuron to the neurons it synapses on: `y[..., j] = sum_i x[..., i] W[i, j]`.

        Args:
            x: activity of the presynaptic neurons, [..., N].

        Returns:
            What arrives at the postsynaptic neurons, [..., N].

        Raises:
            ShapeError: a last axis that is not N long.
        """
        activity = np.asarray(x)
        if activity.ndim == 0 or activity.shape[-1] != self.num_neurons:
            raise ShapeError(
                "x", expected=f"[..., {self.num_neurons}]", got=str(list(activity.shape)), hint="one value a neuron"
            )
        flat = activity.reshape(-1, self.num_neurons)
        return np.asarray(self.incoming @ flat.T).T.reshape(activity.shape)

    @cached_property
    def incoming(self) -> sparse.csr_array:
        """The transpose in rows: each row holds what arrives at one neuron."""
        return sparse.csr_array(self.weights.T)

    def spectral_radius(self) -> float:
        """The largest absolute eigenvalue of the directed matrix, complex ones allowed; 0 for a nilpotent matrix.

        Found by implicitly restarted Arnoldi on the sparse matrix (ARPACK; Lehoucq, Sorensen and Yang 1998), within each
        strongly connected component, whose eigenvalues together are those of the whole.

        >>> round(Connectome([[0, 2], [3, 0]]).spectral_radius(), 6)
        2.44949
        """
        return spectral_radius(self.weights)

    # --- derived connectomes ---------------------------------------------------------------------------------------------

    def with_weights(self, weights: Any, *, name: str) -> Connectome:
        """The same neurons with other weights [N, N].

        Raises:
            ShapeError: weights for another number of neurons.
        """
        if np.shape(weights) != self.weights.shape:
            raise ShapeError("weights", expected=str(self.weights.shape), got=str(np.shape(weights)), hint="one row a neuron")
        return replace(self, weights=weights, name=name)

    def reversed(self) -> Connectome:
        """The connectome with every arrow turned round: activity would run from axon tips back to dendrites.

        No brain does this; it is here to show what results look like when a matrix is read transposed.
        """
        return self.with_weights(self.weights.T, name=f"{self.name}, run backwards")

    def restrict(self, neurons: str | Iterable[Any]) -> Connectome:
        """The connectome of some neurons only, in ascending order; mates outside become -1.

        Args:
            neurons: a query, or indices.
        """
        keep = self.select(neurons, argument="neurons")
        place = np.full(self.num_neurons, -1)
        place[keep] = np.arange(keep.size)
        mate = np.where(self.mate[keep] >= 0, place[self.mate[keep]], -1)
        return Connectome(
            self.weights[keep][:, keep],
            ids=self.ids[keep],
            side=self.side[keep],
            mate=mate,
            kind=self.kind[keep],
            labels=tuple(self.labels[index] for index in keep),
            name=f"{self.name}, {keep.size:,} neurons",
            assumptions=self.assumptions,
        )

    # --- where it comes from -------------------------------------------------------------------------------------------

    @classmethod
    def synthetic(cls, seed: int = 0, **settings: Any) -> Connectome:
        """A small bilateral connectome, drawn from a seed; see `draw_synthetic`.

        >>> Connectome.synthetic(num_pairs=20).num_neurons
        40
        """
        return cls(**draw_synthetic(seed, **settings))

    @classmethod
    def larval_drosophila(cls, path: str | Path, **settings: Any) -> Connectome:
        """A larval fruit fly's brain (Winding et al. 2023); see `ordinate.reservoir.connectome.larval.read_larval`."""
        return cls(**read_larval(path, **settings))

    @classmethod
    def c_elegans(cls, path: str | Path | None = None, **settings: Any) -> Connectome:
        """C. elegans, out of the package `cect`; see `ordinate.reservoir.connectome.elegans.read_elegans`."""
        return cls.from_array(**read_elegans(path, **settings))

    @classmethod
    def from_edges(cls, path: str | Path, **settings: Any) -> Connectome:
        """A connectome from a table of edges, a sparse matrix or GraphML; see `connectome.edges.read_edges`."""
        return cls(**read_edges(path, **settings))

    @classmethod
    def male_cns(cls, directory: str | Path, **settings: Any) -> Connectome:
        """A male fly's nervous system, from its Feather files; see `connectome.published.read_male_cns`."""
        return cls(**read_male_cns(directory, **settings))

    @classmethod
    def flywire(cls, directory: str | Path, **settings: Any) -> Connectome:
        """A female fly's brain in any of its published forms; see `connectome.published.read_flywire`."""
        return cls(**read_flywire(directory, **settings))

    @classmethod
    def from_pandas(
        cls,
        edges: Any,
        neurons: Any = None,
        *,
        pre: str | None = None,
        post: str | None = None,
        count: str | None = None,
        duplicates: str = "error",
        signed: bool = False,
        min_synapses: float = 1,
        kinds: str | None = None,
        name: str = "connectome",
    ) -> Connectome:
        """A connectome from data frames of edges and, if there is one, of neurons; pandas itself is not imported.

        Args:
            edges: a frame with columns of ids and, if there is one, of counts; see `from_edges` for the usual names.
            neurons: a frame with an id and sides, kinds, ... as `from_edges` reads them.
            pre, post, count, duplicates, signed, min_synapses, kinds: as in `from_edges`.
            name: for messages and figures.

        Raises:
            DataError: as `from_edges`.
        """
        tables = [
            {} if frame is None else {str(column): np.asarray(frame[column].to_numpy()) for column in frame.columns}
            for frame in (edges, neurons)
        ]
        annotations = {} if neurons is None else annotate(tables[1], "neurons", kinds=kinds)
        check_choice("duplicates", duplicates, ("error", "sum", "refuse"))
        return cls(
            **table_fields(
                tables[0],
                "edges",
                pre=pre,
                post=post,
                count=count,
                annotations=annotations,
                duplicates=duplicates,
                signed=signed,
                min_synapses=min_synapses,
                name=name,
            )
        )

    @classmethod
    def from_networkx(cls, graph: Any, *, count: str | None = None) -> Connectome:
        """A connectome from a graph of networkx; see `connectome.edges.graph_fields`.

        Args:
            graph: directed, or undirected for edges that count both ways; attributes of nodes are read as columns are.
            count: the attribute of edges that counts synapses; by default one of the usual names, or 1 an edge.
        """
        return cls(**graph_fields(graph, count=count))

    @classmethod
    def from_array(cls, weights: Any, **annotations: Any) -> Connectome:
        """A connectome of a matrix [N, N] of counts, rows presynaptic: negative entries are refused, for counts have none.

        Args:
            weights: dense or sparse.
            annotations: `ids`, `side`, `mate`, `kind`, `labels`, `name` as in the class.

        Raises:
            ArgumentError: as the class does, or a negative count.

        >>> Connectome.from_array(np.eye(3)).num_edges
        3
        """
        connectome = cls(weights, **annotations)
        if connectome.num_edges and connectome.weights.data.min() < 0:
            raise ArgumentError(
                "weights",
                expected="counts of synapses",
                got=f"{connectome.weights.data.min()}",
                hint="give signs by reservoir.signs",
            )
        return connectome


def _checked_weights(weights: Any) -> sparse.csr_array:
    try:
        shape = np.shape(weights)
    except ValueError:
        raise ShapeError("weights", expected="a square matrix [N, N]", got="rows of different lengths") from None
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(
            "weights", expected="a square matrix [N, N]", got=str(list(shape)), hint="rows and columns are the same neurons"
        )
    if shape[0] == 0:
        raise ShapeError("weights", expected="at least one neuron", got="an empty matrix", hint="look at the file or the query")
    values = weights if sparse.issparse(weights) else np.asarray(weights)
    if values.dtype == object:
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ArgumentTypeError("weights", expected="real numbers", got="objects that are none") from None
    if values.dtype.kind not in "biuf":
        raise ArgumentTypeError("weights", expected="real numbers", got=f"dtype {values.dtype}")
    narrow = {np.dtype(bool): np.uint8, np.dtype(np.float16): np.float32, np.dtype(np.longdouble): np.float64}  # not in scipy
    if values.dtype in narrow and values.dtype != np.float64:
        values = values.astype(narrow[values.dtype])
    matrix = sparse.csr_array(values, copy=True)
    matrix.sum_duplicates()
    if not np.isfinite(matrix.data).all():
        bad = int(np.flatnonzero(~np.isfinite(matrix.data))[0])
        row = int(np.searchsorted(matrix.indptr, bad, side="right")) - 1
        raise ArgumentError(
            "weights",
            expected="finite numbers",
            got=f"{matrix.data[bad]} at [{row}, {matrix.indices[bad]}]",
            hint="mend the file",
        )
    matrix.eliminate_zeros()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.flags.writeable = False
    return matrix


def _one_each(name: str, values: Any, count: int) -> Any:
    if len(values) != count:
        raise ArgumentError(
            name, expected=f"one for each of the {count} neurons", got=str(len(values)), hint="align it with the matrix"
        )
    return values


def _checked_ids(ids: Sequence[Any] | npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    names = _one_each("ids", np.asarray(ids), count)
    distinct, times = np.unique(names, return_counts=True)
    if distinct.size != count:
        raise ArgumentError(
            "ids", expected="distinct names", got=f"{distinct[times > 1][0]} {times.max()} times", hint="merge or rename them"
        )
    return np.asarray(names)


def _checked_mate(mate: Any, count: int) -> IntArray:
    partner = np.asarray(_one_each("mate", np.asarray(mate), count), dtype=np.int64)
    if partner.min(initial=-1) < -1 or partner.max(initial=-1) >= count:
        raise ArgumentError("mate", expected=f"indices below {count}, or -1", got=str(partner.max()))
    paired = np.flatnonzero(partner >= 0)
    wrong = paired[(partner[partner[paired]] != paired) | (partner[paired] == paired)]
    if wrong.size:
        raise ArgumentError(
            "mate",
            expected="pairs: each the mate of its mate",
            got=f"neuron {wrong[0]} -> {partner[wrong[0]]}",
        )
    return partner


# of each side's neurons, how many parts in 50 are of each kind
_PARTS = {"sensory": 10, "ascending": 4, "interneuron": 28, "descending": 8}

# from a kind to a kind: the chance of an edge within a side, and across
_CHANCES = {
    ("sensory", "interneuron"): (0.25, 0.01),
    ("ascending", "interneuron"): (0.02, 0.25),
    ("interneuron", "interneuron"): (0.20, 0.06),
    ("interneuron", "descending"): (0.25, 0.02),
    ("descending", "interneuron"): (0.02, 0.02),
}


def draw_synthetic(seed: int = 0, *, num_pairs: int = 50, symmetry: float = 0.8, mean_count: float = 3.0) -> dict[str, Any]:
    """The fields of a bilateral connectome of `2 num_pairs` neurons, each with a mate, drawn from a seed.

    The right side is the mirror image of the left, except that each edge is drawn anew with chance `1 - symmetry`.

    Args:
        seed: the same seed gives the same connectome.
        num_pairs: left-right pairs; 50 make 100 neurons.
        symmetry: from 0, independent sides, to 1, mirror images.
        mean_count: synapses of an average edge; counts are geometric, as heavy-tailed as real ones are.

    Raises:
        ArgumentError: fewer than 10 pairs, a symmetry outside 0 .. 1, or a mean count below 1.

    >>> fields = draw_synthetic()
    >>> fields["ids"].size, sorted(set(fields["kind"].tolist()))
    (100, ['ascending', 'descending', 'interneuron', 'sensory'])
    """
    check_integer("num_pairs", num_pairs, minimum=10)
    check_number("symmetry", symmetry, minimum=0, maximum=1)
    check_number("mean_count", mean_count, minimum=1)
    generator = generator_of(seed)
    bounds = np.round(np.cumsum([0, *_PARTS.values()]) * num_pairs / sum(_PARTS.values())).astype(int)
    kind = np.concatenate([[name] * (bounds[at + 1] - bounds[at]) for at, name in enumerate(_PARTS)])
    chance = np.zeros((2, num_pairs, num_pairs))
    for (sender, receiver), pair in _CHANCES.items():
        for across in (0, 1):
            chance[across][np.ix_(kind == sender, kind == receiver)] = pair[across]
    np.fill_diagonal(chance[0], 0)  # no neuron synapses on itself

    def draw() -> np.ndarray:  # [2, P, P]: to its own side, to the other
        return (generator.random(chance.shape) < chance) * generator.geometric(1 / mean_count, chance.shape)

    left = draw()
    right = np.where(generator.random(chance.shape) < symmetry, left, draw())
    weights = np.block([[left[0], left[1]], [right[1], right[0]]])
    digits = len(str(num_pairs - 1))
    modality = np.where(np.arange(num_pairs) % 2 == 0, "olfactory", "visual")
    labels = [frozenset({str(modality[at])}) if kind[at] == "sensory" else frozenset() for at in range(num_pairs)]
    return {
        "weights": sparse.csr_array(weights.astype(np.int64)),
        "ids": np.array([f"{side}{at:0{digits}d}" for side in "LR" for at in range(num_pairs)]),
        "side": np.repeat(["left", "right"], num_pairs),
        "mate": np.concatenate([np.arange(num_pairs) + num_pairs, np.arange(num_pairs)]),
        "kind": np.concatenate([kind, kind]),
        "labels": tuple(labels + labels),
        "name": f"synthetic bilateral connectome (seed {seed})",
        "assumptions": ("drawn from a seed: it is not a brain",),
    }
