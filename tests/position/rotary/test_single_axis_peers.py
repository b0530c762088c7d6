"""`Rotary` against rotary-embedding-torch and x-transformers, both interleaved, for the settings that all have."""

import pytest
import torch
from torch.testing import assert_close

from ordinate.position import LearnedRotary, Rotary
from ordinate.position.frequencies import Linear, NTKAware

X = torch.randn(2, 3, 40, 16, generator=torch.Generator().manual_seed(0))
STEPS = torch.arange(40)
SETTINGS = [
    ({}, {}),
    ({"rotary_dim": 8}, {"dim": 8}),
    ({"base": 500.0}, {"base": 500.0}),
    ({"scaling": Linear(4.0)}, {"interpolation": 4.0}),
    ({"scaling": NTKAware(4.0)}, {"rescale": 4.0}),
]


@pytest.mark.parametrize(("ours", "theirs"), SETTINGS, ids=[str(ours) for ours, _ in SETTINGS])
@pytest.mark.parametrize("offset", [0, 100])
def test_rotary_embedding_torch(ours, theirs, offset):
    peer = pytest.importorskip("rotary_embedding_torch", reason="the oracle is not installed")
    module = peer.RotaryEmbedding(
        theirs.get("dim", 16),
        theta=theirs.get("base", 10000.0),
        interpolate_factor=theirs.get("interpolation", 1.0),
        theta_rescale_factor=theirs.get("rescale", 1.0),
    )
    expected = module.rotate_queries_or_keys(X, offset=offset)
    assert_close(Rotary(16, layout="interleaved", **ours).rotate(X, STEPS + offset), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("ours", "theirs"), SETTINGS, ids=[str(ours) for ours, _ in SETTINGS])
def test_x_transformers(ours, theirs):
    peer = pytest.importorskip("x_transformers.x_transformers", reason="the oracle is not installed")
    module = peer.RotaryEmbedding(
        theirs.get("dim", 16),
        base=theirs.get("base", 10000.0),
        interpolation_factor=theirs.get("interpolation", 1.0),
        base_rescale_factor=theirs.get("rescale", 1.0),
    )
    frequencies, scale = module(STEPS)
    expected = peer.apply_rotary_pos_emb(X, frequencies, scale)
    assert_close(Rotary(16, layout="interleaved", **ours).rotate(X, STEPS), expected, rtol=1e-4, atol=1e-4)


def test_learned_frequencies_and_their_gradient():
    """rotary-embedding-torch learns the frequency f itself, we its logarithm: d/dlog f = f d/df."""
    peer = pytest.importorskip("rotary_embedding_torch", reason="the oracle is not installed")
    theirs, ours = peer.RotaryEmbedding(16, learned_freq=True), LearnedRotary(16, layout="interleaved")
    with torch.no_grad():
        correction = torch.linspace(-0.3, 0.3, 8)
        ours.log_correction.copy_(correction)
        theirs.freqs.mul_(correction.exp())
    weight = torch.randn(2, 3, 40, 16, generator=torch.Generator().manual_seed(1))
    found, expected = ours.rotate(X, STEPS), theirs.rotate_queries_or_keys(X)
    assert_close(found, expected, rtol=1e-4, atol=1e-4)
    (found * weight).sum().backward()
    (expected * weight).sum().backward()
    assert_close(ours.log_correction.grad, theirs.freqs.grad * theirs.freqs.detach(), rtol=1e-3, atol=1e-3)


def test_neighbours_in_half_precision_where_the_peer_cannot_tell_them_apart():
    """rotary-embedding-torch forms positions in the dtype of the input: 256 and 257 are one in bfloat16. They are two."""
    peer = pytest.importorskip("rotary_embedding_torch", reason="the oracle is not installed")
    ones = torch.ones(1, 1, 258, 16).bfloat16()
    theirs = peer.RotaryEmbedding(16).rotate_queries_or_keys(ones)
    ours = Rotary(16, layout="interleaved").rotate(ones, torch.arange(258))
    assert torch.equal(theirs[..., 256, :], theirs[..., 257, :])
    assert not torch.equal(ours[..., 256, :], ours[..., 257, :])
