"""The registry of position encodings: one row for each, with the names it goes by and where its class is.

The catalogue, `inspect`, the sweep, `verify` and the golden vectors take their names from here, and all of them accept the
aliases. Nothing here imports torch: `ordinate.position.catalogue` loads the classes. To add an encoding, write its file under
`ordinate/position` and add a row: its contract tests and its golden vectors come from the row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ordinate.arguments import did_you_mean
from ordinate.errors import UnknownNameError

__all__ = ["REGISTRY", "Interface", "Positions", "Row", "canonical_name", "registry_row"]

Interface = Literal["adds", "rotates", "biases", "scores", "mixes"]
Positions = Literal["tokens", "image", "time height width", "seconds"]


@dataclass(frozen=True)
class Row:
    """One encoding.

    Args:
        name: what catalogue, sweep, golden vectors and specs call it.
        path: its class, "module:Class" under `ordinate.position`.
        interface: what its main method does, see `ordinate.position.protocols`: "adds" vectors to embeddings, "rotates" (or
            scales) queries and keys, "biases" scores, computes the "scores", or "mixes" a token with its neighbours.
        example: settings of a small instance, for two heads of 8 channels; of plain JSON types.
        aliases: other names for it: in configs, in `inspect`, in a sweep, in papers.
        positions: what a position is: the place of a token, (row, column), (time, row, column), or seconds.
        shift_invariant: whether the scores depend on the distance alone.
    """

    name: str
    path: str
    interface: Interface
    example: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    positions: Positions = "tokens"
    shift_invariant: bool = True
    exempt: Mapping[str, str] = field(default_factory=dict)
    """Contracts that the mathematics does not promise, each with the reason."""


_HALF = {"head_dim": 8, "layout": "half"}
_ROTARY = {"encoding": "rotary", "settings": _HALF, "scaling": None}
_WINDOW_ENDS = {"far": "a window has no patch 200,000"}
_XPOS_REACH = {"far": "factors leave the range of the dtype at `reach` positions from the centre, and an error says so"}

_ROWS = (
    # added to embeddings
    Row("none", "additive.absolute:NoPosition", "rotates", {}, ("nope",)),
    Row("sinusoidal", "additive.absolute:Sinusoidal", "adds", {"dim": 8}, ("sine",), shift_invariant=False),
    Row(
        "learned",
        "additive.absolute:LearnedTable",
        "adds",
        {"num_positions": 256, "dim": 8},
        ("absolute", "learned-absolute"),
        shift_invariant=False,
    ),
    Row("sinusoidal-grid", "additive.grid:SinusoidalGrid", "adds", {"dim": 8}, ("sincos-2d",), "image", shift_invariant=False),
    Row(
        "learned-grid",
        "additive.grid:LearnedGrid",
        "adds",
        {"size": [16, 20], "dim": 8},
        ("learned-2d",),
        "image",
        shift_invariant=False,
    ),
    Row(
        "time",
        "additive.time:TimeEncoding",
        "adds",
        {"dim": 12, "seasons": ["hour_of_day", "day_of_year"]},
        (),
        "seconds",
        shift_invariant=False,
    ),
    Row(
        "time2vec",
        "additive.time:Time2Vec",
        "adds",
        {"dim": 4, "origin": 1_764_000_000},
        (),
        "seconds",
        shift_invariant=False,
    ),
    Row(
        "fourier-features",
        "additive.fourier_features:FourierFeatures",
        "adds",
        {"dim": 8, "size": [16, 20]},
        ("sam-points",),
        "image",
        shift_invariant=False,
    ),
    # tokens mixed with their neighbours, in encoders
    Row(
        "convolution",
        "convolution:ConvolutionalPosition",
        "mixes",
        {"dim": 8, "kernel_size": 4, "groups": 2},
        ("wav2vec2", "hubert", "conv"),
    ),
    Row("depthwise", "convolution:DepthwisePosition", "mixes", {"dim": 8}, ("twins", "pvt-v2", "segformer", "cpe"), "image"),
    # queries and keys turned, or scaled
    Row("rotary", "rotary.single_axis:Rotary", "rotates", _HALF, ("rope", "roformer", "default")),
    Row("learned-rotary", "rotary.learned:LearnedRotary", "rotates", _HALF, ("learned-rope",)),
    Row(
        "stepped-temperature",
        "temperature:SteppedTemperature",
        "rotates",
        {"step_tokens": 4, "strength": 0.1},
        ("attn_temperature_tuning",),
        shift_invariant=False,
    ),
    Row(
        "log-temperature",
        "temperature:LogTemperature",
        "rotates",
        {"trained_context": 4},
        ("logn",),
        shift_invariant=False,
    ),
    Row("axial-rotary", "rotary.axial:AxialRotary", "rotates", _HALF, ("rope2d", "rope-2d", "rope3d"), "image"),
    Row(
        "mixed-rotary",
        "rotary.mixed_axes:MixedRotary",
        "rotates",
        {"head_dim": 8, "num_heads": 2},
        ("rope-mixed",),
        "image",
    ),
    Row(
        "multimodal-rotary",
        "rotary.multimodal:MultimodalRotary",
        "rotates",
        {**_HALF, "sections": [2, 1, 1]},
        ("mrope", "m-rope"),
        "time height width",
    ),
    Row("xpos", "rotary.xpos:XPos", "rotates", {**_HALF, "layout": "interleaved"}, exempt=_XPOS_REACH),
    Row("pope", "rotary.pope:PoPE", "rotates", {"head_dim": 8, "num_heads": 2}),
    Row("grape", "grape:GRAPE", "rotates", {"head_dim": 8}, ("grape-m",)),
    Row(
        "multi-head-rotary",
        "rotary.by_head:MultiHeadRotary",
        "rotates",
        {**_HALF, "sections": [1, 1], "num_key_value_heads": 2},
        ("mhrope", "multi-head-rope"),
        "image",
    ),
    # biases on scores
    Row("alibi", "bias.alibi:ALiBi", "biases", {"num_heads": 2}),
    Row(
        "t5",
        "bias.t5:T5Bias",
        "biases",
        {"num_heads": 2, "num_buckets": 8, "max_distance": 16},
        ("t5-bucket", "t5-bias", "relative-buckets"),
    ),
    Row("kerple", "bias.kernel_biases:Kerple", "biases", {"num_heads": 2}),
    Row("sandwich", "bias.kernel_biases:Sandwich", "biases", {"num_heads": 2, "dim": 8}),
    Row("fire", "bias.fire:FIRE", "biases", {"num_heads": 2, "hidden_dim": 4}),
    Row(
        "window",
        "bias.window:WindowBias2D",
        "biases",
        {"num_heads": 2, "window": [12, 20]},
        ("swin", "beit"),
        "image",
        exempt=_WINDOW_ENDS,
    ),
    Row(
        "continuous-window",
        "bias.window:ContinuousWindowBias2D",
        "biases",
        {"num_heads": 2, "window": [12, 20], "hidden_dim": 4},
        ("swin-v2",),
        "image",
        exempt=_WINDOW_ENDS,
    ),
    Row("shaw", "bias.relative:ShawRelative", "biases", {"head_dim": 8, "max_distance": 3}, ("relative_key_query",)),
    Row(
        "music",
        "bias.relative:MusicRelative",
        "biases",
        {"num_heads": 2, "head_dim": 8, "max_distance": 255},
        ("music-transformer",),
    ),
    Row(
        "transformer-xl",
        "bias.transformer_xl:TransformerXLRelative",
        "biases",
        {"num_heads": 2, "head_dim": 8, "layout": "half"},
        ("transformer_xl", "xlnet"),
    ),
    Row(
        "disentangled",
        "bias.disentangled:DisentangledRelative",
        "biases",
        {"num_heads": 2, "head_dim": 8, "max_distance": 8},
        ("deberta",),
    ),
    Row("cope", "bias.contextual:CoPE", "biases", {"head_dim": 8, "num_positions": 6}),
    Row(
        "dape",
        "bias.contextual:DAPE",
        "biases",
        {"base": {"encoding": "alibi", "settings": {"num_heads": 2}, "scaling": None}, "hidden_size": 4},
    ),
    Row(
        "gated-bias",
        "bias.gated:GatedBias",
        "biases",
        {"num_heads": 2, "head_dim": 8, "num_buckets": 8, "max_distance": 16},
        ("wavlm",),
    ),
    Row(
        "decomposed",
        "bias.decomposed:DecomposedRelative",
        "biases",
        {"head_dim": 8, "window": [12, 20]},
        ("mvitv2", "sam-relative"),
        "image",
        exempt=_WINDOW_ENDS,
    ),
    Row(
        "text-layout",
        "bias.text_layout:TextLayoutBias",
        "biases",
        {"num_heads": 2, "head_dim": 8, "num_buckets": 8, "max_distance": 16, "layout_buckets": 8, "max_offset": 32},
        ("layoutlmv3",),
        "time height width",
    ),
    Row(
        "forget-gates",
        "bias.forgetting:ForgetGates",
        "biases",
        {"num_heads": 2, "head_dim": 8},
        ("fox", "forgetting-transformer"),
    ),
    Row(
        "path-integral",
        "grape:PathIntegralBias",
        "biases",
        {"num_heads": 2, "head_dim": 8},
        ("grape-ap", "grape-a-pi"),
        shift_invariant=False,
    ),
    # scores computed
    Row("path", "householder:PaTH", "scores", {"num_heads": 2, "head_dim": 8, "rank": 6}, ("path-attention",)),
    Row("repo", "from_keys:RePo", "scores", {"num_heads": 2, **_HALF}, ("context-repositioning",)),
    Row(
        "selective-rotary",
        "from_keys:SelectiveRotary",
        "scores",
        {"num_heads": 2, **_HALF, "rank": 4},
        ("selective-rope",),
    ),
    # other positions for a rotation
    Row(
        "self-extend",
        "remapping:SelfExtend",
        "scores",
        {"rotary": _ROTARY, "window": 4, "group": 2},
        shift_invariant=False,
    ),
    Row("rerope", "remapping:ReRoPE", "scores", {"rotary": _ROTARY, "window": 4}),
    Row("leaky-rerope", "remapping:LeakyReRoPE", "scores", {"rotary": _ROTARY, "window": 4, "factor": 4.0}),
    Row(
        "dual-chunk",
        "remapping:DualChunk",
        "scores",
        {"rotary": _ROTARY, "chunk": 4, "local": 2},
        ("dca",),
        shift_invariant=False,
    ),
    Row(
        "streaming-llm",
        "remapping:StreamingLLM",
        "scores",
        {"rotary": _ROTARY, "sinks": 2, "window": 3},
        shift_invariant=False,
    ),
)

REGISTRY: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""Every encoding by its name."""

_BY_ALIAS = {alias: row.name for row in _ROWS for alias in row.aliases}


def canonical_name(name: str) -> str:
    """The registry's name of an encoding, from that or one of its aliases.

    Raises:
        UnknownNameError: no encoding goes by it.

    >>> canonical_name("rope"), canonical_name("t5-bucket"), canonical_name("alibi")
    ('rotary', 't5', 'alibi')
    """
    return registry_row(name).name


def registry_row(name: str) -> Row:
    """The row of an encoding, by its name or one of its aliases.

    Raises:
        UnknownNameError: no encoding goes by it.

    >>> registry_row("mrope").path
    'rotary.multimodal:MultimodalRotary'
    """
    row = REGISTRY.get(_BY_ALIAS.get(name, name))
    if row is None:
        raise UnknownNameError(
            "encoding", expected=f"one of {', '.join(REGISTRY)}", got=name, hint=did_you_mean(name, [*REGISTRY, *_BY_ALIAS])
        )
    return row
