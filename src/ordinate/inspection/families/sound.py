"""Towers that hear: convolutions over neighbours, relative terms, sinusoids of Whisper's kind.

Rows were read in the modeling files of transformers 5.24.
"""

from __future__ import annotations

from ordinate.inspection.families.encoders import DECODER_HEADS, ENCODER_HEADS, ENCODER_LAYERS, flagged, named, only_if
from ordinate.inspection.families.perception import NO_HEADS, tower
from ordinate.inspection.reader.heads import multi_head
from ordinate.inspection.reader.input_encodings import convolution, fixed, learned, sinusoidal
from ordinate.inspection.reader.layer_kinds import all_windowed
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, Reader, Stack
from ordinate.inspection.reader.score_encodings import buckets, disentangled, image_bias, shaw, transformer_xl

__all__ = ["SOUND"]


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


HEARD = tower(convolution(), name="audio")
WHISPER_ENCODER = tower(
    sinusoidal("half", "tensor2tensor", limit=("max_source_positions",)),
    name="audio",
    attention=multi_head(ENCODER_HEADS),
    layers=ENCODER_LAYERS,
)
RELATIVE = fixed("transformer-xl", "scores", "sinusoids of the distance, projected and met by queries")
CLIPPED = fixed("shaw", "scores", "a learned vector for each clipped distance inside a block")
MOONSHINE = RotaryRule("interleaved", share=0.9)

SEAMLESS_TEXT = tuple(
    Stack(
        (sinusoidal("half", "tensor2tensor", offset=1, limit=(f"{prefix}max_position_embeddings",)),),
        f"{prefix.replace('_', ' ')}{side}",
        attention=multi_head((f"{prefix}{side}_attention_heads",)),
        layers=(f"{prefix}{side}_layers",),
        causal=side == "decoder" and not prefix,
    )
    for prefix in ("", "t2u_")
    for side in ("encoder", "decoder")
)
"""Text in, text out, and from text to units of speech; positions count from the padding's index, 0, plus one."""


def _seamless_speech(*readers: Reader) -> Stack:
    heads = multi_head(("speech_encoder_attention_heads",))
    return Stack(readers, "speech encoder", attention=heads, layers=("speech_encoder_layers",), claimed=())


SOUND: dict[str, Family] = {
    **_alike("granite_speech_encoder granite_speech_plus_encoder", tower(CLIPPED, name="audio")),
    **_alike("gemma3n_audio gemma4_audio nemotron_asr_streaming_encoder", tower(RELATIVE, name="audio")),
    "moonshine": Family(
        tuple(
            Stack(
                (rope(MOONSHINE),),
                side,
                attention=multi_head(
                    (f"{side}_num_attention_heads",), (f"{side}_num_key_value_heads",), head_dim=("head_dim",)
                ),
                layers=(f"{side}_num_hidden_layers",),
                causal=side == "decoder",
            )
            for side in ("encoder", "decoder")
        ),
        name="speech",
    ),
    "moonshine_streaming": Family(
        (Stack((rope(RotaryRule("interleaved", share=0.8)),), attention=multi_head(), causal=True),), name="speech"
    ),
    "omniasr_audio": HEARD,
    **_alike("moss_transcribe_diarize_audio", WHISPER_ENCODER),
    **_alike("wav2vec2 hubert unispeech unispeech-sat sew", HEARD),
    "data2vec-audio": tower(fixed("conv", "input", "a stack of grouped convolutions (conv_pos_kernel_size)"), name="audio"),
    "wavlm": tower(
        convolution(),
        buckets(bidirectional=True, count=("num_buckets",), distance=("max_bucket_distance",)),
        name="audio",
    ),
    "sew-d": tower(convolution(), disentangled(when=flagged("relative_attention")), name="audio"),
    "wav2vec2-conformer": tower(
        transformer_xl("interleaved", when=named("relative", key="position_embeddings_type", default="relative")),
        only_if(named("rotary", key="position_embeddings_type", default="relative"), rope(RotaryRule("half"))),
        name="audio",
    ),
    "wav2vec2-bert": tower(
        shaw(
            left=("left_max_position_embeddings",),
            right=("right_max_position_embeddings",),
            when=named("relative_key", key="position_embeddings_type", default="relative_key"),
        ),
        transformer_xl("interleaved", when=named("relative", key="position_embeddings_type", default="relative_key")),
        only_if(named("rotary", key="position_embeddings_type", default="relative_key"), rope(RotaryRule("half"))),
        name="audio",
    ),
    **_alike("parakeet_encoder", tower(transformer_xl("interleaved"), name="audio")),
    "vits": tower(shaw(reach=("window_size",), values=True), name="text"),
    "whisper": Family(
        (
            Stack(
                (sinusoidal("half", "tensor2tensor", limit=("max_source_positions",)),),
                "encoder",
                attention=multi_head(ENCODER_HEADS),
                layers=("encoder_layers",),
                claimed=("max_source_positions",),
            ),
            Stack(
                (learned("max_target_positions"),),
                "decoder",
                attention=multi_head(DECODER_HEADS),
                layers=("decoder_layers",),
                claimed=("max_target_positions",),
                causal=True,
            ),
        ),
        name="speech",
    ),
    **_alike(
        "qwen2_5_omni_audio_encoder qwen3_omni_moe_audio_encoder qwen2_audio_encoder audioflamingo3_encoder voxtral_encoder",
        WHISPER_ENCODER,
    ),
    **_alike("voxtral_realtime_encoder", tower(rope(RotaryRule("half")), name="audio", pattern=all_windowed)),
    "qwen3_asr_encoder": WHISPER_ENCODER,
    "audio-spectrogram-transformer": tower(
        fixed("learned", "input", "a learned table over the patches of the spectrogram, after two class tokens"), name="audio"
    ),
    "timesfm": tower(sinusoidal("half", "tensor2tensor"), name="time series"),
    "patchtst": tower(
        fixed("sinusoidal", "input", "sines over patches, or a random table where positional_encoding_type says so"),
        name="time series",
        layers=("num_hidden_layers",),
    ),
    "patchtsmixer": tower(
        only_if(
            flagged("use_positional_encoding"),
            fixed("sinusoidal", "input", "sines over patches, or a random table where positional_encoding_type says so"),
        ),
        only_if(flagged("use_positional_encoding", False), fixed("none", "nowhere", "patches are mixed by fixed matrices")),
        name="time series",
        layers=("num_layers",),
    ),
    "seamless_m4t": Family(
        (
            _seamless_speech(
                transformer_xl("interleaved", when=named("relative", key="position_embeddings_type", default="relative")),
                only_if(named("rotary", key="position_embeddings_type", default="relative"), rope(RotaryRule("half"))),
            ),
            *SEAMLESS_TEXT,
        ),
        name="speech",
    ),
    "seamless_m4t_v2": Family(
        (
            _seamless_speech(
                shaw(
                    left=("left_max_position_embeddings",),
                    right=("right_max_position_embeddings",),
                    when=named("relative_key", key="position_embeddings_type", default="relative_key"),
                ),
            ),
            *SEAMLESS_TEXT,
        ),
        name="speech",
    ),
    "clap_audio_model": tower(
        image_bias(), name="audio", hidden=("patch_embeds_hidden_size", "hidden_size"), layers=(), attention=NO_HEADS
    ),
    "fastspeech2_conformer": Family(
        tuple(
            Stack(
                (transformer_xl("interleaved"),),
                side,
                attention=multi_head((f"{side}_num_attention_heads",)),
                layers=(f"{side}_layers",),
                claimed=(),
            )
            for side in ("encoder", "decoder")
        ),
        name="speech",
    ),
    "fun_asr_nano_encoder": tower(
        fixed(
            "sinusoidal",
            "input",
            "sines of the frame, counted from 1, over num_mel_bins x num_stacked_frames channels; in each layer a depthwise "
            "convolution over fsmn_kernel_size neighbours beside attention",
        ),
        name="audio",
    ),
    "granite_speech5_encoder": tower(
        fixed("shaw", "scores", "a learned vector for each distance inside a block, clipped at context_size"), name="audio"
    ),
    "moonshine_streaming_encoder": tower(
        fixed("none", "nowhere", "no position encoding: a window for each layer (sliding_windows) and convolutions before it"),
        name="audio",
    ),
    "phi4_multimodal_audio": tower(
        fixed("learned", "scores", "a number for each head and distance, clipped at bias_max_distance, shared by all layers"),
        name="audio",
        layers=("num_blocks",),
    ),
}
