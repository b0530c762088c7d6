"""Transformers of diffusers, which write `_class_name` where transformers writes `model_type`.

Each row was read in the modeling file of its class in diffusers 0.42.1, where rotations are turned by
`embeddings.apply_rotary_emb` (pairs of neighbours unless it is told to take halves) or by complex numbers. Every axis has a
frequency schedule of its own over its share of the head. They see all their tokens at once and keep no cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ordinate.inspection.families.encoders import flagged, only_if
from ordinate.inspection.reader.heads import multi_head
from ordinate.inspection.reader.input_encodings import fixed, learned
from ordinate.inspection.reader.layer_kinds import by_index
from ordinate.inspection.reader.rotary import RotaryRule, rope, rope_by_axes
from ordinate.inspection.reader.row_types import Family, LayerGroup, Pattern, Reader, Stack
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Attention, Encoding, Rotation, Value

__all__ = ["DIFFUSION"]

FRAMES, IMAGE = ("time", "height", "width"), ("height", "width")
HEADS = multi_head(
    ("num_attention_heads", "n_heads", "num_heads", "dit_heads"),
    ("num_key_value_heads", "num_key_value_attention_heads", "num_kv_heads", "n_kv_heads"),
    ("attention_head_dim", "head_dim"),
)
SINES = fixed("sinusoidal", "input", "sines of height and width, half of the channels each")


def _row(
    *readers: Reader,
    single: bool = False,
    layers: tuple[str, ...] = ("num_layers", "n_layers", "depth", "num_mmdit_layers", "num_visual_blocks", "dit_depth"),
    attention: Any = HEADS,
    pattern: Pattern | None = None,
    window_of: Callable[[int], int] = int,
    **defaults: Any,
) -> Family:
    """A stack of layers, and a second one where image and text share one stream (`num_single_layers`)."""
    stack: dict[str, Any] = {
        "attention": attention,
        "hidden": ("hidden_size", "dim", "model_dim", "embed_dim", "dit_dim"),
        "claimed": (),
    }
    stack |= {"pattern": pattern, "window_of": window_of}
    stacks = [Stack(readers, "double stream" if single else "", layers=layers, **stack)]
    if single:
        stacks.append(Stack(readers, "single stream", layers=("num_single_layers", "num_single_dit_layers"), **stack))
    return Family(tuple(stacks), name="diffusion", defaults=defaults)


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


def _by_sixths(head_dim: int) -> tuple[int, int, int]:
    """Wan: height and width take a third of the head each, in pairs, time the rest."""
    side = 2 * (head_dim // 6)
    return head_dim - 2 * side, side, side


def _by_eighths(head_dim: int) -> tuple[int, int, int]:
    """CogVideoX: a quarter of the head for time, three eighths for each of height and width."""
    return head_dim // 4, head_dim // 8 * 3, head_dim // 8 * 3


def _halves(head_dim: int) -> tuple[int, int]:
    return head_dim // 2, head_dim // 2


def _stretched(reader: Reader) -> Reader:
    """Cosmos: each axis has a base of its own, 10,000 x rope_scale^(d / (d - 2)) over its d channels."""

    def read(group: LayerGroup) -> Encoding | None:
        encoding = reader(group)
        scales = group.section.numbers("rope_scale")
        if encoding is None or encoding.rotation is None or scales.value in ([1, 1, 1], (1, 1, 1)):
            return encoding
        rule = Value("ntk", "family", f"{group.origin}: a factor for each axis")
        written: list[float] = []
        dims, factors = encoding.rotation.sections, scales.value
        sensible = dims is not None and len(factors or ()) == len(dims.value or ()) and all(1e-6 < one < 1e9 for one in factors)
        if dims is not None and sensible:
            for pairs, factor in zip(dims.value, factors, strict=True):
                theta = 10000.0 * factor ** (pairs / (pairs - 1)) if pairs > 1 else 10000.0
                written += [theta ** (-pair / pairs) for pair in range(pairs)]
        rotation = replace(encoding.rotation, rule=rule, settings={"factors": scales}, written=tuple(written))
        return replace(encoding, rotation=rotation, spec=None, note="each axis has a base of its own, by its factor")

    return read


def _fractions(group: LayerGroup) -> Encoding | None:
    """LTX: a sixth of the stream's channels has pi / 2 times a power of the base, for each of three axes in turn.

    Positions are fractions of the trained size, from -1 to 1; channels that six does not divide come first and stay.
    """
    width, base = group.hidden_size.value, group.section.number("theta", "rope_theta", above=1).value or 10000.0
    if not width or width < 12:
        return LTX_NAMED(group)
    steps = width // 6
    powers = [math.pi / 2 * base ** (step / (steps - 1)) for step in range(steps)]
    written = (0.0,) * (width % 6 // 2) + tuple(power for power in powers for _ in FRAMES)
    made, stream = Value("interleaved", "family", group.origin), Value(width, "derived", "all channels of the stream")
    rule = Value("none", "family", group.origin)
    rotation = Rotation(made, stream, stream, Value(base, "family", group.origin), rule, axes=FRAMES, written=written)
    note = "before heads are split; positions are fractions of the trained frames, height and width, from -1 to 1"
    return Encoding(Value("rope3d", "family", group.origin), "queries and keys", rotation, note=note)


def _in_turn(key: str) -> Reader:
    """As Qwen3-VL: height and width take every third pair up to three times their section, time all others."""
    plain = rope(RotaryRule("half", sections=False, axes=FRAMES, sharing="interleaved"))

    def read(group: LayerGroup) -> Encoding | None:
        encoding, sections = plain(group), group.section.numbers(key)
        note = f"height and width have every third pair, {list(sections.value or ())[1:]} of them, time the others"
        return None if encoding is None else replace(encoding, spec=None, note=note)

    return read


def _thirds(group: LayerGroup) -> Encoding | None:
    """Allegro: a third of the head for each axis, turned in halves within it, at positions divided by a scale."""
    encoding = _by_head("half", FRAMES, lambda head_dim: (head_dim // 3,) * 3)(group)
    if encoding is None or encoding.rotation is None or encoding.rotation.sections is None:
        return encoding
    scales = [group.section.number(f"interpolation_scale_{axis}", above=0).value or 1.0 for axis in "thw"]
    plain = encoding.rotation.unscaled_frequencies() or ()
    pairs = len(plain) // 3
    written = tuple(frequency / scales[index // pairs] for index, frequency in enumerate(plain)) if pairs else ()
    settings = {"factors": Value(scales, "file" if group.section.has("interpolation_scale_h") else "family", group.origin)}
    rule = Value("linear by axis", "family", f"{group.origin}: a factor for each axis")
    layout = Value("half", "family", f"{group.origin}: within each axis's third of the head")
    rotation = replace(encoding.rotation, layout=layout, rule=rule, settings=settings, written=written)
    return replace(encoding, rotation=rotation, spec=None, note="halves within each axis's third of the head")


def _heads_of_axes(section: Section, kind: str, hidden_size: Value) -> Attention:
    """Kandinsky 5: a head is as wide as its axes together."""
    sizes = section.numbers("axes_dims").value or ()
    own = {"head_dim": int(sum(sizes))} if sizes else {}
    return HEADS(replace(section, defaults={**section.defaults, **own}), kind, hidden_size)


def _flux(*, base: float | None = 10000.0, axes: tuple[str, ...] = FRAMES) -> Reader:
    return rope_by_axes("interleaved", axes, sizes=("axes_dims_rope", "axes_dim_rope", "axes_dims"), fixed_base=base)


def _hunyuan(axes: tuple[str, ...] = FRAMES, layout: str = "interleaved") -> Reader:
    return rope_by_axes(layout, axes, sizes=("rope_axes_dim", "rope_dim", "rope_dim_list"), base=("rope_theta", "theta"))


def _by_head(layout: str, axes: tuple[str, ...], split: Callable[[int], tuple[int, ...]]) -> Reader:
    return rope_by_axes(layout, axes, split=split, fixed_base=10000.0)


FLUX: dict[str, Any] = {"num_layers": 19, "num_single_layers": 38, "attention_head_dim": 128, "num_attention_heads": 24}
FLUX |= {"axes_dims_rope": (16, 56, 56)}
WAN: dict[str, Any] = {"num_attention_heads": 40, "attention_head_dim": 128, "num_layers": 40, "rope_max_seq_len": 1024}
HUNYUAN: dict[str, Any] = {"num_attention_heads": 24, "attention_head_dim": 128, "num_layers": 20, "num_single_layers": 40}
HUNYUAN |= {"rope_theta": 256.0, "rope_axes_dim": (16, 56, 56)}
COG: dict[str, Any] = {"num_attention_heads": 30, "attention_head_dim": 64, "num_layers": 30}
COG_VIDEO = _row(
    only_if(flagged("use_rotary_positional_embeddings"), _by_head("interleaved", FRAMES, _by_eighths)),
    only_if(
        flagged("use_rotary_positional_embeddings", False),
        fixed("sinusoidal", "input", "sines of frame, height and width; learned where use_learned_positional_embeddings"),
    ),
    **COG,
    use_rotary_positional_embeddings=False,
)
LTX_NAMED = fixed(
    "rope3d",
    "queries and keys",
    "fractions of time, height and width turn all channels of the stream, pair by pair, with pi / 2 times powers of the base",
)
WAN_LIKE = _row(_by_head("interleaved", FRAMES, _by_sixths), **WAN)

ROWS: dict[str, Family] = {
    **_alike("FluxTransformer2DModel ChromaTransformer2DModel", _row(_flux(), single=True, **FLUX)),
    "LongCatImageTransformer2DModel": _row(_flux(), single=True, **FLUX),
    "OvisImageTransformer2DModel": _row(_flux(), single=True, **{**FLUX, "num_layers": 6, "num_single_layers": 27}),
    **_alike(
        "BriaTransformer2DModel BriaFiboTransformer2DModel", _row(_flux(base=None), single=True, **FLUX, rope_theta=10000)
    ),
    "Flux2Transformer2DModel": _row(
        _flux(base=None, axes=(*FRAMES, "order")),
        single=True,
        num_layers=8,
        num_single_layers=48,
        attention_head_dim=128,
        num_attention_heads=48,
        axes_dims_rope=(32, 32, 32, 32),
        rope_theta=2000,
    ),
    "Flux3Transformer2DModel": _row(
        _flux(base=None, axes=(*FRAMES, "order")),
        single=True,
        num_layers=5,
        num_single_layers=28,
        attention_head_dim=128,
        num_attention_heads=24,
        axes_dims_rope=(32, 32, 32, 32),
        rope_theta=10000,
    ),
    "Krea2Transformer2DModel": _row(
        _flux(base=None),
        num_layers=28,
        attention_head_dim=128,
        num_attention_heads=48,
        num_key_value_heads=12,
        axes_dims_rope=(32, 48, 48),
        rope_theta=1000.0,
    ),
    "QwenImageTransformer2DModel": _row(
        _flux(), num_layers=60, attention_head_dim=128, num_attention_heads=24, axes_dims_rope=(16, 56, 56)
    ),
    "QwenImage21Transformer2DModel": _row(
        _flux(), num_layers=32, attention_head_dim=128, num_attention_heads=32, axes_dims_rope=(16, 56, 56)
    ),
    "NucleusMoEImageTransformer2DModel": _row(
        _flux(), num_layers=24, attention_head_dim=128, num_attention_heads=16, axes_dims_rope=(16, 56, 56)
    ),
    "HiDreamImageTransformer2DModel": _row(
        _flux(axes=IMAGE),
        single=True,
        num_layers=16,
        num_single_layers=32,
        attention_head_dim=128,
        num_attention_heads=20,
        axes_dims_rope=(32, 32),
    ),
    "Lumina2Transformer2DModel": _row(
        _flux(), hidden_size=2304, num_layers=26, num_attention_heads=24, num_kv_heads=8, axes_dim_rope=(32, 32, 32)
    ),
    "ZImageTransformer2DModel": _row(
        _flux(base=None), dim=3840, n_layers=30, n_heads=30, n_kv_heads=30, rope_theta=256.0, axes_dims=(32, 48, 48)
    ),
    "BriaFibo2Transformer2DModel": _row(
        _flux(base=None), dim=3584, n_layers=44, n_heads=28, rope_theta=256.0, axes_dims=(32, 48, 48)
    ),
    "PRXTransformer2DModel": _row(
        rope_by_axes("interleaved", IMAGE, sizes=("axes_dim",), base=("theta",)),
        hidden_size=1792,
        num_heads=28,
        depth=16,
        theta=10000,
        axes_dim=(32, 32),
    ),
    **_alike(
        "WanTransformer3DModel WanVACETransformer3DModel WanAnimateTransformer3DModel ChronoEditTransformer3DModel "
        "AnyFlowTransformer3DModel",
        WAN_LIKE,
    ),
    "SkyReelsV2Transformer3DModel": _row(
        _by_head("interleaved", FRAMES, _by_sixths), num_attention_heads=16, attention_head_dim=128, num_layers=32
    ),
    "SanaVideoTransformer3DModel": _row(
        _by_head("interleaved", FRAMES, _by_sixths), num_attention_heads=20, attention_head_dim=112, num_layers=20
    ),
    "HeliosTransformer3DModel": _row(
        _hunyuan(), num_attention_heads=40, attention_head_dim=128, num_layers=40, rope_dim=(44, 42, 42), rope_theta=10000.0
    ),
    **_alike(
        "HunyuanVideoTransformer3DModel HunyuanVideoFramepackTransformer3DModel MotifVideoTransformer3DModel",
        _row(_hunyuan(), single=True, **HUNYUAN),
    ),
    "HunyuanVideo15Transformer3DModel": _row(
        _hunyuan(),
        num_attention_heads=16,
        attention_head_dim=128,
        num_layers=54,
        rope_theta=256.0,
        rope_axes_dim=(16, 56, 56),
    ),
    "HunyuanImageTransformer2DModel": _row(
        _hunyuan(IMAGE), single=True, **{**HUNYUAN, "num_attention_heads": 28, "rope_axes_dim": (64, 64)}
    ),
    **_alike(
        "JoyImageEditTransformer3DModel JoyImageEditPlusTransformer3DModel",
        _row(_hunyuan(), hidden_size=3072, num_attention_heads=24, num_layers=20, rope_dim_list=(16, 56, 56), theta=256),
    ),
    "CosmosTransformer3DModel": _row(
        _stretched(_by_head("half", FRAMES, _by_sixths)),
        only_if(
            lambda group: group.section.text("extra_pos_embed_type").value == "learnable",
            fixed("learned", "input", "tables of frames, rows and columns, summed and normalised (max_size)"),
        ),
        num_attention_heads=32,
        attention_head_dim=128,
        num_layers=28,
        rope_scale=[2.0, 1.0, 1.0],
        extra_pos_embed_type="learnable",
    ),
    "CogView4Transformer2DModel": _row(
        _by_head("half", IMAGE, _halves), num_layers=30, attention_head_dim=40, num_attention_heads=64
    ),
    "GlmImageTransformer2DModel": _row(
        _by_head("half", IMAGE, _halves), num_layers=30, attention_head_dim=40, num_attention_heads=64
    ),
    "HunyuanDiT2DModel": _row(
        _by_head("interleaved", IMAGE, _halves), num_layers=28, attention_head_dim=88, num_attention_heads=16
    ),
    **_alike("CogVideoXTransformer3DModel ConsisIDTransformer3DModel", COG_VIDEO),
    "EasyAnimateTransformer3DModel": _row(
        _by_head("interleaved", FRAMES, _by_eighths), num_attention_heads=48, attention_head_dim=64, num_layers=48
    ),
    "AllegroTransformer3DModel": _row(
        _thirds,
        num_attention_heads=24,
        attention_head_dim=96,
        num_layers=32,
        interpolation_scale_t=2.2,
        interpolation_scale_h=2.0,
        interpolation_scale_w=2.0,
    ),
    "LTXVideoTransformer3DModel": _row(_fractions, num_attention_heads=32, attention_head_dim=64, num_layers=28),
    "LTX2VideoTransformer3DModel": _row(LTX_NAMED, num_attention_heads=32, attention_head_dim=128, num_layers=48),
    "MochiTransformer3DModel": _row(
        fixed(
            "rope3d", "queries and keys", "frequencies of each axis, head and pair are learned: they stand among the weights"
        ),
        num_attention_heads=24,
        attention_head_dim=128,
        num_layers=48,
    ),
    "Kandinsky5Transformer3DModel": _row(
        rope_by_axes("interleaved", FRAMES, sizes=("axes_dims",), fixed_base=10000.0),
        attention=_heads_of_axes,
        model_dim=2048,
        num_visual_blocks=32,
        axes_dims=(16, 24, 24),
    ),
    "Kandinsky6Transformer3DModel": _row(
        rope_by_axes("interleaved", FRAMES, sizes=("axes_dims",), fixed_base=10000.0),
        attention=_heads_of_axes,
        model_dim=4096,
        num_visual_blocks=60,
        axes_dims=(32, 48, 48),
    ),
    "AnyFlowFARTransformer3DModel": WAN_LIKE,
    "WanAnimate2Transformer3DModel": _row(_by_head("interleaved", FRAMES, _by_sixths), dim=5120, num_heads=40, num_layers=40),
    "MiniMaxH3Transformer3DModel": _row(
        rope_by_axes("half", FRAMES, split=lambda head_dim: (32, 32, 32)),
        num_attention_heads=56,
        attention_head_dim=128,
        hidden_size=5376,
        num_layers=50,
        rope_theta=10000.0,
    ),
    "MiniMaxMusic3Transformer1DModel": _row(
        rope(RotaryRule("half", count=("rotary_dim",), fixed_base=10000.0)),
        num_layers=36,
        num_attention_heads=32,
        attention_head_dim=64,
        rotary_dim=32,
    ),
    "ErnieImageTransformer2DModel": _row(
        fixed("rope3d", "queries and keys", "each frequency stands twice in a row, and halves turn: a pair gets two angles"),
        hidden_size=3072,
        num_attention_heads=24,
        num_layers=24,
        rope_theta=256,
        rope_axes_dim=(32, 48, 48),
    ),
    "Ideogram4Transformer2DModel": _row(
        _in_turn("mrope_section"),
        num_layers=34,
        attention_head_dim=256,
        num_attention_heads=18,
        rope_theta=5_000_000,
        mrope_section=(24, 20, 20),
    ),
    "Cosmos3OmniTransformer": _row(
        _in_turn("rope_axes_dim"),
        layers=("num_hidden_layers",),
        head_dim=128,
        hidden_size=4096,
        num_attention_heads=32,
        num_hidden_layers=36,
        num_key_value_heads=8,
        rope_theta=5000000.0,
        rope_axes_dim=(24, 20, 20),
    ),
    "AceStepTransformer1DModel": _row(
        rope(RotaryRule("half")),
        layers=("num_hidden_layers",),
        pattern=by_index(lambda index, count: "full_attention" if index % 2 else "sliding_attention"),
        window_of=lambda keys: 2 * keys + 1,
        hidden_size=2048,
        num_hidden_layers=24,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        rope_theta=1000000.0,
        sliding_window=128,
    ),
    "LongCatAudioDiTTransformer": _row(rope(RotaryRule("half", fixed_base=100000.0)), dit_dim=1536, dit_depth=24, dit_heads=24),
    "StableAudio3DiTModel": _row(
        rope(RotaryRule("half", share=0.5, fixed_base=10000.0)), embed_dim=1536, depth=24, num_heads=24
    ),
    "PriorTransformer": _row(
        learned("num_embeddings"), num_attention_heads=32, attention_head_dim=64, num_layers=20, num_embeddings=77
    ),
    "LuminaNextDiT2DModel": _row(
        fixed(
            "rope2d", "queries and keys", "half of the head for each of height and width, with factors that the pipeline picks"
        ),
        hidden_size=2304,
        num_layers=32,
        num_attention_heads=32,
    ),
    "StableAudioDiTModel": _row(
        rope(RotaryRule("half", share=0.5, fixed_base=10000.0)),
        num_layers=24,
        attention_head_dim=64,
        num_attention_heads=24,
        num_key_value_attention_heads=12,
    ),
    "OmniGenTransformer2DModel": _row(
        rope(RotaryRule("half")),
        fixed("sinusoidal", "input", "image patches: sines of height and width"),
        hidden_size=3072,
        num_attention_heads=32,
        num_key_value_heads=32,
        num_layers=32,
        rope_base=10000,
        rope_theta=10000,
    ),
    # no rotation
    "SD3Transformer2DModel": _row(SINES, num_layers=18, attention_head_dim=64, num_attention_heads=18),
    "PixArtTransformer2DModel": _row(SINES, num_layers=28, attention_head_dim=72, num_attention_heads=16),
    "DiTTransformer2DModel": _row(SINES, num_layers=28, attention_head_dim=72, num_attention_heads=16),
    "LatteTransformer3DModel": _row(
        SINES,
        fixed("sinusoidal", "input", "sines of the frame"),
        num_layers=1,
        attention_head_dim=88,
        num_attention_heads=16,
    ),
    "CogView3PlusTransformer2DModel": _row(SINES, num_layers=30, attention_head_dim=40, num_attention_heads=64),
    "SanaTransformer2DModel": _row(
        only_if(lambda group: group.section.has("interpolation_scale"), SINES),
        only_if(
            lambda group: not group.section.has("interpolation_scale"),
            fixed("none", "nowhere", "no position encoding: depthwise convolutions in the feed-forward layers tell neighbours"),
        ),
        num_layers=20,
        attention_head_dim=32,
        num_attention_heads=70,
    ),
    "AuraFlowTransformer2DModel": _row(
        learned("pos_embed_max_size"),
        single=True,
        num_mmdit_layers=4,
        num_single_dit_layers=32,
        attention_head_dim=256,
        num_attention_heads=12,
        pos_embed_max_size=1024,
    ),
}
DIFFUSION = {name: replace(row, origin=f"{name} in diffusers 0.42.1") for name, row in ROWS.items()}
"""By class."""
