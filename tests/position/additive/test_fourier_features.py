import re

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError
from ordinate.position import FourierFeatures, indices


def test_sam_encodes_points_so():
    modeling = pytest.importorskip("transformers.models.sam.modeling_sam")
    config = pytest.importorskip("transformers").SamVisionConfig(num_pos_feats=16, scale=2.0)
    theirs = modeling.SamPositionalEmbedding(config).double()
    ours = FourierFeatures(32, (48, 64), scale=2.0).double()
    with torch.no_grad():
        ours.weight.copy_(theirs.positional_embedding.flip(0))  # theirs are (x, y)
    points = torch.rand(7, 2, dtype=torch.float64) * torch.tensor([48.0, 64.0])  # (row, column)
    expected = theirs(points.flip(-1)[None, None], input_shape=(48, 64))[0, 0]
    assert_close(ours.encode(points), expected, rtol=1e-12, atol=1e-12)


def test_the_features_are_the_formula_and_their_product_depends_on_the_offset():
    encoding = FourierFeatures(8, (4, 6)).double()
    (y, x), weight = (1.0, 5.0), encoding.weight
    angles = 2 * torch.pi * ((2 * y / 4 - 1) * weight[0] + (2 * x / 6 - 1) * weight[1])
    assert_close(encoding.encode(torch.tensor([[1, 5]]))[0], torch.cat((angles.sin(), angles.cos())))
    a, b = encoding.encode(indices.grid(2, 2)), encoding.encode(indices.grid(2, 2) + 7)
    assert_close(a @ a.T, b @ b.T, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: FourierFeatures(7, (4, 4)), "dim: expected an even number"),
        (lambda: FourierFeatures(8, (4,)), "size: expected cells along two axes or more"),
        (lambda: FourierFeatures(8, (4, 0)), "size: expected a finite number above 0, got 0"),
        (lambda: FourierFeatures(8, (4, 4), scale=-1.0), "scale: expected a finite number above 0, got -1.0"),
    ],
)
def test_bad_settings_are_named(call, words):
    with pytest.raises(ArgumentError, match=re.escape(words)):
        call()
