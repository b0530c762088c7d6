"""The checks, a function for each kind of subject: what it takes, what it is compared with, and how it is diagnosed."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from ordinate.arguments import check_choice, renamed_argument
from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.frequencies import Scaling
from ordinate.position.token_families import TOKEN_FAMILIES, TokenFamily
from ordinate.verify.adapters.attention import AttentionSubject, adapt_attention
from ordinate.verify.adapters.bias import BiasSubject, adapt_bias
from ordinate.verify.adapters.calling import Call, Callee
from ordinate.verify.adapters.decoder import DecoderSettings, adapt_decoder
from ordinate.verify.adapters.embedding import EmbeddingSubject, adapt_embedding
from ordinate.verify.adapters.onnx import is_onnx, onnx_function
from ordinate.verify.adapters.rotary import RotarySubject, adapt_rotary
from ordinate.verify.checker import Checker
from ordinate.verify.faults import (
    ATTENTION_FAULTS,
    BIAS_FAULTS,
    BUCKET_FAULTS,
    DECODER_FAULTS,
    EMBEDDING_FAULTS,
    POSITION_FAULTS,
    ROTARY_FAULTS,
)
from ordinate.verify.faults.rotary import on_both, turn
from ordinate.verify.limits import TimeLimitExceeded
from ordinate.verify.observation import Result, observe
from ordinate.verify.properties.attention import ATTENTION
from ordinate.verify.properties.axial import AXIAL, Grid, adapt_axial
from ordinate.verify.properties.bias import BIAS, BUCKETS
from ordinate.verify.properties.decoder import DECODER
from ordinate.verify.properties.embedding import EMBEDDING, EmbeddingCase, identify_arrangement
from ordinate.verify.properties.positions import (
    BUILDERS,
    Asked,
    PositionsForm,
    PositionsSettings,
    PositionsSubject,
    adapt_positions,
)
from ordinate.verify.properties.rotary import ON_DEVICE, ROTARY, RotaryCase, matrices, measured, same_far_out
from ordinate.verify.references.attention import AttentionSettings
from ordinate.verify.references.biases import BiasSettings
from ordinate.verify.references.rotation import Layout, RotarySettings
from ordinate.verify.references.sinusoids import EmbeddingSettings
from ordinate.verify.verdict import Verdict

__all__ = [
    "CHECKERS",
    "check_attention",
    "check_axial",
    "check_bias",
    "check_decoder",
    "check_embedding",
    "check_positions",
    "check_rotary",
]

# how each kind is diagnosed ---------------------------------------------------------------------------------------------


def _rotary_case(subject: RotarySubject, settings: RotarySettings) -> RotaryCase:
    identified = None
    if not subject.no_answer:
        try:
            _, identified = measured(subject, RotaryCase.of(settings, None))
        except (Exception, TimeLimitExceeded):
            identified = None
    return RotaryCase.of(settings, identified)


def _rotary_variants(subject: RotarySubject, case: RotaryCase) -> Iterator[RotarySettings]:
    """Layouts and directions that a fault may have: those identified, or all where a fault may have hidden them."""
    identified = subject.measured[1] if subject.measured else None
    layouts: list[Layout] = ["half", "interleaved"]
    signs = [1, -1]
    if identified is not None and identified.layout:
        layouts = [case.known.layout_or_half]
        at_zero = matrices(subject.measured[0], case.stated)[0]
        still = bool((at_zero - at_zero.diagonal().diag()).abs().max() < 1e-3)  # else angles do not tell the direction
        signs = [case.known.sign] if still and not identified.mixed_signs else signs
    for layout in layouts:
        for sign in signs:
            yield case.known.replace(layout=layout, sign=sign)


def _rotary_by_settings(subject: RotarySubject, case: RotaryCase, results: Sequence[Result]) -> list[str]:
    right = RotarySubject.from_fault(on_both(lambda x, steps: turn(x, steps, case.known)), case.known, like=subject)
    asked = [one.asked for one in results if one.asked.id in ("layout", "prefill-equals-decode")]
    return [one.id for one in asked if observe(one, right, case).status == "failed"]


def _embedding_case(subject: EmbeddingSubject, settings: EmbeddingSettings) -> EmbeddingCase:
    try:
        known = settings.arrangements()[0] if subject.no_answer else identify_arrangement(subject, settings)
    except (Exception, TimeLimitExceeded):
        known = settings.arrangements()[0]
    return EmbeddingCase(settings, known)


def _embedding_variants(subject: EmbeddingSubject, case: EmbeddingCase) -> list[EmbeddingSettings]:
    """The arrangement identified, and the others that fit what was stated: a fault may have hidden it."""
    others = [option.replace(scale=case.stated.scale or 1.0) for option in case.stated.arrangements()]
    return [case.known, *(option for option in others if option != case.known)][:4]


def _embedding_identified(subject: EmbeddingSubject, case: EmbeddingCase) -> dict[str, Any]:
    known = case.known
    if not case.stated.rule:
        return {}
    return {"layout": known.layout, "schedule": known.schedule, "sines_first": known.sines_first, "scale": known.scale}


def _builder_from_fault(wrong: Any, asked: Asked, subject: PositionsSubject) -> PositionsSubject:
    """A known fault takes the values by role."""
    roles = subject.form.call.roles
    return PositionsSubject(Callee(wrong), PositionsForm(Call(roles, roles), asked.builds), subject.settings)


_REFUSABLE = (
    "distance-alone",
    "prefill-equals-decode",
    "offsets",
    "left-padding",
    "packing",
    "far-positions",
    "half-precision",
    "module-cast",
)

CHECKERS = {
    "rotary": Checker(
        "rotary",
        ROTARY,
        ROTARY_FAULTS,
        RotarySubject.from_fault,
        case=_rotary_case,
        variants=_rotary_variants,
        may_refuse=lambda case: _REFUSABLE if case.trained is not None else (),
        by_settings=_rotary_by_settings,
        confirm=same_far_out,
        on_device=ON_DEVICE,
        essential={"linear": "it is no rotation, which turns a sum as the sum of what it turns"},
        identified=lambda subject, case: subject.measured[1].to_dict(case.stated.rotary_dim) if subject.measured else {},
        # numbers that are none resemble nothing
        can_diagnose=lambda subject: subject.measured is None or bool(subject.measured[0].isfinite().all()),
    ),
    "bias": Checker(
        "bias",
        BIAS,
        BIAS_FAULTS,
        BiasSubject.from_fault,
        identified=lambda subject, settings: {"rule": settings.rule, "gives": subject.form.returns},
    ),
    "buckets": Checker(
        "bias",
        BUCKETS,
        BUCKET_FAULTS,
        BiasSubject.from_fault,
        identified=lambda subject, settings: {"rule": settings.rule, "gives": subject.form.returns},
    ),
    "embedding": Checker(
        "embedding",
        EMBEDDING,
        EMBEDDING_FAULTS,
        EmbeddingSubject.from_fault,
        case=_embedding_case,
        variants=_embedding_variants,
        identified=_embedding_identified,
    ),
    "attention": Checker(
        "attention",
        ATTENTION,
        ATTENTION_FAULTS,
        AttentionSubject.from_fault,
        identified=lambda subject, settings: {"encoding": settings.encoding},
    ),
    "decoder": Checker(
        "decoder",
        DECODER,
        DECODER_FAULTS,
        lambda misused, _, subject: misused,
        variants=lambda subject, settings: (subject,),
    ),
    "axial": Checker("axial", AXIAL),
    **{
        builds: Checker(
            "positions",
            properties,
            POSITION_FAULTS,
            _builder_from_fault,
            variants=lambda subject, settings: (Asked(subject.form.builds, settings.family),),
            identified=lambda subject, settings: {"builds from": subject.form.builds},
        )
        for builds, properties in BUILDERS.items()
    },
}
"""How each kind is checked; "buckets" are biases that return their numbers, builders stand by what they build from."""


def _qualified_name(subject: Any) -> str:
    """`module:qualified.name` of a function or of an object's class."""
    thing = subject if hasattr(subject, "__qualname__") else type(subject)
    return f"{thing.__module__}:{thing.__qualname__}"


def _check(
    kind: str, subject: Any, adapt: Callable[..., Any], settings: Any, name: str | None, asked: dict[str, Any], **how: Any
) -> Verdict:
    started = time.perf_counter()
    if is_onnx(subject):
        if how["device"] != "cpu":
            raise ArgumentError("device", expected="cpu for an ONNX model", got=how["device"])
        name = name or (str(subject) if isinstance(subject, str | Path) else subject.graph.name or "an ONNX model")
        subject, how["arrays"] = onnx_function(subject), "numpy"
        rows = subject.table_rows
        if rows is not None and isinstance(settings, RotarySettings) and rows < settings.positions:
            settings = settings.replace(positions=rows)
    adapted = _adapted(adapt, subject, settings, how)
    if kind == "bias" and adapted.form.returns == "buckets":
        kind = "buckets"
    if kind == "positions":
        kind = adapted.form.builds
    verdict = CHECKERS[kind].verdict(adapted, settings, name or _qualified_name(subject), **asked)
    return replace(verdict, wall_seconds=time.perf_counter() - started)


def _adapted(adapt: Callable[..., Any], subject: Any, settings: Any, how: dict[str, Any]) -> Any:
    """The adapted subject: with arrays "auto" those of the first library that it answers, on the meta device as on the CPU."""
    if how["device"] == "meta":
        adapted = adapt(subject, settings, **{**how, "device": "cpu"})
        callee = adapted.callee.fresh()
        if callee.module is not None:
            callee = callee.with_owner(callee.module.to("meta"))
        callee.device = torch.device("meta")
        x = torch.zeros(2, 2, device="meta")
        torch.cat((x * x.double().cos(), x[:, :1].to(torch.bfloat16)), -1)  # torch's own imports are not the subject's time
        return adapted.calling(callee)
    if how["arrays"] != "auto":
        return adapt(subject, settings, **how)
    refused: ArgumentError | None = None
    silent: Any = None
    for library in ("dlpack", "numpy", *(("jax",) if importlib.util.find_spec("jax") else ())):
        try:
            adapted = adapt(subject, settings, **{**how, "arrays": library})
        except ArgumentError as error:
            refused = refused or error
            continue
        if not adapted.no_answer and not (library != "jax" and "jax" in adapted.callee.libraries):
            return adapted  # what answers other arrays with JAX arrays is asked with JAX arrays, which know no float64
        silent = silent or adapted
    if silent is None and refused is not None:
        raise refused
    return silent


# the checks -------------------------------------------------------------------------------------------------------------


def check_rotary(
    subject: Any,
    *,
    head_dim: int = 64,
    rotary_dim: int | None = None,
    base: float | None = 10000.0,
    layout: Layout | None = None,
    scaling: Scaling | None = None,
    rotated_channels: Literal["first", "last"] = "first",
    num_heads: int = 4,
    angles: Literal["float32", "float64"] = "float32",
    positions: int = 131_072,
    order: str | None = None,
    takes: str | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Check a rotary position embedding against what its mathematics promises, and name the fault where it breaks.

    Args:
        subject: a function of (x, positions), (x, offset), (x), the same for query and key, with cos and sin (full or half
            width), stacked, packed, complex tables or angles; a module that does so, or that returns tables; an object with
            `rotate`; `FILE.onnx`, `FILE.onnx:NODE` or an ONNX model in memory. How to call it is found out by its parameters'
            names and by trying.
        head_dim: channels D of a head.
        rotary_dim: how many channels turn; by default all.
        base: of the frequency schedule; None takes the one that is identified.
        layout: "half", "interleaved", or None where any will do: it is then identified.
        scaling: a record of `ordinate.frequencies`.
        rotated_channels: "first" or "last", where not all turn.
        num_heads: heads of the probes.
        angles: "float32" allows angles formed in float32 the error that they must have; "float64" does not.
        positions: the farthest position to look at.
        order: the subject's axes, such as "BTHD"; by default found out.
        takes: "positions", "offset", "nothing" or "tables"; by default found out.
        only: ids of the properties to look at; by default all.
        skip: ids of properties to leave out, such as "compile", which takes the longest.
        strict_storage: whether storage that casts or an empty device spoil is a failure like wrong mathematics.
        arrays: what the subject takes and returns: "torch" tensors, "numpy" or "jax" arrays, "dlpack" for torch tensors to any
            array with `__dlpack__`, "auto" for the first of these that it answers.
        device: where it runs, such as "cuda" or "mps"; results are compared on the CPU. "meta" looks at shapes and dtypes.
        seconds: time limit of one call of the subject.
        name: what to call it.

    Returns:
        A verdict: `.passed`, every property with its outcome, causes, what was assumed.

    Raises:
        ArgumentTypeError: nothing that can be called.
        ArgumentError: settings that make no sense; no adapter fits (the message shows what was tried); an unknown property.
        UnknownNameError: a layout, rule or encoding that there is not.

    >>> from ordinate.position import Rotary
    >>> check_rotary(Rotary(16, layout="half"), head_dim=16, only=["layout", "frequencies", "offsets"]).passed
    True
    """
    settings = RotarySettings.checked(
        head_dim,
        rotary_dim,
        base=base,
        layout=layout,
        scaling=scaling,
        rotated_channels=rotated_channels,
        num_heads=num_heads,
        angles=angles,
        positions=positions,
    )
    asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
    return _check(
        "rotary",
        subject,
        adapt_rotary,
        settings,
        name,
        asked,
        order=order,
        takes=takes,
        seconds=seconds,
        arrays=arrays,
        device=device,
    )


def check_bias(
    subject: Any,
    *,
    num_heads: int = 8,
    rule: Literal["alibi", "t5"] | None = "alibi",
    slopes: Literal["reference", "geometric"] = "reference",
    causal: bool = True,
    symmetric: bool = False,
    num_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Check a position bias; it is compared through softmax, so a constant per row is no fault.

    Args:
        subject: a function of (query_positions, key_positions), (query_length, key_length), (length), (num_heads, length),
            (attention_mask, num_heads, dtype), of distances (buckets), or of the number of heads alone (slopes).
        num_heads: query heads.
        rule: "alibi", "t5", or None for the properties that every bias has.
        slopes: ALiBi's rule where the number of heads is no power of two.
        causal: whether keys ahead of a query are hidden.
        symmetric: ALiBi by the absolute distance.
        num_buckets, max_distance, bidirectional: T5's.
        only, skip, strict_storage, arrays, device, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError, ArgumentError, UnknownNameError: as `check_rotary`.

    >>> from ordinate.position import ALiBi
    >>> check_bias(ALiBi(8), num_heads=8).passed
    True
    """
    settings = BiasSettings.checked(
        num_heads=num_heads,
        rule=rule,
        slopes=slopes,
        causal=causal,
        symmetric=symmetric,
        num_buckets=num_buckets,
        max_distance=max_distance,
        bidirectional=bidirectional,
    )
    asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
    return _check("bias", subject, adapt_bias, settings, name, asked, seconds=seconds, arrays=arrays, device=device)


def check_embedding(
    subject: Any,
    *,
    dim: int = 64,
    rule: Literal["sinusoidal"] | None = "sinusoidal",
    base: float = 10000.0,
    layout: Literal["interleaved", "half"] | None = None,
    schedule: Literal["vaswani", "tensor2tensor"] | None = None,
    scale: float | None = None,
    positions: int = 5000,
    order: str | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 10.0,
    name: str | None = None,
    **renamed: Any,
) -> Verdict:
    """Check a position embedding; which arrangement of sines and cosines it has is identified where it is not stated.

    Args:
        subject: a function of positions, of a length (and a width), of the embeddings it is added to, perhaps with an offset.
        dim: channels D.
        rule: "sinusoidal", or None for a learned table.
        base: of the frequency schedule.
        layout: "interleaved" or "half"; None takes what is identified.
        schedule: of the frequencies, "vaswani" or "tensor2tensor"; None takes what is identified.
        scale: a factor on all values; None takes what is identified.
        positions: how many it can tell apart.
        order: "BTD" or "TBD", the axes of the embeddings; by default found out.
        only, skip, strict_storage, arrays, device, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError, ArgumentError, UnknownNameError: as `check_rotary`.

    >>> from ordinate.position import Sinusoidal
    >>> check_embedding(Sinusoidal(16), dim=16).passed
    True
    """
    schedule = renamed_argument("schedule", schedule, renamed, "ladder")
    settings = EmbeddingSettings.checked(
        dim=dim, rule=rule, base=base, layout=layout, schedule=schedule, scale=scale, positions=positions
    )
    asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
    return _check(
        "embedding", subject, adapt_embedding, settings, name, asked, order=order, seconds=seconds, arrays=arrays, device=device
    )


def check_attention(
    subject: Any,
    *,
    num_heads: int = 4,
    num_kv_heads: int | None = None,
    head_dim: int = 16,
    causal: bool = True,
    encoding: Literal["rotary", "alibi", "none"] | None = None,
    layout: Literal["half", "interleaved"] = "half",
    base: float = 10000.0,
    window_keys: int | None = None,
    scale: float | None = None,
    order: str | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Check attention: causality, order, shared heads, decoding, padding, neighbours.

    Args:
        subject: a function of (q, k, v), perhaps with positions (one row, or those of queries and of keys), an offset, a mask
            of keys (1 for real ones), `causal`. It applies its own encoding and its own causal mask.
        num_heads, num_kv_heads, head_dim: H, G (by default H) and D.
        causal: whether keys ahead are hidden.
        encoding: "rotary", "alibi" or "none": then the output is compared with the formula; None compares with no formula.
        layout, base: of the rotation.
        window_keys: keys that a query sees, itself included.
        scale: factor on products, by default 1 / sqrt(D).
        order: "BHTD" or "BTHD"; by default found out.
        only, skip, strict_storage, arrays, device, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError, ArgumentError, UnknownNameError: as `check_rotary`.

    >>> from torch.nn.functional import scaled_dot_product_attention as sdpa
    >>> check_attention(lambda q, k, v: sdpa(q, k, v, is_causal=True), encoding="none", only=["causality"]).passed
    True
    """
    settings = AttentionSettings.checked(
        num_heads=num_heads,
        num_kv_heads=num_kv_heads or num_heads,
        head_dim=head_dim,
        causal=causal,
        encoding=encoding,
        layout=layout,
        base=base,
        window_keys=window_keys,
        scale=scale,
    )
    asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
    return _check(
        "attention", subject, adapt_attention, settings, name, asked, order=order, seconds=seconds, arrays=arrays, device=device
    )


def check_decoder(
    subject: Any,
    *,
    vocabulary: int = 64,
    tokens: int = 12,
    long: int = 40,
    allowed: float = 2e-3,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 30.0,
    name: str | None = None,
) -> Verdict:
    """Check a decoder: causality, order, padding, and that it decodes what it prefills.

    Args:
        subject: a function or module of tokens [B, T], perhaps with `position_ids`, `attention_mask` and a cache
            (`past_key_values` or `cache`, as transformers has them); it returns logits, or an object with `logits`.
        vocabulary: token ids that may be used.
        tokens, long: lengths of an ordinary and of a long row; let `long` pass the trained context of a dynamic scaling.
        allowed: difference allowed, relative to the largest logit: several layers of float32, not one rounding.
        only, skip, strict_storage, arrays, device, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError, ArgumentError: as `check_rotary`.

    >>> import torch
    >>> embed = torch.nn.Embedding(64, 8)
    >>> check_decoder(lambda tokens: embed(tokens).cumsum(1), only=["causality", "order-matters"]).failed[0].id
    'order-matters'
    """
    settings = DecoderSettings(vocabulary, tokens, long, allowed)
    training = subject.training if isinstance(subject, nn.Module) else False
    if isinstance(subject, nn.Module):
        subject.eval()
    try:
        asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
        return _check("decoder", subject, adapt_decoder, settings, name, asked, seconds=seconds, arrays=arrays, device=device)
    finally:
        if isinstance(subject, nn.Module):
            subject.train(training)


def check_axial(
    subject: Callable[..., Any],
    *,
    size: Sequence[int] = (4, 5),
    normalised: bool = False,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    strict_storage: bool = False,
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    device: str = "cpu",
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Check a maker of tables for grids: offsets, and independence from earlier calls.

    Args:
        subject: a function (size) or (size, offset), both tuples, to a table [*size, ...], [patches, ...], or several of them.
        size: the grid of the probes, each side another.
        normalised: whether coordinates are shares of the grid's size, so that a part of a larger grid is something else.
        only, skip, strict_storage, arrays, device, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError: nothing that can be called.

    >>> import torch
    >>> grid = lambda size, offset=(0, 0): torch.stack(torch.meshgrid(
    ...     torch.arange(size[0]) + offset[0], torch.arange(size[1]) + offset[1], indexing="ij"), -1)
    >>> check_axial(grid).passed
    True
    """
    grid = Grid(tuple(size), not normalised)
    asked = {"only": only, "skip": skip, "strict_storage": strict_storage}
    return _check("axial", subject, adapt_axial, grid, name, asked, seconds=seconds, arrays=arrays, device=device)


def check_positions(
    subject: Any,
    *,
    family: str | TokenFamily | None = None,
    merge: int | None = None,
    only: Sequence[str] | None = None,
    skip: Sequence[str] = (),
    arrays: Literal["torch", "dlpack", "numpy", "jax", "auto"] = "torch",
    seconds: float = 10.0,
    name: str | None = None,
) -> Verdict:
    """Check a builder of positions: from a mask, documents, behind a cache, for shards, of a grid, from tokens and grids.

    Args:
        subject: a function whose parameters' names say what it builds from: `attention_mask` [B, T]; packed documents as
            `lengths`, `cu_seqlens` or `document_ids` [B, T]; `past_length` and `length`; `length`, `lengths` or `input_ids`
            with `rank` and `world_size` (the last returns tokens and positions); `height` and `width`; or `input_ids` [B, T]
            with `image_grid_thw` [N, 3], and perhaps `video_grid_thw`, `mm_token_type_ids` (0 text, 1 image, 2 video),
            `second_per_grid_ts`, `audio_seqlens`, `use_audio_in_video`, `attention_mask`, `document_ids`, `start`, as
            transformers' `get_rope_index` has them.
        family: whose rows such a builder takes, a name of `ordinate.position.indices.TOKEN_FAMILIES` or a `TokenFamily`; None
            reads it off the config of the model that the builder is a method of, or else takes "qwen2-vl".
        merge: patches of each side of an image that become one token; None takes the family's.
        only, skip, arrays, seconds, name: as in `check_rotary`.

    Raises:
        ArgumentTypeError: nothing that can be called.
        ArgumentError: parameters whose names do not say what it builds from.
        UnknownNameError: an unknown family.

    >>> check_positions(lambda attention_mask: (attention_mask.cumsum(-1) - 1).clamp_min(0)).passed
    True
    """
    asked = {"only": only, "skip": skip}
    chosen = _family_of(subject) if family is None else family
    if isinstance(chosen, str):
        check_choice("family", chosen, tuple(TOKEN_FAMILIES))
        chosen = TOKEN_FAMILIES[chosen]
    settings = PositionsSettings(chosen if merge is None else replace(chosen, spatial_merge=merge))
    return _check("positions", subject, adapt_positions, settings, name, asked, seconds=seconds, arrays=arrays, device="cpu")


def _family_of(subject: Any) -> str | TokenFamily:
    """The family of the model that a method belongs to."""
    config: Any = getattr(getattr(subject, "__self__", None), "config", None)
    try:
        return TokenFamily.from_config(config.to_dict() if hasattr(config, "to_dict") else dict(config or {}))
    except (UnknownNameError, TypeError, ValueError):
        return "qwen2-vl"
