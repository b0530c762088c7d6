import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError, PositionRangeError
from ordinate.position import DecomposedRelative, indices


def drawn(window, dim=8):
    encoding = DecomposedRelative(dim, window).double()
    for weight in encoding.parameters():
        torch.nn.init.normal_(weight)
    return encoding


@pytest.mark.parametrize("window", [(4, 6), (2, 3, 4)])
def test_every_pair_gets_its_offset_along_each_axis(window):
    encoding, patches = drawn(window), indices.grid(*window)
    query = torch.randn(2, 3, len(patches), 8, dtype=torch.float64)
    found = encoding.bias(patches, patches, query)
    for i in range(0, len(patches), 5):
        for j in range(0, len(patches), 3):
            vectors = [
                w[p - q + side - 1] for w, p, q, side in zip(encoding.weights, patches[i], patches[j], window, strict=True)
            ]
            assert_close(found[:, :, i, j], sum(query[:, :, i] @ vector for vector in vectors))


def test_sams_image_encoder_adds_it_so():
    modeling = pytest.importorskip("transformers.models.sam.modeling_sam")
    transformers = pytest.importorskip("transformers")
    config = transformers.SamVisionConfig(hidden_size=16, num_attention_heads=2, use_rel_pos=True)
    theirs = modeling.SamVisionAttention(config, window_size=5).double()
    ours = drawn((5, 5))
    with torch.no_grad():
        theirs.rel_pos_h.copy_(ours.weights[0])
        theirs.rel_pos_w.copy_(ours.weights[1])
    query, patches = torch.randn(3, 25, 8, dtype=torch.float64), indices.grid(5, 5)
    expected = theirs.get_decomposed_rel_pos(query, theirs.rel_pos_h, theirs.rel_pos_w, (5, 5), (5, 5)).reshape(3, 25, 25)
    assert_close(ours.bias(patches, patches, query.unsqueeze(1))[:, 0], expected)
    # another size of window: the model stretches its vectors while it runs
    wide = indices.grid(8, 8)
    query = torch.randn(3, 64, 8, dtype=torch.float64)
    expected = theirs.get_decomposed_rel_pos(query, theirs.rel_pos_h, theirs.rel_pos_w, (8, 8), (8, 8)).reshape(3, 64, 64)
    found = ours.resized((8, 8)).bias(wide, wide, query.unsqueeze(1))[:, 0]
    assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_an_offset_outside_the_window_and_a_missing_query_are_errors():
    encoding, patches = DecomposedRelative(8, (4, 4)), indices.grid(5, 4)
    with pytest.raises(PositionRangeError, match="query_positions: expected offsets below 4 along axis 0"):
        encoding.bias(patches, patches, torch.randn(1, 2, 20, 8))
    with pytest.raises(ArgumentError, match="query: expected the tensor itself"):
        encoding.bias(patches, patches)
    with pytest.raises(ArgumentError, match="window: expected"):
        DecomposedRelative(8, (4,))
