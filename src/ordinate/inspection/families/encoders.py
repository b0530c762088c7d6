"""Encoders of text, and models with an encoder and a decoder: learned tables, sinusoids, buckets, relative terms.

Rows were read in the modeling files of transformers 5.24. Where a table has more rows than positions can use, the row says how
many are skipped: RoBERTa counts from 2 inside its `max_position_embeddings`, BART adds 2 rows beyond it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ordinate.inspection.reader.heads import HEADS, multi_head
from ordinate.inspection.reader.input_encodings import fixed, learned, learned_axes, sinusoidal
from ordinate.inspection.reader.layer_kinds import nested
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, LayerGroup, Reader, Stack
from ordinate.inspection.reader.score_encodings import alibi, buckets, disentangled, shaw, transformer_xl
from ordinate.inspection.reader.section import Section
from ordinate.inspection.records import Encoding, Value, unknown

__all__ = ["ENCODERS"]

ROWS = ("max_position_embeddings",)
DECODER_HEADS = ("decoder_attention_heads", "num_decoder_attention_heads", "decoder_num_attention_heads", *HEADS)
ENCODER_HEADS = ("encoder_attention_heads", "num_encoder_attention_heads", "encoder_num_attention_heads", *HEADS)
DECODER_KV = ("decoder_num_key_value_heads",)
ENCODER_KV = ("encoder_num_key_value_heads",)
DECODER_LAYERS = ("decoder_layers", "num_decoder_layers", "decoder_num_hidden_layers", "num_layers", "num_hidden_layers")
ENCODER_LAYERS = ("encoder_layers", "num_encoder_layers", "encoder_num_hidden_layers", "num_layers", "num_hidden_layers")
Condition = Callable[[LayerGroup], bool]


def encoder(*readers: Reader, name: str = "text", causal: bool = False, **stack: Any) -> Family:
    """One stack with these encodings."""
    stack.setdefault("attention", multi_head())
    return Family((Stack(readers, causal=causal, **stack),), name=name)


def pair(encoding: tuple[Reader, ...], decoding: tuple[Reader, ...], **stack: Any) -> Family:
    """An encoder and a decoder."""
    sides = (
        Stack(encoding, "encoder", attention=multi_head(ENCODER_HEADS, ENCODER_KV), layers=ENCODER_LAYERS, **stack),
        Stack(
            decoding, "decoder", attention=multi_head(DECODER_HEADS, DECODER_KV), layers=DECODER_LAYERS, causal=True, **stack
        ),
    )
    return Family(sides)


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


def named(*names: str, key: str = "position_embedding_type", default: str = "absolute") -> Condition:
    """Whether the file's (or the family's) name of the encoding is one of `names`."""

    def when(group: LayerGroup) -> bool:
        name = group.section.text(key)
        return (name.value if name.known else default) in names

    return when


def flagged(key: str, wanted: bool = True) -> Condition:
    """Whether a flag of the file (or the family) is as wanted."""

    def when(group: LayerGroup) -> bool:
        return bool(group.section.flag(key).value) is wanted

    return when


def only_if(when: Condition, reader: Reader) -> Reader:
    """`reader` where the condition holds."""
    return lambda group: reader(group) if when(group) else None


def _as_groups(key: str, wanted: bool) -> Callable[[Section], Value | None]:
    def rule(section: Section) -> Value | None:
        flag = section.flag(key)
        return Value(1, flag.source, flag.detail) if flag.known and flag.value is wanted else None

    return rule


def _sinusoids(group: LayerGroup) -> bool:
    return bool(group.section.flag("sinusoidal_pos_embds", "sinusoidal_embeddings").value)


def _clvp(group: LayerGroup) -> Encoding | None:
    """CLVP turns max(projection_dim / (2 heads), 32) channels of queries, keys and values too."""
    width, heads = group.section.width("projection_dim"), group.attention.num_heads
    turned = unknown("projection_dim or the number of heads is unknown")
    if width.known and heads.known:
        formula = f"max({width.value} // (2 x {heads.value}), 32)"
        turned = Value(max(width.value // (2 * heads.value), 32), "derived", formula)
    encoding = rope(RotaryRule("half", fixed_base=10000.0))(group)
    if encoding is None or encoding.rotation is None:
        return encoding
    rotation = replace(encoding.rotation, rotary_dim=turned)
    return replace(encoding, rotation=rotation, spec=None, note="values turn as queries and keys do")


BERT = encoder(
    learned(*ROWS, when=named("absolute", "relative_key", "relative_key_query")),
    shaw(reach=ROWS, less=1, when=named("relative_key", "relative_key_query")),
    alibi(symmetric=True, when=named("alibi")),
    only_if(named("rope", "rotary"), rope(RotaryRule("half"))),
)
ROBERTA = encoder(learned(*ROWS, skipped=2, when=named("absolute", "relative_key", "relative_key_query")))
BART = pair((learned(*ROWS, extra=2, skipped=2),), (learned(*ROWS, extra=2, skipped=2),))
MARIAN = pair((sinusoidal("half", "vaswani", limit=ROWS),), (sinusoidal("half", "vaswani", limit=ROWS),))
M2M = pair(
    (sinusoidal("half", "tensor2tensor", offset=2, limit=ROWS),), (sinusoidal("half", "tensor2tensor", offset=2, limit=ROWS),)
)
T5 = pair(
    (buckets(bidirectional=True),), (buckets(bidirectional=False),), claimed=("chronos_config.context_length", "n_positions")
)
UMT5 = pair(
    (buckets(bidirectional=True, every_layer=True),),
    (buckets(bidirectional=False, every_layer=True),),
    claimed=("n_positions",),
)
DEBERTA = encoder(
    disentangled(when=flagged("relative_attention")),
    learned(*ROWS, when=flagged("position_biased_input")),
)
BINS = fixed("t5-bucket", "scores", "buckets of distances in the text (rel_pos_bins) and between boxes (rel_2d_pos_bins)")
BOXES = learned_axes("max_2d_position_embeddings", note="one table each for x, y, height and width of a token's box")

ENCODERS: dict[str, Family] = {
    **_alike(
        "bert align_text_model blip_text_model bros chinese_clip_text_model clip_text_model clipseg_text_model "
        "megatron-bert mobilebert ernie groupvit_text_model owlvit_text_model owlv2_text_model metaclip_2_text_model "
        "siglip_text_model siglip2_text_model aimv2_text_model splinter tapas roc_bert fnet git flava_text_model "
        "xclip_text_model visual_bert bert-generation big_bird dpr blip_2_qformer instructblip_qformer "
        "instructblipvideo_qformer",
        BERT,
    ),
    **_alike("albert electra convbert squeezebert", encoder(learned(*ROWS, width=("embedding_size",)))),
    "lxmert": encoder(learned(*ROWS), layers=("l_layers",)),
    "rembert": encoder(learned(*ROWS, width=("input_embedding_size",))),
    **_alike(
        "roberta camembert xlm-roberta xlm-roberta-xl xmod data2vec-text roberta-prelayernorm altclip_text_model "
        "bridgetower_text_model clap_text_model ibert longformer luke markuplm",
        ROBERTA,
    ),
    **_alike("mra nystromformer yoso", encoder(learned(*ROWS, extra=2, skipped=2))),
    **_alike(
        "distilbert xlm flaubert",
        encoder(
            learned(*ROWS, when=lambda group: not _sinusoids(group)),
            only_if(lambda group: _sinusoids(group), sinusoidal("interleaved", "vaswani")),
        ),
    ),
    "esm": encoder(learned(*ROWS, skipped=2, when=named("absolute")), only_if(named("rotary"), rope(RotaryRule("half")))),
    "roformer": encoder(rope(RotaryRule("interleaved", fixed_base=10000.0))),
    "mpnet": encoder(
        learned(*ROWS, skipped=2),
        buckets(bidirectional=True, default_distance=128, distance=("relative_attention_max_distance",)),
    ),
    **_alike("layoutlm", encoder(learned(*ROWS), BOXES)),
    "lilt": encoder(learned(*ROWS, skipped=2), BOXES),
    **_alike("layoutlmv2 layoutxlm", encoder(learned(*ROWS), BOXES, BINS)),
    "layoutlmv3": encoder(learned(*ROWS, skipped=2), BOXES, BINS),
    "vilt": encoder(learned(*ROWS), fixed("learned", "input", "image tokens: a table over the patches of image_size")),
    **_alike("deberta deberta-v2", DEBERTA),
    "funnel": encoder(transformer_xl(note="relative sinusoids, shortened with the stream")),
    "xlnet": encoder(transformer_xl("half", note="both directions under attn_type bi; no longest length"), claimed=()),
    "canine": encoder(learned("num_hash_buckets"), claimed=ROWS),
    "reformer": encoder(
        only_if(
            flagged("axial_pos_embds"), learned_axes("max_position_embeddings", note="a table over axes of axial_pos_shape")
        ),
        learned(*ROWS, when=flagged("axial_pos_embds", False)),
    ),
    # decoders with a table
    **_alike(
        "gpt2 gpt-sw3 openai-gpt imagegpt decision_transformer",
        encoder(learned("n_positions", "n_ctx", "max_position_embeddings"), causal=True),
    ),
    "gpt_bigcode": encoder(
        learned("n_positions"), causal=True, attention=multi_head(kv_heads=(), kv_rule=_as_groups("multi_query", True))
    ),
    "gpt_neo": encoder(learned(*ROWS), causal=True, pattern=nested, window=("window_size",)),
    **_alike("opt biogpt", encoder(learned(*ROWS, extra=2, skipped=2), causal=True)),
    "xglm": encoder(
        sinusoidal("half", "tensor2tensor", offset=2, limit=ROWS), causal=True, layers=("num_layers", "num_hidden_layers")
    ),
    "ctrl": encoder(sinusoidal("half", "vaswani", limit=("n_positions",)), causal=True),
    **_alike(
        "kosmos_2_text_model kosmos_2_5_text_model",
        encoder(sinusoidal("half", "tensor2tensor", offset=2, limit=ROWS), causal=True, layers=("layers",)),
    ),
    **_alike("musicgen_decoder musicgen_melody_decoder", encoder(sinusoidal("half", "tensor2tensor", limit=ROWS), causal=True)),
    "bloom": encoder(alibi(), causal=True, claimed=()),
    "mpt": encoder(
        alibi(when=lambda group: group.section.flag("attn_config.alibi").value is not False),
        learned("max_seq_len", when=lambda group: group.section.flag("attn_config.alibi").value is False),
        causal=True,
        claimed=("max_seq_len",),
    ),
    "trocr": encoder(
        learned(*ROWS, extra=2, skipped=2, when=flagged("use_learned_position_embeddings")),
        only_if(flagged("use_learned_position_embeddings", False), sinusoidal("half", "tensor2tensor", offset=2)),
        causal=True,
        layers=("decoder_layers",),
        attention=multi_head(DECODER_HEADS),
    ),
    **_alike("canary_decoder", encoder(sinusoidal("interleaved", "vaswani", limit=ROWS), causal=True)),
    "cpmant": encoder(
        buckets(
            bidirectional=True,
            every_layer=False,
            count=("position_bias_num_buckets",),
            distance=("position_bias_max_distance",),
        ),
        causal=True,
        claimed=("max_length", "max_position_embeddings"),
    ),
    # an encoder and a decoder
    **_alike("bart mbart plbart mvp", BART),
    **_alike("blenderbot blenderbot-small bigbird_pegasus", pair((learned(*ROWS),), (learned(*ROWS),))),
    "led": pair(
        (learned("max_encoder_position_embeddings"),),
        (learned("max_decoder_position_embeddings"),),
        claimed=("max_encoder_position_embeddings",),
    ),
    **_alike("marian pegasus", MARIAN),
    "speech_to_text": pair(
        (sinusoidal("half", "tensor2tensor", offset=2),),
        (sinusoidal("half", "tensor2tensor", offset=2),),
        claimed=("max_source_positions",),
    ),
    "speecht5": pair(
        (
            shaw(reach=("encoder_max_relative_position",)),
            fixed("conv", "input", "speech: a convolution over neighbours and sinusoids; text: scaled sinusoids"),
        ),
        (fixed("sinusoidal", "input", "scaled sinusoids"),),
        claimed=("max_speech_positions",),
    ),
    **_alike(
        "time_series_transformer informer autoformer",
        pair((sinusoidal("half", "vaswani"),), (sinusoidal("half", "vaswani"),), claimed=("context_length",)),
    ),
    "pegasus_x": pair((sinusoidal("half", "tensor2tensor"),), (sinusoidal("half", "tensor2tensor"),)),
    **_alike("m2m_100 nllb-moe", M2M),
    "fsmt": pair((sinusoidal("half", "tensor2tensor", offset=2),), (sinusoidal("half", "tensor2tensor", offset=2),)),
    **_alike("t5 mt5 switch_transformers pop2piano longt5", T5),
    "umt5": UMT5,
    "pix2struct_text_model": encoder(buckets(bidirectional=False), causal=True, claimed=()),
    "udop": pair((buckets(bidirectional=True), BOXES), (buckets(bidirectional=False),), claimed=()),
    "pp_formulanet_text": encoder(
        learned(*ROWS, extra=2, skipped=2), causal=True, layers=("decoder_layers",), attention=multi_head(DECODER_HEADS)
    ),
    "sam3_lite_text_text_model": encoder(learned(*ROWS)),
    "tipsv2_text_model": encoder(sinusoidal("half", "tensor2tensor", limit=ROWS)),
    "videoprism_text_model": encoder(sinusoidal("half", "vaswani", limit=ROWS)),
    "perceiver": encoder(
        learned(*ROWS, width=("d_model",)),
        fixed("fourier", "input", "images, sound and video: Fourier features, or a trainable table, by preprocessor"),
        attention=multi_head(("num_self_attention_heads",)),
        layers=("num_self_attends_per_block",),
        hidden=("d_latents",),
    ),
    "clvp_encoder": encoder(only_if(flagged("use_rotary_embedding"), _clvp), name="text"),
    "clvp_decoder": encoder(learned(*ROWS), causal=True),
    "prophetnet": pair(
        (learned(*ROWS),), (learned(*ROWS), fixed("t5-bucket", "scores", "num_buckets and relative_max_distance, from queries"))
    ),
}
