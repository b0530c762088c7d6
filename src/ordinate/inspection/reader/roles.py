"""Sections of a config that hold stacks of layers of their own, and what their part is called."""

__all__ = ["ROLES"]

ROLES = {
    "text_config": "text",
    "llm_config": "text",
    "llm_cfg": "text",
    "language_config": "text",
    "text_cfg": "text",
    "thinker_config": "text",
    "vlm_config": "text",
    "text_encoder": "text encoder",
    "decoder": "text",
    "decoder_config": "text",
    "generator": "text",
    "vision_config": "vision",
    "vision_cfg": "vision",
    "vision_tower_cfg": "vision",
    "high_res_vision_config": "vision",
    "image_config": "vision",
    "visual": "vision",
    "video_config": "video",
    "backbone_config": "backbone",
    "detector_config": "detector",
    "audio_config": "audio",
    "speech_config": "audio",
    "audio_encoder": "audio",
    "encoder": "encoder",
    "encoder_config": "encoder",
    "talker_config": "talker",
    "code_predictor_config": "code predictor",
    "token2wav_config": "token2wav",
    "code2wav_config": "code2wav",
    "dit_config": "dit",
    "qformer_config": "query former",
    "question_encoder": "question encoder",
}
"""Sections that hold stacks, and what their part is called."""
