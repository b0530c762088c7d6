"""Published cases in `tests/cases/position-cases.json`, each found wrong in some library once, through the public API alone."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
import torch
from torch.testing import assert_close

import ordinate
from ordinate.errors import ArgumentError
from ordinate.frequencies import DynamicNTK, Linear, Llama3, LongRoPE, NTKAware, YaRN, inverse_frequencies
from ordinate.position import ALiBi, Rotary, Sinusoidal, T5Bias, indices
from tests.external import CASES

CASE: dict[str, dict[str, Any]] = {case["id"]: case for case in json.loads((CASES / "position-cases.json").read_text())}
LLAMA = {"model_type": "llama", "hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 2}


def given(name: str) -> dict[str, Any]:
    return CASE[name]["given"]


def expected(name: str) -> Any:
    return CASE[name]["expect"]


@pytest.mark.parametrize("name", ["alibi-slopes-8", "alibi-slopes-12"])
def test_alibi_slopes(name: str) -> None:
    slopes = ALiBi(given(name)["num_heads"]).slopes
    assert slopes.tolist() == pytest.approx(expected(name), rel=1e-7)


def test_alibi_is_minus_slope_times_distance_in_bfloat16_too() -> None:
    bias = ALiBi(1, slopes=[0.5])
    assert bias.bias(torch.tensor([3]), torch.tensor([1])).item() == expected("alibi-sign")
    short = ALiBi(1, slopes=[0.5]).to(torch.bfloat16).bias(torch.tensor([2]), torch.tensor([1, 0]))
    assert short.flatten().tolist() == expected("alibi-bf16")


def test_positions_of_packed_and_padded_rows() -> None:
    cumulative = torch.tensor(given("packed-positions")["cu_seqlens"])
    assert indices.from_cumulative(cumulative).tolist() == expected("packed-positions")
    assert indices.from_mask(torch.tensor(given("left-padding")["mask"])).tolist() == expected("left-padding")


def test_positions_of_text_an_image_and_text() -> None:
    case, result = given("mrope-text-image-text"), expected("mrope-text-image-text")
    positions = indices.multimodal([case["text"], tuple(case["grid"]), case["text_after"]])
    assert positions.T.tolist() == [result["t"], result["h"], result["w"]]


@pytest.mark.parametrize("layout", ["half", "interleaved"])
def test_a_rotation_in_both_layouts(layout: Any) -> None:
    case = given("rotary-layouts")
    x = torch.tensor(case["x"], dtype=torch.float64).reshape(1, 1, 1, 8)
    turned = Rotary(8, layout=layout, base=case["base"]).rotate(x, torch.tensor([case["position"]]))
    assert_close(turned.flatten(), torch.tensor(expected("rotary-layouts")[layout], dtype=torch.float64), rtol=0, atol=1e-9)


def test_tables_far_out_are_those_of_exact_angles() -> None:
    case = given("rotary-far")
    positions = torch.tensor(case["positions"])
    cos, _ = Rotary(case["dim"], layout="half", base=case["base"]).tables(positions)
    for row, position in enumerate(case["positions"]):
        exact = [math.cos(position * case["base"] ** (-2 * pair / case["dim"])) for pair in range(case["dim"] // 2)]
        error = (cos[row, : len(exact)].double() - torch.tensor(exact, dtype=torch.float64)).abs().max()
        assert error <= expected("rotary-far")["max_table_error"]
    assert not torch.equal(cos[-1], cos[-2])


def test_the_base_of_dynamic_ntk_by_length() -> None:
    case = given("ntk-dynamic-base")
    rule = DynamicNTK(case["factor"], case["original_context"])
    for length, base in expected("ntk-dynamic-base").items():
        assert rule.effective_base(case["dim"], case["base"], int(length)) == pytest.approx(base, rel=1e-7)


def test_ntk_aware() -> None:
    case = given("ntk-static")
    last = NTKAware(case["factor"]).inverse_frequencies(case["dim"], case["base"])[63]
    assert last == pytest.approx(expected("ntk-static")["inverse_frequency_63"], rel=1e-7)


def test_yarn() -> None:
    case, result = given("yarn-truncate"), expected("yarn-truncate")
    rule = YaRN(case["factor"], case["original_context"], truncate=case["truncate"])
    values = rule.inverse_frequencies(case["dim"], case["base"])
    assert values[9] == pytest.approx(result["inverse_frequency_9"], rel=1e-7)
    assert values[17] == pytest.approx(result["inverse_frequency_17"], rel=1e-7)
    case, result = given("yarn-qwen"), expected("yarn-qwen")
    values = YaRN(case["factor"], case["original_context"]).inverse_frequencies(case["dim"], case["base"])
    assert values[30] == pytest.approx(result["inverse_frequency_30"], rel=1e-7)
    assert values[39] == pytest.approx(result["inverse_frequency_39"], rel=1e-7)
    for factor, value in zip(given("yarn-attention-factor")["factor"], expected("yarn-attention-factor"), strict=True):
        assert YaRN(factor, 4096).cos_sin_factor == pytest.approx(value, rel=1e-12)
    case, result = given("yarn-mscale-all"), expected("yarn-mscale-all")
    both = YaRN(case["factor"], 4096, mscale=case["mscale"], mscale_all_dim=case["mscale_all_dim"])
    assert both.cos_sin_factor == pytest.approx(result["cos_sin_factor"])
    assert both.softmax_factor == pytest.approx(result["softmax_factor"])


def test_llama3() -> None:
    case, result = given("llama3-8b"), expected("llama3-8b")
    rule = Llama3(case["factor"], case["low_freq_factor"], case["high_freq_factor"], case["original_context"])
    plain = inverse_frequencies(case["dim"], case["base"])
    ratios = [before / after for before, after in zip(plain, rule.inverse_frequencies(case["dim"], case["base"]), strict=True)]
    assert ratios[: result["unchanged"][1] + 1] == pytest.approx([1.0] * 29)
    assert ratios[29:35] == pytest.approx(result["ratios_29_to_34"], rel=1e-6)
    assert ratios[35:] == pytest.approx([8.0] * 29)


def test_longrope_switches_past_the_original_context() -> None:
    case, result = given("longrope-switch"), expected("longrope-switch")
    rule = LongRoPE((1.0,) * 4, (2.0,) * 4, case["original_context"], case["claimed_context"])
    plain = inverse_frequencies(8, 10000.0)
    assert rule.inverse_frequencies(8, 10000.0, result["short_at"]) == pytest.approx(plain)
    assert rule.inverse_frequencies(8, 10000.0, result["long_at"]) == pytest.approx([value / 2 for value in plain])
    assert rule.cos_sin_factor == pytest.approx(result["attention_factor"], rel=1e-12)


def test_gemma_3_has_two_schedules() -> None:
    case, result = given("gemma3-layers"), expected("gemma3-layers")
    far = Linear(case["global_linear"]).inverse_frequencies(case["dim"], case["global_base"])
    assert far[1] == pytest.approx(result["global_inverse_frequency_1"], rel=1e-7)
    near = inverse_frequencies(case["dim"], case["local_base"])
    assert near[1] == pytest.approx(result["local_inverse_frequency_1"], rel=1e-7)


def test_t5_buckets() -> None:
    case = given("t5-bidirectional")
    bias = T5Bias(1, num_buckets=case["num_buckets"], max_distance=case["max_distance"])
    distance = -torch.tensor(case["relative_position_key_minus_query"])
    assert bias.buckets(distance).tolist() == expected("t5-bidirectional")
    with pytest.raises(ArgumentError, match="max_distance"):
        T5Bias(1, **given("t5-bad-range"))


def test_sinusoids() -> None:
    case = given("sinusoid-similarity")
    vectors = Sinusoidal(case["dim"], base=case["base"]).double().encode(torch.arange(80))
    similarity = torch.nn.functional.cosine_similarity(vectors[:1], vectors, dim=-1)
    assert [round(similarity[delta].item(), 4) for delta in case["delta"]] == expected("sinusoid-similarity")
    case = given("sinusoid-odd")
    vector = Sinusoidal(case["dim"]).double().encode(torch.tensor([case["position"]]))[0]
    assert vector.tolist() == pytest.approx(expected("sinusoid-odd"), abs=1e-7)


def test_configs_that_other_readers_take_wrongly() -> None:
    rotation = ordinate.inspect_config(LLAMA | given("theta-and-legacy")).layers[0].rotation
    assert (rotation.base.value, rotation.rule.value) == (1000000.0, "linear")
    assert rotation.settings["factor"].value == 4
    (layer,) = ordinate.inspect_config(LLAMA | given("head-dim-null")).layers
    assert layer.attention.head_dim.value == expected("head-dim-null")
    findings = ordinate.inspect_config(LLAMA | given("yarn-conflict")).findings
    assert any("rope_type" in finding.message and "type" in finding.message for finding in findings)
    for base in given("theta-bad")["rope_theta"]:
        (finding,) = [one for one in ordinate.inspect_config(LLAMA | {"rope_theta": base}).findings if one.severity == "error"]
        assert "rope_theta" in finding.message + str(finding.evidence)


@pytest.mark.parametrize(("name", "file"), [("kv-llama31", "Meta-Llama-3.1-8B.json"), ("kv-mla", "DeepSeek-V3.json")])
def test_the_size_of_a_cache(name: str, file: str) -> None:
    cache = ordinate.inspect_config(CASES / "configs" / file).cache
    assert cache.bytes_per_token.value * given(name)["tokens"] == expected(name)
