"""Every rule against the functions of transformers, which work in float32: agreement to their rounding.

Where the two part, the test says which is right. `factor: null` in a YaRN section and factors that a config derives are the
reader's business (`ordinate.inspection`), not that of the records.
"""

import pytest
import torch
from torch.testing import assert_close

from ordinate.frequencies import (
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Proportional,
    Scaling,
    YaRN,
    inverse_frequencies,
)

transformers = pytest.importorskip("transformers", reason="the oracle is not installed")
CONTEXT = 4096


def theirs(rule: str, head_dim: int, base: float, length: int | None = None, **settings) -> tuple[torch.Tensor, float]:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = transformers.LlamaConfig(
        head_dim=head_dim,
        hidden_size=4 * head_dim,
        num_attention_heads=4,
        max_position_embeddings=CONTEXT,
        rope_parameters={"rope_type": rule, "rope_theta": base, **settings},
    )
    return ROPE_INIT_FUNCTIONS[rule](config, "cpu", seq_len=length)


FACTORS = {"short_factor": [1.0 + 0.05 * i for i in range(32)], "long_factor": [1.0 + 0.7 * i for i in range(32)]}
LONG = {"original_max_position_embeddings": 1024, "factor": 4.0, **FACTORS}
YARN = {"original_max_position_embeddings": 1024}
LLAMA = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}

CASES: list[tuple[str, dict, Scaling]] = [
    ("linear", {"factor": 8.0}, Linear(8.0)),
    ("dynamic", {"factor": 2.0}, DynamicNTK(2.0, CONTEXT)),
    ("dynamic", {"factor": 8.0}, DynamicNTK(8.0, CONTEXT)),
    ("yarn", {**YARN, "factor": 4.0}, YaRN(4.0, 1024)),
    ("yarn", {**YARN, "factor": 32.0, "truncate": False}, YaRN(32.0, 1024, truncate=False)),
    ("yarn", {**YARN, "factor": 4.0, "beta_fast": 16.0, "beta_slow": 2.0}, YaRN(4.0, 1024, 16.0, 2.0)),
    ("yarn", {**YARN, "factor": 4.0, "attention_factor": 1.5}, YaRN(4.0, 1024, attention_factor=1.5)),
    ("yarn", {**YARN, "factor": 40.0, "mscale": 1.0, "mscale_all_dim": 0.5}, YaRN(40.0, 1024, mscale=1.0, mscale_all_dim=0.5)),
    ("longrope", LONG, LongRoPE(**FACTORS, original_context=1024, claimed_context=CONTEXT)),
    ("llama3", {**LLAMA, "factor": 8.0}, Llama3(8.0, 1.0, 4.0, 1024)),
    ("llama3", {**LLAMA, "factor": 32.0, "low_freq_factor": 2.0}, Llama3(32.0, 2.0, 4.0, 1024)),
    # settings of released models that no formula intends, computed as the code computes them
    ("llama3", {**LLAMA, "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0}, Llama3(16.0, 1.0, 1.0, 1024)),
    ("llama3", {**LLAMA, "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 1.0}, Llama3(8.0, 4.0, 1.0, 1024)),
    ("llama3", {**LLAMA, "factor": 0.5}, Llama3(0.5, 1.0, 4.0, 1024)),
    ("linear", {"factor": 0.25}, Linear(0.25)),
    ("dynamic", {"factor": 0.5}, DynamicNTK(0.5, CONTEXT)),
    ("yarn", {**YARN, "factor": 0.5}, YaRN(0.5, 1024)),
    ("yarn", {**YARN, "factor": 4.0, "beta_fast": 1.0, "beta_slow": 32.0}, YaRN(4.0, 1024, 1.0, 32.0)),
    ("yarn", {**YARN, "factor": 4.0, "beta_fast": 8.0, "beta_slow": 8.0, "truncate": False}, YaRN(4.0, 1024, 8, 8, False)),
    ("proportional", {"partial_rotary_factor": 0.25}, Proportional(0.25)),
    ("proportional", {"partial_rotary_factor": 0.3, "factor": 8.0}, Proportional(0.3, 8.0)),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("rule", "settings", "scaling"), CASES, ids=[f"{rule}-{i}" for i, (rule, _, _) in enumerate(CASES)])
@pytest.mark.parametrize("base", [10000.0, 500000.0])
@pytest.mark.parametrize("length", [None, 100, CONTEXT, CONTEXT + 1, 20_000])
def test_frequencies_and_factor_are_those_of_transformers(rule, settings, scaling, base, length):
    expected, factor = theirs(rule, 64, base, length, **settings)
    found = torch.tensor(inverse_frequencies(64, base, scaling, length), dtype=torch.float64)
    assert_close(found, expected.double(), rtol=2e-5, atol=1e-12)
    assert scaling.cos_sin_factor == pytest.approx(factor, rel=1e-12)


def test_every_rule_that_transformers_has_is_compared():
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    assert set(ROPE_INIT_FUNCTIONS) == {rule for rule, _, _ in CASES}


def test_one_magnitude_alone_is_taken_as_deepseek_takes_it():
    """DeepSeek's code defaults mscale to 1 and mscale_all_dim to 0, so mscale_all_dim alone divides by its own magnitude.

    transformers drops the pair unless both are given, which leaves the factor at 0.1 ln(40) + 1 and is wrong for such a model.
    """
    _, factor = theirs("yarn", 64, 10000.0, None, **YARN, factor=40.0, mscale_all_dim=1.0)
    assert factor == pytest.approx(1.3688879454113936)
    assert YaRN(40.0, 1024, mscale_all_dim=1.0).cos_sin_factor == 1.0
