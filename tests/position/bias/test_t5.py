"""T5's buckets against whole-number arithmetic and two libraries, and T5 end to end on random weights."""

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from ordinate.attention import Causal, Padding, attend
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import T5Bias, indices
from ordinate.position.bias.t5 import bucket_borders

transformers = pytest.importorskip("transformers")


def reference_buckets(distance, **settings):
    """transformers' rule, which takes key minus query and a float32 logarithm."""
    from transformers.models.t5.modeling_t5 import T5Attention

    return T5Attention._relative_position_bucket(-distance, **settings)


SETTINGS = [
    {"num_buckets": 32, "max_distance": 128, "bidirectional": True},
    {"num_buckets": 32, "max_distance": 128, "bidirectional": False},
    {"num_buckets": 16, "max_distance": 64, "bidirectional": True},
    {"num_buckets": 64, "max_distance": 256, "bidirectional": True},
    {"num_buckets": 10, "max_distance": 50, "bidirectional": True},
    {"num_buckets": 33, "max_distance": 100, "bidirectional": False},
    {"num_buckets": 320, "max_distance": 800, "bidirectional": True},
    {"num_buckets": 8, "max_distance": 5, "bidirectional": False},
]


def test_buckets_of_known_distances():
    """Case t5-bidirectional, which counts key minus query; here a distance is query minus key."""
    key_minus_query = torch.tensor([-128, -64, -16, -9, -8, -1, 0, 1, 8, 16, 24, 64, 91])
    expected = [15, 14, 10, 8, 8, 1, 0, 17, 24, 26, 27, 30, 31]
    assert T5Bias(1).buckets(-key_minus_query).tolist() == expected
    assert T5Bias(1, bidirectional=False).buckets(torch.tensor([-5, 0, 15, 16, 127, 128, 10**9])).tolist() == (
        [0, 0, 15, 16, 31, 31, 31]
    )


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_every_distance_has_the_bucket_that_transformers_and_x_transformers_give_it(settings):
    """They agree with whole numbers at every border in these settings: there is no difference to explain on this machine."""
    distance = torch.arange(-2000, 2001)
    ours = T5Bias(1, **settings).buckets(distance)
    assert torch.equal(ours, reference_buckets(distance, **settings))
    library = pytest.importorskip("x_transformers.x_transformers").RelativePositionBias
    rest = {"num_buckets": settings["num_buckets"], "max_distance": settings["max_distance"]}
    assert torch.equal(ours, library._relative_position_bucket(-distance, causal=not settings["bidirectional"], **rest))


def test_one_unit_in_the_last_place_of_a_logarithm_would_move_a_border():
    """Why borders are whole numbers: distance 16 is at one exactly, and a logarithm that rounds down puts it one too low."""
    ratio = torch.tensor(16 / 8).log()
    steps = torch.tensor(128 / 8).log()

    def bucket(logarithm):
        return 8 + int(logarithm / steps * 8)

    assert T5Bias(1).buckets(torch.tensor(16)) == 10 == bucket(ratio)
    assert bucket(torch.nextafter(ratio, torch.tensor(0.0))) == 9


@given(num_buckets=st.integers(2, 80), above=st.integers(1, 2000), n=st.integers(0, 5000))
def test_a_bucket_is_the_formula_in_rational_arithmetic(num_buckets, above, n):
    exact, max_distance = num_buckets // 2, num_buckets // 2 + above
    wide = num_buckets - exact
    found = int(T5Bias(1, num_buckets=num_buckets, max_distance=max_distance, bidirectional=False).buckets(torch.tensor(n)))
    if n < exact:
        assert found == n
    else:  # floor(wide log(n / exact) / log(max / exact)) >= k is (n / exact)^wide >= (max / exact)^k
        power, base = Fraction(n, exact) ** wide, Fraction(max_distance, exact)
        k = found - exact
        assert 0 <= k < wide
        assert power >= base**k
        assert k == wide - 1 or power < base ** (k + 1)


@given(num_buckets=st.integers(4, 64), above=st.integers(1, 300))
def test_buckets_never_fall_with_the_distance_and_both_directions_mirror(num_buckets, above):
    bias = T5Bias(1, num_buckets=num_buckets, max_distance=num_buckets // 4 + above)
    away = torch.arange(1, 500)
    past, future = bias.buckets(away), bias.buckets(-away)
    assert bool((past.diff() >= 0).all())
    assert torch.equal(past + num_buckets // 2, future)
    assert int(future.max()) < num_buckets
    assert int(past.max()) < num_buckets // 2


@pytest.mark.parametrize("max_distance", [8, 7, 1, 0, -3])
def test_a_max_distance_inside_the_exact_half_is_refused(max_distance):
    """Case t5-bad-range: elsewhere it overflows to -9223372036854775800 and indexes who knows what."""
    with pytest.raises(
        ArgumentError, match="max_distance: expected more than 8, the distances that have a bucket of their own"
    ):
        T5Bias(1, max_distance=max_distance)
    with pytest.raises(ValueError, match="max_distance"):
        T5Bias(1, bidirectional=False, max_distance=min(max_distance, 16))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: T5Bias(1, num_buckets=3), ArgumentError, "num_buckets: expected at least 2 for each direction, got 1"),
        (lambda: T5Bias(1, num_buckets=0, bidirectional=False), ArgumentError, "num_buckets: expected at least 2"),
        (lambda: T5Bias(1, num_buckets=32.0), ArgumentTypeError, "num_buckets: expected an integer"),
        (lambda: T5Bias(1, max_distance=128.0), ArgumentTypeError, "max_distance: expected an integer"),
        (lambda: T5Bias(0), ArgumentError, "num_heads: expected an integer of at least 1"),
        (lambda: T5Bias(1).buckets(torch.tensor([1.5])), ArgumentTypeError, "distance: expected integers"),
        (
            lambda: T5Bias(1).bias(torch.arange(3).half(), torch.arange(3)),
            ArgumentTypeError,
            "query_positions: expected positions as integers",
        ),
    ],
)
def test_bad_settings_are_errors_that_say_what_to_do(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_borders_past_the_range_of_floats_are_still_exact():
    """Every border is the least n with (n / E)^K >= (M / E)^k; a float of it is off by more than one out here."""
    borders = bucket_borders(8, 2**60)
    assert borders[5] == 2**31
    for k, border in enumerate(borders[4:], start=1):
        assert border**4 >= 2 ** (60 * k) * 4 ** (4 - k) > (border - 1) ** 4


@pytest.fixture(scope="module")
def t5():
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=40, d_model=32, d_kv=8, d_ff=32, num_layers=2, num_decoder_layers=2, num_heads=4, dropout_rate=0.0
    )
    model = transformers.T5Model(config).eval()
    for stack in (model.encoder, model.decoder):
        torch.nn.init.normal_(stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight)
    return model


def ours_for(model, stack, bidirectional):
    bias = T5Bias(4, bidirectional=bidirectional)
    bias.load_state_dict({"weight": stack.block[0].layer[0].SelfAttention.relative_attention_bias.weight})
    return bias


def check_attention(attention, model, inputs, encoding, mask, keep):
    """The module's output against `attend` with its own projections."""
    seen = {}

    def hook(module, given, named, outputs):
        seen.update(hidden=given[0] if given else named["hidden_states"], across=named.get("key_value_states"), out=outputs[0])

    handle = attention.register_forward_hook(hook, with_kwargs=True)
    with torch.no_grad():
        model(**inputs)
    handle.remove()
    source = seen["hidden"] if seen["across"] is None else seen["across"]

    def heads(x):
        return x.unflatten(-1, (4, 8)).transpose(1, 2)

    out = attend(
        heads(attention.q(seen["hidden"])),
        heads(attention.k(source)),
        heads(attention.v(source)),
        query_positions=indices.consecutive(seen["hidden"].shape[1]),
        key_positions=indices.consecutive(source.shape[1]),
        encoding=encoding,
        mask=mask,
        scale=1.0,
    )
    assert_close(attention.o(out.transpose(1, 2).flatten(-2))[keep], seen["out"][keep], rtol=1e-4, atol=1e-5)


def test_t5_end_to_end_in_all_three_places(t5):
    """Encoder, decoder, and across: T5 adds no bias in cross-attention, and a later layer uses the table of the first."""
    tokens, mask = torch.randint(40, (2, 150)), torch.ones(2, 150, dtype=torch.long)
    mask[1, 140:] = 0  # padding on the right
    decoded = torch.randint(40, (2, 20))
    inputs = {"input_ids": tokens, "attention_mask": mask, "decoder_input_ids": decoded}
    everywhere = torch.ones(2, 20, dtype=torch.bool)
    encoder, decoder = ours_for(t5, t5.encoder, True), ours_for(t5, t5.decoder, False)
    check_attention(t5.encoder.block[1].layer[0].SelfAttention, t5, inputs, encoder, Padding(mask), mask.bool())
    check_attention(t5.decoder.block[1].layer[0].SelfAttention, t5, inputs, decoder, Causal(), everywhere)
    check_attention(t5.decoder.block[0].layer[1].EncDecAttention, t5, inputs, None, Padding(mask), everywhere)


def test_across_two_sequences_the_bias_is_the_table_at_each_pair(t5):
    """Where a model does bias cross-attention (x-transformers may): as many queries and keys as one likes."""
    library = pytest.importorskip("x_transformers.x_transformers")
    theirs = library.RelativePositionBias(scale=3.0, heads=4)
    ours = T5Bias(4)
    ours.load_state_dict({"weight": 3.0 * theirs.relative_attention_bias.weight.detach()})
    assert_close(ours.bias(indices.consecutive(3, start=7), indices.consecutive(10)), theirs(3, 10))
    at, by = torch.tensor([[4, 0], [9, 2]]), torch.tensor([[0, 300, 4]])
    bias = ours.bias(at, by)
    for row in range(2):
        for i in range(2):
            for j in range(3):
                bucket = reference_buckets(at[row, i] - by[0, j], bidirectional=True, num_buckets=32, max_distance=128)
                assert_close(bias[row, :, i, j], ours.weight[bucket])


def test_a_bucket_learns_from_exactly_the_pairs_in_it():
    bias, positions = T5Bias(2, num_buckets=8, max_distance=10), torch.arange(30)
    bias.bias(positions, positions).sum().backward()
    buckets = reference_buckets(positions[:, None] - positions[None], bidirectional=True, num_buckets=8, max_distance=10)
    assert_close(bias.weight.grad[:, 0], torch.bincount(buckets.flatten(), minlength=8).float())
