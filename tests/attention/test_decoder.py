"""The decoder: any encoding of the catalogue, caches, packed rows, and words for what does not fit."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from torch.testing import assert_close

from ordinate.attention import Decoder
from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, RefusedError, ShapeError
from ordinate.position import ALiBi, LearnedTable, MultimodalRotary, NoPosition, Rotary, Sinusoidal, T5Bias, indices
from tests.position.members import HEAD_DIM, HEADS, MEMBERS

DIM = HEADS * HEAD_DIM
CACHED = [member for member in MEMBERS if member.interface != "adds" and "decode" not in member.exempt]
IDS = torch.randint(0, 40, (2, 18), generator=torch.Generator().manual_seed(0))


def small(**settings):
    torch.manual_seed(0)
    given = {"vocabulary": 40, "dim": DIM, "num_layers": 2, "num_heads": HEADS, "hidden_dim": 48}
    model = Decoder(**given | {"encoding": Rotary(HEAD_DIM, layout="half")} | settings).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def through_cache(model, ids, cache, cuts, positions=None, token_mask=None):
    pieces = []
    for start, stop in zip([0, *cuts], [*cuts, ids.shape[1]], strict=True):
        at = None if positions is None else positions[start:stop]
        real = None if token_mask is None else token_mask[:, start:stop]
        pieces.append(model(ids[:, start:stop], at, cache=cache, token_mask=real))
    return torch.cat(pieces, dim=1)


@pytest.mark.parametrize("member", CACHED, ids=[member.name for member in CACHED])
def test_a_cache_gives_the_logits_of_the_whole_row_for_every_encoding(member):
    model = small(encoding=member.make(), num_key_value_heads=HEADS)
    steps = member.positions(indices.consecutive(IDS.shape[1]))
    with torch.inference_mode():
        whole = model(IDS, steps)
        found = through_cache(model, IDS, model.new_cache(2, capacity=18), [9, 10, 11], steps)
    assert_close(found, whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "encoding", [Sinusoidal(DIM), LearnedTable(20, DIM), [LearnedTable(20, DIM), ALiBi(HEADS)], NoPosition()], ids=str
)
def test_an_encoding_that_adds_is_added_once_to_the_embeddings(encoding):
    model = small(encoding=encoding)
    with torch.inference_mode():
        whole = model(IDS)
        assert_close(through_cache(model, IDS, model.new_cache(2, capacity=18), [9, 10]), whole, rtol=1e-9, atol=1e-9)
        later = model(IDS, indices.consecutive(18, start=2))
    assert ((later - whole).abs().max() > 1e-3) == bool(model.added)


@pytest.mark.parametrize("windows", [None, 4, [None, 4], [3, 4]])
@pytest.mark.parametrize("encoding", [Rotary(HEAD_DIM, layout="half"), T5Bias(HEADS, num_buckets=8)], ids=str)
def test_windows_of_layers_hold_with_a_cache_and_padding_too(windows, encoding):
    model = small(windows=windows, encoding=encoding, num_key_value_heads=2, query_key_norm=True)
    real = torch.ones(2, 18, dtype=torch.bool)
    real[1, :6] = False
    with torch.inference_mode():
        whole = model(IDS, token_mask=real)
        assert_close(whole[1:, 6:], model(IDS[1:, 6:]), rtol=1e-9, atol=1e-9)
        found = through_cache(model, IDS, model.new_cache(2, capacity=18), [9, 10, 13], token_mask=real)
    assert_close(found[real], whole[real], rtol=1e-9, atol=1e-9)


def test_a_window_means_what_it_says():
    """Two layers of windows of 4 reach six tokens back, and no further."""
    model, changed = small(windows=4), IDS.clone()
    changed[:, 5] = (changed[:, 5] + 1) % 40
    with torch.inference_mode():
        moved = (model(IDS) - model(changed)).abs().amax((0, 2)) > 1e-12
    assert moved.nonzero().flatten().tolist() == list(range(5, 12))


def test_with_sinks_the_cache_of_a_windowed_model_keeps_the_first_tokens():
    model = small(windows=4)
    with torch.inference_mode():
        cache = model.new_cache(2, sink_keys=2)
        through_cache(model, IDS, cache, [5, 6])
    assert (cache.capacity, cache.contents().positions[0].sort().values.tolist()) == (6, [0, 1, 14, 15, 16, 17])


def test_packed_documents_do_not_see_one_another():
    model = small()
    lengths = [7, 11]
    with torch.inference_mode():
        packed = model(IDS, indices.from_lengths(lengths), documents=indices.documents(lengths))
        assert_close(packed[:, :7], model(IDS[:, :7]), rtol=1e-9, atol=1e-9)
        assert_close(packed[:, 7:], model(IDS[:, 7:]), rtol=1e-9, atol=1e-9)


def test_the_last_token_alone_is_the_last_of_all():
    model = small()
    real = torch.ones(2, 18, dtype=torch.bool)
    real[0, 12:] = False
    whole = model(IDS, token_mask=real)
    last = model(IDS, token_mask=real, last_only=True)
    assert_close(last[:, 0], torch.stack((whole[0, 11], whole[1, 17])))
    assert_close(model(IDS, last_only=True), model(IDS)[:, -1:])


def test_text_positions_of_several_axes_go_on_behind_an_image():
    model = small(encoding=MultimodalRotary(HEAD_DIM, layout="half", sections=(2, 3, 3)))
    steps = indices.multimodal([3, (1, 2, 3), 9])
    with torch.inference_mode():
        whole = model(IDS, steps)
        cache = model.new_cache(2, capacity=18)
        first = model(IDS[:, :9], steps[:9], cache=cache)
        rest = through_cache(model, IDS[:, 9:], cache, [4, 5])
    assert_close(torch.cat((first, rest), dim=1), whole, rtol=1e-9, atol=1e-9)


def test_tied_weights_are_one_parameter():
    tied, apart = small(tied=True), small()
    assert tied.head is None
    assert sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in tied.parameters()) == 40 * DIM


def test_every_parameter_learns_and_a_pattern_is_learned():
    torch.manual_seed(0)
    model = Decoder(
        vocabulary=8, dim=32, num_layers=2, num_heads=4, num_key_value_heads=2, hidden_dim=64, bias=True, output_bias=True,
        feed_forward_bias=True, query_key_norm=True, encoding=[Rotary(8, layout="half"), T5Bias(4, num_buckets=8)],
    )  # fmt: skip
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(60):  # a row repeats itself: from the second half on, the next token is known
        half = torch.randint(0, 8, (16, 8))
        rows = torch.cat((half, half), dim=1)
        loss = cross_entropy(model(rows[:, :-1])[:, 8:].flatten(0, 1), rows[:, 9:].flatten())
        optimiser.zero_grad()
        loss.backward()
        losses.append(float(loss.detach()))
        assert all(parameter.grad is not None for parameter in model.parameters())
        optimiser.step()
    assert losses[0] > 1.9
    assert losses[-1] < 1.0


MODEL = small()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: small(num_heads=5), ArgumentError, r"num_heads: expected a number that divides dim \(64\)"),
        (lambda: small(num_key_value_heads=3), ArgumentError, "divides the 4 query heads, got 3"),
        (lambda: small(windows=[4]), ArgumentError, "one for each of the 2 layers, got 1"),
        (lambda: small(encoding="rotary"), ArgumentTypeError, "encoding: expected an encoding"),
        (lambda: MODEL(IDS[0]), ShapeError, r"input_ids: expected a tensor \[B T\]"),
        (lambda: MODEL(IDS.float()), ArgumentTypeError, "input_ids: expected token numbers"),
        (lambda: MODEL(IDS + 30), ArgumentError, "token numbers from 0 to 39, got 69"),
        (lambda: MODEL(IDS - 5), ArgumentError, "token numbers from 0 to 39, got -5"),
        (lambda: MODEL(IDS, token_mask=torch.ones(2, 3)), ShapeError, "token_mask"),
        (lambda: MODEL(IDS, documents=indices.documents([9, 9])), ArgumentError, "packed or sharded rows"),
        (
            lambda: MODEL(IDS, indices.from_lengths([9, 9]), documents=IDS, cache=MODEL.new_cache(2, capacity=18)),
            RefusedError,
            "neither packed nor split",
        ),
        (lambda: MODEL(IDS, cache=MODEL.new_cache(3, capacity=18)), ShapeError, "layers and batch of the model: 2 and 2"),
        (lambda: MODEL(IDS, cache=small(num_layers=3).new_cache(2, capacity=18)), ShapeError, "got 3 and 2"),
        (lambda: MODEL(IDS, cache=small().float().new_cache(2, capacity=18)), ArgumentTypeError, "got torch.float32 on cpu"),
        (lambda: MODEL(IDS, cache=MODEL.new_cache(2, capacity=18).to("meta")), ArgumentTypeError, "got torch.float64 on meta"),
        (lambda: MODEL(IDS, cache=MODEL.new_cache(2, capacity=17)), ArgumentError, "at most 17 tokens a row, got 18"),
        (lambda: MODEL.new_cache(2, capacity=17, sink_keys=1), ArgumentError, "no window makes tokens leave"),
        (lambda: small(encoding=LearnedTable(17, DIM))(IDS), PositionRangeError, r"below num_positions \(17\), got 17"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(call, error, words):
    with torch.inference_mode(), pytest.raises(error, match=words):
        call()


def test_positions_that_go_backwards_in_a_cache_are_refused_and_do_no_harm():
    cache = MODEL.new_cache(2, capacity=40)
    with torch.inference_mode():
        whole = MODEL(IDS)
        MODEL(IDS[:, :10], cache=cache)
        with pytest.raises(ArgumentError, match="positions that rise"):
            MODEL(IDS[:, 10:], indices.consecutive(8), cache=cache)
        assert_close(MODEL(IDS[:, 10:], cache=cache), whole[:, 10:], rtol=1e-9, atol=1e-9)
