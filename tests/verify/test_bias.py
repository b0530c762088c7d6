"""Biases through softmax: equivalent forms pass, published rules are told from others."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ordinate.errors import ArgumentError, UnknownNameError
from ordinate.position import ALiBi, T5Bias
from ordinate.verify import check_bias
from ordinate.verify.properties import shared


@pytest.mark.parametrize("heads", [8, 12])
def test_our_own_biases_pass(heads):
    assert check_bias(ALiBi(heads), num_heads=heads).passed
    assert check_bias(T5Bias(heads), num_heads=heads, rule="t5", causal=False).passed


def test_a_constant_per_row_is_no_fault():
    def shifted(q_len: int, k_len: int) -> Tensor:
        queries = torch.arange(k_len - q_len, k_len)
        return ALiBi(8).bias(queries, torch.arange(k_len)) + queries.float()[:, None] * 3.0

    assert check_bias(shifted).passed


def test_minus_infinity_ahead_of_a_causal_query_is_no_fault():
    def masked(q_pos: Tensor, k_pos: Tensor) -> Tensor:
        ahead = k_pos[None] > q_pos[:, None]
        return ALiBi(8).bias(q_pos, k_pos).masked_fill(ahead, float("-inf"))

    assert check_bias(masked, only=["published-rule", "distance-alone", "prefill-equals-decode"]).passed


def test_the_other_rule_of_slopes_is_named():
    verdict = check_bias(ALiBi(12, rule="geometric"), num_heads=12)
    assert verdict.causes[0].id == "slopes-geometric"
    assert check_bias(ALiBi(12, rule="geometric"), num_heads=12, slopes="geometric").passed


def test_laws_alone_are_looked_at_where_no_rule_is_stated():
    def root(q_len: int, k_len: int) -> Tensor:
        distance = torch.arange(k_len - q_len, k_len)[:, None] - torch.arange(k_len)
        return -distance.abs().float().sqrt()[None].repeat(8, 1, 1)

    verdict = check_bias(root, rule=None)
    assert verdict.passed
    assert verdict.outcome("published-rule").status == "not applicable"


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ArgumentError, match="max_distance"):
        check_bias(T5Bias(8), rule="t5", max_distance=4)
    with pytest.raises(UnknownNameError, match="rule"):
        check_bias(ALiBi(8), rule="kerple")
    with pytest.raises(ArgumentError, match="fn\\(query_positions"):
        check_bias(lambda q_pos, k_pos: torch.zeros(3, 3, 3, 3, 3))


def test_a_bias_that_compiles_anew_for_every_length_is_seen(monkeypatch):
    monkeypatch.setattr(shared, "COMPILE_SECONDS", 120.0)  # a busy machine is no fault

    def listed(length: int) -> torch.Tensor:
        distances = torch.tensor([[min(key - query, 0) for key in range(length)] for query in range(length)])
        return distances * (2.0 ** -torch.arange(1.0, 9.0)).reshape(8, 1, 1)

    failed = check_bias(listed, only=["published-rule", "compile"]).failed
    assert [outcome.id for outcome in failed] == ["compile"]
    assert "recompiles" in failed[0].evidence
    assert check_bias(ALiBi(8), only=["compile"]).outcomes[0].status == "passed"
