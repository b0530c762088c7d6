"""Positions from neighbours, held against the models that have them, on random weights."""

import pytest
import torch
from torch.testing import assert_close

from ordinate.errors import ArgumentError
from ordinate.position import ConvolutionalPosition, DepthwisePosition, indices

DIM, TOKENS = 16, 30


@pytest.mark.parametrize("kernel", [7, 8])
@pytest.mark.parametrize("family", ["Wav2Vec2", "Hubert"])
def test_wav2vec_and_hubert_convolve_so(family, kernel):
    transformers = pytest.importorskip("transformers")
    module = pytest.importorskip(f"transformers.models.{family.lower()}.modeling_{family.lower()}")
    config = getattr(transformers, f"{family}Config")(
        hidden_size=DIM, num_conv_pos_embeddings=kernel, num_conv_pos_embedding_groups=4
    )
    torch.manual_seed(0)
    theirs = getattr(module, f"{family}PositionalConvEmbedding")(config).double()
    weight = theirs.conv.parametrizations.weight
    with torch.no_grad():
        weight.original0.uniform_(0.5, 2.0)
    ours = ConvolutionalPosition(DIM, kernel_size=kernel, groups=4).double()
    with torch.no_grad():
        ours.gain.copy_(weight.original0)
        ours.weight.copy_(weight.original1)
        ours.bias.copy_(theirs.conv.bias)
    x = torch.randn(2, TOKENS, DIM, dtype=torch.float64)
    assert_close(ours.mix(x, torch.arange(TOKENS)), theirs(x))


def test_data2vec_convolves_five_times_behind_a_norm():
    transformers = pytest.importorskip("transformers")
    module = pytest.importorskip("transformers.models.data2vec.modeling_data2vec_audio")
    config = transformers.Data2VecAudioConfig(
        hidden_size=DIM, conv_pos_kernel_size=5, num_conv_pos_embedding_groups=4, num_conv_pos_embeddings=3
    )
    torch.manual_seed(0)
    theirs = module.Data2VecAudioPositionalConvEmbedding(config).double()
    ours = ConvolutionalPosition(DIM, kernel_size=5, groups=4, norm="layer", layers=3).double()
    with torch.no_grad():
        ours.weight.copy_(torch.stack([layer.conv.weight for layer in theirs.layers]))
        ours.bias.copy_(torch.stack([layer.conv.bias for layer in theirs.layers]))
    x = torch.randn(2, TOKENS, DIM, dtype=torch.float64)
    assert_close(ours.mix(x, torch.arange(TOKENS)), theirs(x))


@pytest.mark.parametrize("layers", [1, 2])
def test_padding_and_other_documents_end_a_convolution_as_the_end_of_a_row_does(layers):
    torch.manual_seed(0)
    module = ConvolutionalPosition(DIM, kernel_size=6, groups=2, layers=layers).double()
    x = torch.randn(2, TOKENS, DIM, dtype=torch.float64)
    first, second = module(x[:, :18], torch.arange(18)), module(x[:, 18:], torch.arange(12))
    assert_close(module(x, indices.from_lengths([18, 12])), torch.cat((first, second), 1))
    real = torch.ones(2, TOKENS, dtype=torch.bool)
    real[0, :5] = False
    padded = module(x, indices.from_mask(real))
    assert_close(padded[0, 5:], module(x[:1, 5:], torch.arange(25))[0])
    assert_close(padded[1], module(x[1:], torch.arange(TOKENS))[0])
    assert_close(module(x, torch.arange(TOKENS) + 1000), module(x, torch.arange(TOKENS)))


def test_gradients_are_those_of_finite_differences():
    torch.manual_seed(0)
    module = ConvolutionalPosition(4, kernel_size=3, groups=2, layers=2).double()
    x = torch.randn(1, 6, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: module(x, indices.from_lengths([4, 2])), x)
    image = DepthwisePosition(4).double()
    assert torch.autograd.gradcheck(lambda x: image(x, indices.grid(2, 3)), x)


@pytest.mark.parametrize(
    ("module", "name"),
    [("segformer.modeling_segformer", "SegformerDepthWiseConv"), ("pvt_v2.modeling_pvt_v2", "PvtV2DepthWiseConv")],
)
def test_segformer_and_pvt_convolve_so(module, name):
    transformers = pytest.importorskip("transformers")
    modeling = pytest.importorskip(f"transformers.models.{module}")
    torch.manual_seed(0)
    settings = (transformers.PvtV2Config(), DIM) if name.startswith("Pvt") else (DIM,)
    theirs = getattr(modeling, name)(*settings).double()
    ours = DepthwisePosition(DIM).double()
    ours.load_state_dict(theirs.dwconv.state_dict())
    x = torch.randn(2, 35, DIM, dtype=torch.float64)
    assert_close(ours.mix(x, indices.grid(5, 7)), theirs(x, 5, 7))
    order = torch.randperm(35)
    assert_close(ours.mix(x[:, order], indices.grid(5, 7)[order]), theirs(x, 5, 7)[:, order])


def test_twins_adds_the_patch_itself():
    """`PosConv` of timm's Twins, written out: a convolution of one filter a channel, and the patch."""
    torch.manual_seed(0)
    ours = DepthwisePosition(DIM)
    theirs = torch.nn.Conv2d(DIM, DIM, 3, 1, 1, groups=DIM)
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 35, DIM)
    image = x.transpose(1, 2).unflatten(-1, (5, 7))
    assert_close(ours(x, indices.grid(5, 7)), (theirs(image) + image).flatten(2).transpose(1, 2))


def test_what_cannot_be_is_said():
    with pytest.raises(ArgumentError, match="groups"):
        ConvolutionalPosition(10, groups=4)
    with pytest.raises(ArgumentError, match="odd"):
        DepthwisePosition(4, kernel_size=2)
    with pytest.raises(ArgumentError, match="a row of its own"):
        DepthwisePosition(4)(torch.randn(1, 8, 4), torch.cat((indices.grid(2, 2), indices.grid(2, 2))))
