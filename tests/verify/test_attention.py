"""Attention and decoders: what a public test suite misses is seen."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from ordinate.attention import Causal, Padding, attend
from ordinate.errors import ArgumentError
from ordinate.position import ALiBi, Rotary
from ordinate.verify import check_attention, check_decoder
from ordinate.verify.properties import shared
from ordinate.verify.properties.attention import ATTENTION
from tests.verify.proof.decoders import Decoder


def ours(encoding: object) -> object:
    def call(q, k, v, query_positions, key_positions, key_mask):
        mask = Causal() & Padding(key_mask)
        return attend(
            q,
            k,
            v,
            query_positions=query_positions,
            key_positions=key_positions,
            encoding=encoding,
            mask=mask,
            empty_rows="zeros",
        )

    return call


@pytest.mark.parametrize("shared", [4, 2, 1])
def test_our_own_attention_passes(shared):
    laws = [law.id for law in ATTENTION if law.cheap]  # compilation is held to below
    assert check_attention(ours(Rotary(16, layout="half")), encoding="rotary", num_kv_heads=shared, only=laws).passed
    assert check_attention(ours(ALiBi(4)), encoding="alibi", num_kv_heads=shared, only=laws).passed


def test_code_that_ignores_positions_is_caught():
    def blind(q: Tensor, k: Tensor, v: Tensor, query_positions: Tensor, key_positions: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=key_positions[None] <= query_positions[:, None])

    verdict = check_attention(blind)
    assert [outcome.id for outcome in verdict.failed] == ["order-matters"]
    assert verdict.causes[0].id == "positions-without-effect"


def test_torchs_causal_flag_in_decoding_is_named():
    verdict = check_attention(lambda q, k, v: scaled_dot_product_attention(q, k, v, is_causal=True), encoding="none")
    assert verdict.causes[0].id == "mask-from-the-top-left"


def test_what_is_no_attention_is_refused():
    with pytest.raises(ArgumentError, match="queries, keys and values"):
        check_attention(lambda a: a)
    with pytest.raises(ArgumentError, match="num_kv_heads"):
        check_attention(ours(ALiBi(4)), num_kv_heads=3)


@pytest.mark.parametrize("fault", ["", "decoder-steps-at-zero", "decoder-padding-counts", "decoder-mask-ignored"])
def test_a_decoder_is_held_to_what_it_prefills(fault):
    verdict = check_decoder(Decoder(fault))
    assert verdict.passed is (fault == "")
    if fault:
        assert verdict.causes[0].id == fault


def test_a_decoder_that_looks_ahead_is_caught():
    class Ahead(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(64, 8)

        def forward(self, tokens: Tensor) -> Tensor:
            mixed = self.embedding(tokens)
            return mixed + mixed.roll(-1, 1)

    assert "causality" in [outcome.id for outcome in check_decoder(Ahead()).failed]


def test_a_decoder_in_training_is_asked_without_dropout_and_left_as_it_was():
    decoder = Decoder()
    assert decoder.training
    assert check_decoder(decoder, only=["causality"]).passed
    assert decoder.training


def test_what_is_no_decoder_is_refused():
    with pytest.raises(ArgumentError, match="logits"):
        check_decoder(lambda tokens: torch.zeros(3))


def test_a_key_cut_off_from_training_is_seen_by_its_gradient():
    def cut(q, k, v, positions):
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        return scaled_dot_product_attention(q, k.detach(), v, attn_mask=mask)

    verdict = check_attention(cut, encoding="none", only=["published-rule", "gradients"])
    assert [outcome.id for outcome in verdict.failed] == ["gradients"]
    assert verdict.failed[0].evidence == "no gradient reaches the key"


def test_attention_that_compiles_anew_for_every_length_is_seen(monkeypatch):
    monkeypatch.setattr(shared, "COMPILE_SECONDS", 120.0)  # a busy machine is no fault

    def unrolled(q, k, v):  # a Python number that torch.compile has to fix
        length = len(list(range(q.shape[-2])))
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        return scaled_dot_product_attention(q, k, v, attn_mask=mask)

    failed = check_attention(unrolled, encoding="none", only=["causality", "compile"]).failed
    assert [outcome.id for outcome in failed] == ["compile"]
    assert "recompiles" in failed[0].evidence
    assert check_attention(ours(Rotary(16, layout="half")), encoding="rotary", only=["compile"]).passed
