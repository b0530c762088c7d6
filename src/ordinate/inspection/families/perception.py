"""Towers that see and hear: tables of patches, rotations by two axes, convolutions, relative terms.

Rows were read in the modeling files of transformers 5.24. Image towers in the style of Qwen2-VL give each axis a schedule of
its own over half of the head (`dim // 2` channels, theta 10000); Pixtral deals the pairs of one schedule out in turn.
"""

from __future__ import annotations

from typing import Any

from ordinate.inspection.families.encoders import (
    DECODER_HEADS,
    DECODER_LAYERS,
    ENCODER_HEADS,
    ENCODER_LAYERS,
    flagged,
    only_if,
)
from ordinate.inspection.reader.heads import multi_head
from ordinate.inspection.reader.input_encodings import fixed, image_table, learned_axes
from ordinate.inspection.reader.layer_kinds import at_indices
from ordinate.inspection.reader.rotary import RotaryRule, rope
from ordinate.inspection.reader.row_types import Family, Reader, Stack
from ordinate.inspection.reader.score_encodings import image_bias

__all__ = ["PERCEPTION"]


def tower(*readers: Reader, name: str = "vision", **stack: Any) -> Family:
    """One stack without tokens in a row."""
    stack.setdefault("attention", multi_head())
    stack.setdefault("claimed", ())
    return Family((Stack(readers, **stack),), name=name)


def _alike(names: str, family: Family) -> dict[str, Family]:
    return dict.fromkeys(names.split(), family)


def _axial(layout: str = "half", **rule: Any) -> Reader:
    return rope(RotaryRule(layout, axes=("height", "width"), sharing="ladder each", sections=False, partial=(), **rule))


TABLE, TABLE_1, TABLE_2 = (tower(image_table(prefix=prefix)) for prefix in (0, 1, 2))
AXIAL = tower(_axial())
QWEN_WINDOWS = tower(_axial(), pattern=at_indices("fullatt_block_indexes", "full_attention", "window_attention"))
NO_HEADS = multi_head(heads=(), kv_heads=(), head_dim=(), derive_head_dim=False)
NO_POSITIONS = tower(
    fixed("none", "nowhere", "convolutions see neighbours: no position encoding"),
    layers=(),
    hidden=(),
    attention=NO_HEADS,
)
GRID = fixed("learned", "input", "a learned table over a grid that the code resizes")
UNPLACED = fixed("none", "nowhere", "no position encoding of its own")
QUERIES = fixed("learned", "queries and keys", "learned object queries in the decoder")
SINES = fixed("sinusoidal", "queries and keys", "sines of height and width, added to the queries and keys of the encoder")

PERCEPTION: dict[str, Family] = {
    **_alike(
        "vit dinov2 dinov2_with_registers clip_vision_model blip_vision_model blip_2_vision_model git_vision_model "
        "chinese_clip_vision_model altclip_vision_model bridgetower_vision_model clipseg_vision_model "
        "metaclip_2_vision_model owlvit_vision_model owlv2_vision_model xclip_vision_model kosmos_2_vision_model "
        "instructblip_vision_model instructblipvideo_vision_model vit_msn flava_image_model idefics_vision dpt "
        "unlimited_ocr_vision_encoder clip_vision",
        TABLE_1,
    ),
    **_alike(
        "siglip_vision_model idefics2_vision idefics3_vision smolvlm_vision ijepa phi4_multimodal_vision janus_vision_model "
        "ovis2_vision minicpmv4_6_vision minicpmv4_7_vision minicpm_ocr_vision siglip_vision groupvit_vision_model",
        TABLE,
    ),
    **_alike("glm_image_vision hunyuan_vl_vision hy_v4_vl_vision granite_docling_vision", TABLE),
    **_alike("cosmos3_edge_vision", tower(image_table(rows=("num_patches",)))),
    "molmo2_vision": tower(image_table(rows=("num_position_embeddings",))),
    **_alike(
        "radio kosmos_2_5_vision_model videoprism_vision_model tipsv2_vision_model rf_detr_dinov2 seggpt vitdet lw_detr_vit "
        "vitpose_backbone pixio eomt videomt timesformer vivit yolos mgp-str",
        tower(GRID),
    ),
    **_alike("hiera sam2_hiera_det_model", tower(GRID, layers=(), attention=NO_HEADS)),
    **_alike("videomae vit_mae", tower(fixed("sinusoidal", "input", "sines of the patch's place, computed"))),
    "deit": TABLE_2,
    "siglip2_vision_model": tower(image_table(rows=("num_patches",))),
    **_alike(
        "internvl_vision qianfan_ocr_vision", tower(image_table(prefix=1, when=flagged("use_absolute_position_embeddings")))
    ),
    "aimv2_vision_model": tower(
        image_table(when=flagged("is_native", False)),
        only_if(flagged("is_native"), fixed("sinusoidal", "input", "sines of height and width")),
    ),
    **_alike(
        "beit data2vec-vision",
        tower(
            image_table(prefix=1, when=flagged("use_absolute_position_embeddings")),
            fixed("learned", "scores", "a learned bias for each displacement where use_(shared_)relative_position_bias"),
        ),
    ),
    "mllama_vision_model": tower(
        fixed("learned", "input", "gated tables of tiles and of patches within a tile"), layers=("num_hidden_layers",)
    ),
    # rotations by two axes
    **_alike(
        "video_llama_3_vision mlcd mlcd_vision_model glm_ocr_vision ernie4_5_vl_moe_vision",
        AXIAL,
    ),
    "qwen2_vl_vision": tower(_axial(), hidden=("embed_dim",)),
    **_alike("qwen2_5_vl_vision qwen2_5_omni_vision_encoder exaone4_5_vision", QWEN_WINDOWS),
    **_alike(
        "qwen3_vl_vision qwen3_vl_moe_vision qwen3_5_vision qwen3_5_moe_vision qwen3_omni_moe_vision_encoder",
        tower(_axial(), image_table(rows=("num_position_embeddings",))),
    ),
    **_alike("glm4v_vision glm4v_moe_vision", tower(_axial(), image_table())),
    "qwen4_exp_vision": tower(_axial(), image_table(rows=("num_position_embeddings",))),
    **_alike("cohere_compass_vision", tower(_axial(), image_table(rows=("num_position_embeddings",)))),
    **_alike("dots3_note_vision_encoder glm5_next_vision lfm3_vl_vision", AXIAL),
    **_alike("sam3_vit_model", tower(_axial("interleaved"), image_table(image=("pretrain_image_size",)))),
    **_alike("paddleocr_vl_vision", tower(_axial(), image_table())),
    **_alike("kimi_k25_vision muse_glimmer_vision muse_spark_vision step3p5_vision", tower(_axial(), GRID)),
    "inkling2_vision": tower(_axial("interleaved"), GRID),
    "moonvit": tower(_axial("interleaved", fixed_base=10000.0), GRID),
    "minimax_m3_vl_vision": tower(fixed("rope3d", "queries and keys", "a schedule each for frame, height and width")),
    "pixtral": tower(
        rope(RotaryRule("half", axes=("height", "width"), sharing="alternating", sections=False, partial=())),
    ),
    "llama4_vision_model": tower(
        fixed("rope2d", "queries and keys", "complex rotation by two axes over half of the head each"), image_table(prefix=1)
    ),
    **_alike("dinov3_vit sapiens2 eomt_dinov3", tower(_axial(turns=True))),
    "gemma4_vision": tower(_axial(), fixed("learned", "input", "learned tables of both axes (position_embedding_size)")),
    "vjepa2": tower(
        fixed("rope3d", "queries and keys", "a schedule each for frame, height and width, from code"), name="video"
    ),
    # displacements and windows
    **_alike(
        "swin maskformer-swin donut-swin",
        tower(
            image_bias(),
            hidden=("hidden_size", "embed_dim"),
            layers=(),
            attention=NO_HEADS,
        ),
    ),
    **_alike(
        "swinv2 swin2sr",
        tower(
            fixed("learned", "scores", "a small network of the logarithm of displacements (continuous bias)"),
            layers=(),
            attention=NO_HEADS,
        ),
    ),
    **_alike(
        "sam_vision_model sam_hq_vision_model got_ocr2_vision deepseek_ocr2_sam_vision_model unlimited_ocr_sam_vision_model "
        "pp_chart2table_vision pp_formulanet_vision slanext_vision",
        tower(
            image_table(when=lambda group: group.section.flag("use_abs_pos").value is not False),
            fixed("learned", "scores", "a learned vector for each displacement in height and in width, met by queries"),
        ),
    ),
    # detectors
    **_alike(
        "detr table-transformer conditional_detr deformable_detr",
        Family(
            (
                Stack((SINES,), "encoder", attention=multi_head(ENCODER_HEADS), layers=ENCODER_LAYERS),
                Stack((QUERIES,), "decoder", attention=multi_head(DECODER_HEADS), layers=DECODER_LAYERS),
            ),
            name="vision",
        ),
    ),
    # networks of convolutions
    **_alike(
        "resnet regnet convnext convnextv2 bit efficientnet mobilenet_v1 mobilenet_v2 dinov3_convnext hgnet_v2 poolformer "
        "focalnet swiftformer rt_detr_resnet superpoint textnet dac encodec univnet "
        "pp_lcnet pp_lcnet_v3 pp_lcnet_v4 uvdoc uvdoc_backbone speecht5_hifigan fastspeech2_conformer_hifigan segformer "
        "qwen2_5_omni_bigvgan glpn cvt pvt_v2 mobilevit mobilevitv2 align_vision_model apertus1p5_vision_tokenizer "
        "chameleon_vqgan emu3_vqgan janus_vqgan glm_image_vqmodel flava_image_codebook muse_spark_audio sapiens2_head "
        "vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_encoder vibevoice_acoustic_tokenizer_decoder wavtokenizer "
        "wavtokenizer_encoder",
        NO_POSITIONS,
    ),
    "levit": tower(
        fixed("learned", "scores", "a learned bias for each displacement, in each stage"),
        layers=(),
        hidden=(),
        attention=NO_HEADS,
    ),
    "pvt": tower(fixed("learned", "input", "a learned table in each stage"), layers=(), hidden=(), attention=NO_HEADS),
    "dinat": tower(
        fixed("learned", "scores", "a learned bias for each displacement inside a neighbourhood"),
        layers=(),
        hidden=("embed_dim",),
        attention=NO_HEADS,
    ),
    **_alike(
        "sam_prompt_encoder sam_hq_prompt_encoder sam2_prompt_encoder sam2_video_prompt_encoder edgetam_prompt_encoder "
        "edgetam_video_prompt_encoder sam3_tracker_prompt_encoder sam3_tracker_video_prompt_encoder",
        tower(fixed("fourier", "input", "sines of random projections of a point's coordinates"), layers=(), attention=NO_HEADS),
    ),
    **_alike(
        "sam_mask_decoder sam_hq_mask_decoder sam2_mask_decoder sam2_video_mask_decoder edgetam_mask_decoder "
        "edgetam_video_mask_decoder sam3_tracker_mask_decoder sam3_tracker_video_mask_decoder",
        tower(fixed("fourier", "queries and keys", "the encodings of prompts and image join queries and keys in each layer")),
    ),
    **_alike("sam3_detr_encoder sam3_lite_text_detr_encoder", tower(SINES)),
    **_alike(
        "sam3_detr_decoder sam3_lite_text_detr_decoder",
        tower(
            fixed("sinusoidal", "queries and keys", "sines of each query's box, through a small network"),
            fixed("learned", "scores", "a small network of the logarithm of displacements from the edges of each query's box"),
        ),
    ),
    **_alike(
        "sam3_geometry_encoder sam3_lite_text_geometry_encoder",
        tower(fixed("sinusoidal", "input", "sines of the box's centre, before a projection")),
    ),
    **_alike("sam3_mask_decoder sam3_lite_text_mask_decoder", tower(UNPLACED, layers=())),
    **_alike("flava_multimodal_model molmo2_adapter vibevoice_diffusion", tower(UNPLACED)),
    **_alike("gemma4_unified_audio inkling_audio", tower(UNPLACED, layers=(), hidden=(), attention=NO_HEADS)),
    "inkling_vision": tower(
        fixed("none", "nowhere", "patches are folded into channels, layer by layer: no position encoding"), attention=NO_HEADS
    ),
    **_alike(
        "idefics2_perceiver idefics_perciever",
        tower(
            UNPLACED,
            layers=("resampler_depth",),
            attention=multi_head(("resampler_n_heads",), head_dim=("resampler_head_dim",)),
        ),
    ),
    "gemma4_unified_vision": tower(
        learned_axes("mm_posemb_size", note="a table for each axis, the two rows of a patch summed"),
        layers=(),
        hidden=("mm_embed_dim",),
        attention=NO_HEADS,
    ),
    "pix2struct_vision_model": tower(learned_axes("seq_len", note="tables of rows and columns of patches, summed")),
    "florence_vision": tower(
        fixed("conv", "input", "depthwise convolutions between the stages tell neighbours"),
        learned_axes("max_position_embeddings", note="tables of rows and columns, half of the channels each"),
        fixed("sinusoidal", "input", "sines of the frame (max_temporal_embeddings)"),
        layers=(),
        hidden=(),
        attention=NO_HEADS,
    ),
    "efficientloftr": tower(
        fixed(
            "rope2d",
            "queries and keys",
            "the whole stream turns in pairs before it is split into heads, by row and column in turn; partial_rotary_factor "
            "(4) times the width of a head gives the frequencies",
        ),
        layers=("num_attention_layers",),
    ),
    **_alike(
        "timm_backbone timm_wrapper",
        Family(unknown="timm builds the network that the file names (backbone, architecture); its code is not transformers'"),
    ),
    "gemma3n_vision": Family(unknown="timm builds the network that `architecture` names; its code is not transformers'"),
}
