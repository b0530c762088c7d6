"""The libraries that are installed beside this one, checked in the same way: what it finds is reported, not judged.

transformers, rotary-embedding-torch, x-transformers, timm and positional-encodings, at whatever version is installed, and this
package's own encodings: the rows that have to be clean.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import logging
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from ordinate.errors import MissingExtraError
from ordinate.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from ordinate.position import ALiBi, Rotary, Sinusoidal, T5Bias, indices
from ordinate.verify.checks import (
    check_attention,
    check_axial,
    check_bias,
    check_decoder,
    check_embedding,
    check_positions,
    check_rotary,
)
from ordinate.verify.model import check_model
from ordinate.verify.observation import describe_error
from ordinate.verify.properties.rotary import ROTARY
from ordinate.verify.verdict import Outcome, Verdict

__all__ = ["PEERS", "PeerRow", "check_peers", "rope_index", "rows_of", "table_of", "timm_layers"]

# transformers -----------------------------------------------------------------------------------------------------------

TINY = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
DYNAMIC = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}


def _modeling(family: str, name: str) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{family}.modeling_{family}"), name)


def _config(family: str, name: str, **settings: Any) -> Any:
    return getattr(importlib.import_module(f"transformers.models.{family}.configuration_{family}"), name)(**settings)


def _rotation(scaling: Scaling | None = None, trained: int = 4096, parameters: dict[str, Any] | None = None) -> Verdict:
    rope = {"rope_type": "default", "rope_theta": 10000.0, **(parameters or {})}
    config = _config("llama", "LlamaConfig", head_dim=64, max_position_embeddings=trained, rope_parameters=rope)
    module = _modeling("llama", "LlamaRotaryEmbedding")(config)
    return check_rotary(module, scaling=scaling, layout="half", name="transformers:LlamaRotaryEmbedding")


def _longrope() -> Verdict:
    short, long = [1.0 + 0.01 * pair for pair in range(32)], [1.5 + 0.1 * pair for pair in range(32)]
    rope = {
        "rope_type": "longrope",
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": 128,
        "factor": 4.0,
    }
    return _rotation(LongRoPE(tuple(short), tuple(long), 128, 512), 512, rope)


def _scaled_up(model: nn.Module) -> nn.Module:
    """Weights large enough that positions show in the logits of a model that was never trained."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(8)
    return model


def _llama(**settings: Any) -> nn.Module:
    torch.manual_seed(0)
    return _scaled_up(_modeling("llama", "LlamaForCausalLM")(_config("llama", "LlamaConfig", **{**TINY, **settings})))


def _edited() -> Verdict:
    model = _llama()
    model.config.rope_parameters = {"rope_type": "linear", "factor": 8.0, "rope_theta": 10000.0}  # type: ignore[union-attr]
    return check_model(model, behaviour=False)


def _gpt2() -> nn.Module:
    torch.manual_seed(0)
    config = _config("gpt2", "GPT2Config", vocab_size=64, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    return _scaled_up(_modeling("gpt2", "GPT2LMHeadModel")(config))


def _bloom() -> nn.Module:
    torch.manual_seed(0)
    config = _config("bloom", "BloomConfig", vocab_size=64, hidden_size=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2)
    return _scaled_up(_modeling("bloom", "BloomForCausalLM")(config))


def _gemma() -> nn.Module:
    torch.manual_seed(0)
    config = _config("gemma3", "Gemma3TextConfig", **{**TINY, "num_hidden_layers": 6, "head_dim": 16})
    model: nn.Module = _modeling("gemma3", "Gemma3ForCausalLM")(config)
    return model


_BUILDERS = {
    "qwen2-vl": ("qwen2_vl", "Qwen2VLModel", "Qwen2VLConfig"),
    "qwen2.5-vl": ("qwen2_5_vl", "Qwen2_5_VLModel", "Qwen2_5_VLConfig"),
    "qwen3-vl": ("qwen3_vl", "Qwen3VLModel", "Qwen3VLConfig"),
    "qwen3.5": ("qwen3_5", "Qwen3_5Model", "Qwen3_5Config"),
    "glm-4v": ("glm4v", "Glm4vModel", "Glm4vConfig"),
    "ernie-vl": ("ernie4_5_vl_moe", "Ernie4_5_VLMoeModel", "Ernie4_5_VLMoeConfig"),
    "qwen2.5-omni": ("qwen2_5_omni", "Qwen2_5OmniThinkerForConditionalGeneration", "Qwen2_5OmniThinkerConfig"),
    "qwen3-omni": ("qwen3_omni_moe", "Qwen3OmniMoeThinkerForConditionalGeneration", "Qwen3OmniMoeThinkerConfig"),
}


def rope_index(family: str) -> Any:
    """transformers' `get_rope_index` of a family of `ordinate.position.indices.TOKEN_FAMILIES`, of a model without weights."""
    folder, model, config = _BUILDERS[family]
    empty = object.__new__(_modeling(folder, model))
    opens = {"vision_start_token_id": 151652} if family.endswith("omni") else {}  # in the released configs, no default
    settings = _config(folder, config, **opens)
    empty.__dict__.update(config=settings, spatial_merge_size=settings.vision_config.spatial_merge_size)
    return empty.get_rope_index


def _t5_buckets() -> Verdict:
    return check_bias(_modeling("t5", "T5Attention")._relative_position_bucket, rule="t5")


LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}

_CASES: list[tuple[str, Callable[[], Verdict]]] = [
    ("LlamaRotaryEmbedding", _rotation),
    ("LlamaRotaryEmbedding, linear", lambda: _rotation(Linear(4.0), parameters={"rope_type": "linear", "factor": 4.0})),
    ("LlamaRotaryEmbedding, dynamic", lambda: _rotation(DynamicNTK(2.0, 128), 128, DYNAMIC)),
    ("LlamaRotaryEmbedding, longrope", _longrope),
    ("LlamaRotaryEmbedding, yarn", lambda: _rotation(YaRN(4.0, 4096), 16_384, YARN)),
    ("LlamaRotaryEmbedding, llama3", lambda: _rotation(Llama3(8.0, 1.0, 4.0, 8192), 131_072, LLAMA3)),
    ("llama apply_rotary_pos_emb", lambda: check_rotary(_modeling("llama", "apply_rotary_pos_emb"), layout="half")),
    ("cohere apply_rotary_pos_emb", lambda: check_rotary(_modeling("cohere", "apply_rotary_pos_emb"), layout="interleaved")),
    ("gptj apply_rotary_pos_emb", lambda: check_rotary(_modeling("gptj", "apply_rotary_pos_emb"), layout="interleaved")),
    ("bloom build_alibi_tensor", lambda: check_bias(_modeling("bloom", "build_alibi_tensor"))),
    ("bloom build_alibi_tensor, 12 heads", lambda: check_bias(_modeling("bloom", "build_alibi_tensor"), num_heads=12)),
    ("mpt build_mpt_alibi_tensor, 12 heads", lambda: check_bias(_modeling("mpt", "build_mpt_alibi_tensor"), num_heads=12)),
    ("t5 buckets", _t5_buckets),
    ("whisper sinusoids", lambda: check_embedding(_modeling("whisper", "sinusoids"))),
    *((f"{name} get_rope_index", lambda name=name: check_positions(rope_index(name))) for name in _BUILDERS),
    ("Llama, a small model", lambda: check_model(_llama(), vocabulary=64)),
    ("Llama, dynamic, logits", lambda: check_decoder(_llama(max_position_embeddings=16, rope_parameters=dict(DYNAMIC)))),
    ("Llama, config edited after loading", _edited),
    ("Llama after .bfloat16()", lambda: check_model(_llama().bfloat16(), behaviour=False)),
    ("Gemma 3, a small model", lambda: check_model(_gemma(), behaviour=False)),
    ("GPT-2, a small model", lambda: check_model(_gpt2(), vocabulary=64)),
    ("Bloom, a small model", lambda: check_model(_bloom(), vocabulary=64)),
]

TRANSFORMERS = [("transformers", subject, check) for subject, check in _CASES]


# other libraries --------------------------------------------------------------------------------------------------------


def _rotary_embedding(dim: int = 64, **settings: Any) -> Any:
    return importlib.import_module("rotary_embedding_torch").RotaryEmbedding(dim, **settings)


class _AxialFrequencies(nn.Module):
    """rotary-embedding-torch's frequencies of a grid, as a module so that it can be copied."""

    def __init__(self) -> None:
        super().__init__()
        self.rotary = _rotary_embedding(16)

    def forward(self, size: Sequence[int], offset: Sequence[int] | None = None) -> Tensor:
        table: Tensor = self.rotary.get_axial_freqs(*size, offsets=offset)
        return table


class _XPosAttention(nn.Module):
    """Causal attention with rotary-embedding-torch's xPos, prefill and decoding as its README has them."""

    def __init__(self) -> None:
        super().__init__()
        self.rotary = _rotary_embedding(16, use_xpos=True)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        if q.shape[2] == k.shape[2]:
            q, k = self.rotary.rotate_queries_and_keys(q, k)
        else:
            q, k = self.rotary.rotate_queries_with_cached_keys(q, k)
        hidden = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).triu(k.shape[2] - q.shape[2] + 1)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).masked_fill(hidden, float("-inf"))
        return scores.softmax(-1) @ v


def _x(name: str) -> Any:
    return getattr(importlib.import_module("x_transformers.x_transformers"), name)


class _XRotary(nn.Module):
    """x-transformers' rotation, its tables and its application together."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = _x("RotaryEmbedding")(64)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        frequencies, _ = self.tables(positions)
        turned: Tensor = _x("apply_rotary_pos_emb")(x, frequencies)
        return turned


def _x_decoder(**settings: Any) -> nn.Module:
    torch.manual_seed(0)
    layers = _x("Decoder")(dim=32, depth=2, heads=4, attn_dim_head=8, **settings)
    model: nn.Module = _x("TransformerWrapper")(num_tokens=64, max_seq_len=128, attn_layers=layers)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return model


def timm_layers(name: str) -> ModuleType:
    """The module `timm.layers.<name>` without `import timm`, which asks for torchvision even where nothing of it is used.

    Raises:
        MissingExtraError: timm is not installed.
    """
    spec = importlib.util.find_spec("timm")
    if spec is None or spec.origin is None:
        raise MissingExtraError("timm", expected="installed", got="nothing", hint="pip install --no-deps timm")
    before = {known: module for known, module in sys.modules.items() if known.split(".")[0] == "timm"}
    for known in before:
        del sys.modules[known]
    try:
        for package in ("timm", "timm.layers"):
            empty = ModuleType(package)
            empty.__path__ = [str(Path(spec.origin).parent.joinpath(*package.split(".")[1:]))]
            sys.modules[package] = empty
        return importlib.import_module(f"timm.layers.{name}")
    finally:
        for known in [known for known in sys.modules if known.split(".")[0] == "timm"]:
            del sys.modules[known]
        sys.modules.update(before)


class _TimmGrid(nn.Module):
    """timm's axial rotation: sines and cosines of a grid."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.rotary = timm_layers("pos_embed_sincos").RotaryEmbedding(32, **settings)

    def forward(self, size: Sequence[int]) -> tuple[Tensor, Tensor]:
        tables: tuple[Tensor, Tensor] = self.rotary.get_embed(list(size))
        return tables


def _timm_offset(size: Sequence[int], offset: Sequence[int] = (0, 0)) -> Any:
    """timm's grid with its own offset, which it has one of for all axes."""
    layers = timm_layers("pos_embed_sincos")
    if len(set(offset)) != 1:
        larger = layers.build_rotary_pos_embed([s + o for s, o in zip(size, offset, strict=True)], dim=32, in_pixels=False)
        return [t.reshape(*(s + o for s, o in zip(size, offset, strict=True)), -1)[offset[0] :, offset[1] :] for t in larger]
    return layers.build_rotary_pos_embed(list(size), dim=32, in_pixels=False, grid_offset=float(offset[0]))


def _timm_apply(x: Tensor, sin_emb: Tensor, cos_emb: Tensor) -> Tensor:
    turned: Tensor = timm_layers("pos_embed_sincos").apply_rot_embed(x, sin_emb, cos_emb)
    return turned


def _encodings(name: str, *arguments: Any) -> Any:
    return getattr(importlib.import_module("positional_encodings.torch_encodings"), name)(*arguments)


class _Grid2D(nn.Module):
    """positional-encodings' grid, asked with an empty image."""

    def __init__(self) -> None:
        super().__init__()
        self.encoding = _encodings("PositionalEncoding2D", 16)

    def forward(self, size: Sequence[int]) -> Tensor:
        table: Tensor = self.encoding(torch.zeros(1, *size, 16))
        return table[0]


_WITHOUT_OFFSETS = ("answers-in-kind", "every-axis", "nested", "earlier-calls")
_RET, _XT, _PE = "rotary-embedding-torch", "x-transformers", "positional-encodings"

OTHERS: list[tuple[str, str, Callable[[], Verdict]]] = [
    (_RET, "RotaryEmbedding", lambda: check_rotary(_rotary_embedding(), layout="interleaved")),
    (
        _RET,
        "RotaryEmbedding, interpolated",
        lambda: check_rotary(_rotary_embedding(interpolate_factor=2.0), scaling=Linear(2.0), layout="interleaved"),
    ),
    (
        _RET,
        "rotate_queries_with_cached_keys",
        lambda: check_rotary(_rotary_embedding().rotate_queries_with_cached_keys, layout="interleaved"),
    ),
    (_RET, "get_axial_freqs", lambda: check_axial(_AxialFrequencies())),
    (_RET, "xPos in attention", lambda: check_attention(_XPosAttention())),
    (_XT, "RotaryEmbedding", lambda: check_rotary(_XRotary(), layout="interleaved")),
    (_XT, "AlibiPositionalBias, 12 heads", lambda: check_bias(_x("AlibiPositionalBias")(12), num_heads=12)),
    (_XT, "RelativePositionBias", lambda: check_bias(_x("RelativePositionBias")(scale=1.0), rule="t5", causal=False)),
    (_XT, "ScaledSinusoidalEmbedding", lambda: check_embedding(_x("ScaledSinusoidalEmbedding")(64))),
    (_XT, "decoder with rotary", lambda: check_decoder(_x_decoder(rotary_pos_emb=True))),
    (_XT, "decoder with ALiBi", lambda: check_decoder(_x_decoder(alibi_pos_bias=True))),
    (
        "timm",
        "apply_rot_embed",  # uncompiled: the compiler would import all of timm, which asks for torchvision
        lambda: check_rotary(_timm_apply, layout="interleaved", only=[one.id for one in ROTARY if one.id != "compile"]),
    ),
    ("timm", "RotaryEmbedding, index", lambda: check_axial(_TimmGrid(in_pixels=False), only=_WITHOUT_OFFSETS)),
    (
        "timm",
        "RotaryEmbedding, pixel",
        lambda: check_axial(_TimmGrid(), normalised=True),
    ),
    ("timm", "build_rotary_pos_embed, grid_offset", lambda: check_axial(_timm_offset)),
    (_PE, "PositionalEncoding1D", lambda: check_embedding(_encodings("PositionalEncoding1D", 64))),
    (_PE, "Summer", lambda: check_embedding(_encodings("Summer", _encodings("PositionalEncoding1D", 64)))),
    (_PE, "PositionalEncoding2D", lambda: check_axial(_Grid2D(), only=_WITHOUT_OFFSETS)),
]


# this package -----------------------------------------------------------------------------------------------------------

_YARN, _LLAMA3 = YaRN(4.0, 4096), Llama3(8.0, 1.0, 4.0, 8192)


def rows_of(family: str) -> Callable[..., Tensor]:
    """`indices.from_tokens` of a family, with all that a builder of rows can be passed."""

    def build(
        tokens: Tensor, image_grids: Any, video_grids: Any, seconds_per_frame: Any, audio_seqlens: Any,
        use_audio_in_video: bool, mask: Tensor | None = None, documents: Tensor | None = None, start: int = 0,
    ) -> Tensor:  # fmt: skip
        grids = {"image_grids": image_grids, "video_grids": video_grids}
        seconds = seconds_per_frame if len(seconds_per_frame) else None
        return indices.from_tokens(
            tokens, family, **grids, seconds_per_frame=seconds, mask=mask, documents=documents, start=start
        )

    return build


OURS: list[tuple[str, str, Callable[[], Verdict]]] = [
    ("ordinate", "indices.from_mask", lambda: check_positions(lambda attention_mask: indices.from_mask(attention_mask))),
    ("ordinate", "indices.from_lengths", lambda: check_positions(indices.from_lengths)),
    ("ordinate", "indices.from_documents", lambda: check_positions(indices.from_documents)),
    *(
        ("ordinate", f"indices.from_tokens, {name}", lambda name=name: check_positions(rows_of(name), family=name))
        for name in indices.TOKEN_FAMILIES
    ),
    ("ordinate", "Rotary, half", lambda: check_rotary(Rotary(64, layout="half"), layout="half", angles="float64")),
    ("ordinate", "Rotary, interleaved", lambda: check_rotary(Rotary(64, layout="interleaved"), angles="float64")),
    ("ordinate", "Rotary, YaRN", lambda: check_rotary(Rotary(64, layout="half", scaling=_YARN), scaling=_YARN)),
    ("ordinate", "Rotary, Llama 3", lambda: check_rotary(Rotary(64, layout="half", scaling=_LLAMA3), scaling=_LLAMA3)),
    ("ordinate", "Rotary, partial", lambda: check_rotary(Rotary(64, layout="half", rotary_dim=16), rotary_dim=16)),
    ("ordinate", "ALiBi, 12 heads", lambda: check_bias(ALiBi(12), num_heads=12)),
    ("ordinate", "T5Bias", lambda: check_bias(T5Bias(8), rule="t5", causal=False)),
    ("ordinate", "T5Bias.buckets", lambda: check_bias(T5Bias(8).buckets, rule="t5")),
    ("ordinate", "Sinusoidal", lambda: check_embedding(Sinusoidal(64))),
]

PEERS = [*TRANSFORMERS, *OTHERS, *OURS]

# the report -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeerRow:
    """One subject of one library; `verdict` None: it could not be checked, `why` says so."""

    library: str
    version: str
    subject: str
    verdict: Verdict | None
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        verdict = None if self.verdict is None else self.verdict.to_dict()
        return {"library": self.library, "version": self.version, "subject": self.subject, "verdict": verdict, "why": self.why}


def check_peers(progress: Callable[[str], None] = lambda line: None, libraries: Sequence[str] | None = None) -> list[PeerRow]:
    """Every subject of every library that is installed; about a minute.

    Args:
        progress: called with what is checked next.
        libraries: only these, by the name of their distribution.
    """
    rows = []
    for library, subject, check in PEERS:
        if libraries is not None and library not in libraries:
            continue
        try:
            version = metadata.version(library)
        except metadata.PackageNotFoundError:
            rows.append(PeerRow(library, "", subject, None, "not installed"))
            continue
        progress(f"{library} {version}: {subject}")
        try:
            with _quietly():
                verdict = check()
        except Exception as error:
            rows.append(PeerRow(library, version, subject, None, describe_error(error, 200)))
            continue
        rows.append(PeerRow(library, version, subject, verdict))
    return rows


@contextlib.contextmanager
def _quietly() -> Any:
    """Without the libraries' own talk: warnings, progress bars, logs."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def table_of(rows: Sequence[PeerRow]) -> str:
    """The rows as Markdown, with a line for each property that failed: the input, what came back, what is right and why."""
    lines = [
        "# What the verifier finds in installed libraries",
        "",
        "Made by `ordinate verify --peers`, on the versions named. A line is a property that fails: where, what came back, the",
        "right value, and why (the property, then the known fault that gives the same numbers, where there is one). Where one",
        "says `nothing`, every property that applies holds. What a library does on purpose (a rotation that looks at the",
        "length, a default for positions) is reported like anything else: it says what a user has to mind.",
        "",
        "| library | subject | passed | what fails | input, and what comes back | right | why |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        name = f"{row.library} {row.version}".strip()
        if row.verdict is None:
            lines.append(f"| {name} | {row.subject} | | | {_cell(row.why)} | | |")
            continue
        passed = sum(outcome.status == "passed" for outcome in row.verdict.outcomes)
        if not row.verdict.failed:
            lines.append(f"| {name} | {row.subject} | {passed} | nothing | | | |")
        causes = {cause.id: cause.says for cause in row.verdict.causes}
        for outcome in row.verdict.failed:
            came, right = _finding(outcome)
            why = outcome.says + "".join(f"; it equals {causes[cause]}" for cause in outcome.causes[:1])
            lines.append(f"| {name} | {row.subject} | {passed} | {outcome.id} | {_cell(came)} | {right} | {_cell(why)} |")
    return "\n".join(lines) + "\n"


def _finding(outcome: Outcome) -> tuple[str, str]:
    """The input with what came back, and the right value where there is one number of it."""
    example = outcome.counterexample or {}
    if not isinstance(example.get("expected"), int | float):
        return outcome.evidence, ""
    return outcome.evidence.partition(", expected ")[0], f"{example['expected']:.6g}"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
