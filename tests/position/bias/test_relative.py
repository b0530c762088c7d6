import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, Padding, attend
from ordinate.errors import ArgumentError, ArgumentTypeError, PositionRangeError, RefusedError, ShapeError
from ordinate.position import MusicRelative, ShawRelative, build, indices
from ordinate.spec import PositionSpec
from tests.position.bias.test_skew import Largest

PADDED = indices.from_mask(torch.tensor([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]]))
ROWS = {
    "consecutive": (torch.arange(6), torch.arange(6)),
    "cached": (torch.arange(9, 12), torch.arange(12)),
    "decode": (torch.tensor([11]), torch.arange(12)),
    "left-padded": (PADDED, PADDED),
    "packed": (indices.from_lengths([2, 4]), indices.from_lengths([2, 4])),
    "shuffled": (torch.tensor([5, 0, 3]), torch.tensor([4, 4, 0, 9])),
    "zigzag": (indices.shard(torch.arange(12), 0, 3, zigzag=True), torch.arange(12)),
    "own rows": (torch.tensor([[0, 1], [6, 3]]), torch.tensor([[0, 1, 2], [9, 4, 5]])),
    "far": (torch.arange(2**40, 2**40 + 4), torch.arange(2**40 - 3, 2**40 + 4)),
}
each_row = pytest.mark.parametrize(("queries", "keys"), ROWS.values(), ids=ROWS.keys())


def heads(queries: int, keys: int, num_heads: int = 3, dim: int = 4, batch: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(queries + 10 * keys)
    return tuple(torch.randn(batch, num_heads, n, dim, dtype=torch.float64, generator=generator) for n in (queries, keys))


def spelled(table: Tensor, queries: Tensor, keys: Tensor, past: int, future: int) -> Tensor:
    """A vector for every pair, [B or 1, T, S, D] (with heads in front if the table has them), pair by pair in Python."""
    queries, keys = (x if x.ndim == 2 else x.unsqueeze(0) for x in (queries, keys))
    rows = max(len(queries), len(keys))
    queries, keys = queries.expand(rows, -1), keys.expand(rows, -1)
    vectors = [
        [[table[..., max(-past, min(future, j - i)) + past, :] for j in row_keys] for i in row_queries]
        for row_queries, row_keys in zip(queries.tolist(), keys.tolist(), strict=True)
    ]
    return torch.stack([torch.stack([torch.stack(line, -2) for line in row], -3) for row in vectors])


def in_double(module: torch.nn.Module) -> torch.nn.Module:
    torch.manual_seed(3)
    module.double().reset_parameters()
    return module


@each_row
@pytest.mark.parametrize("impl", ["auto", "general"])
def test_shaw_equals_a_gather_of_clipped_vectors_at_any_positions(queries, keys, impl):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    shaw = in_double(ShawRelative(4, 3, max_future=2, impl=impl))
    vectors = spelled(shaw.key_table, queries, keys, 3, 2)
    assert_close(shaw.bias(queries, keys, q, k), torch.einsum("bhtd,btsd->bhts", q, vectors.expand(2, -1, -1, -1)) / 2.0)
    assert_close(shaw.bias(queries, keys, q, k, scale=0.3), shaw.bias(queries, keys, q, k, scale=1.0) * 0.3)
    weights = torch.randn(2, 3, q.shape[2], k.shape[2], dtype=torch.float64)
    vectors = spelled(shaw.value_table, queries, keys, 3, 2)
    assert_close(
        shaw.value_term(weights, queries, keys), torch.einsum("bhts,btsd->bhtd", weights, vectors.expand(2, -1, -1, -1))
    )


@each_row
@pytest.mark.parametrize("impl", ["auto", "general"])
@pytest.mark.parametrize("shared", [False, True])
def test_music_in_both_directions_equals_a_gather_at_any_positions(queries, keys, impl, shared):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    music = in_double(MusicRelative(3, 4, 12, bidirectional=True, shared_heads=shared, impl=impl))
    vectors = spelled(music.table.expand(3, -1, -1), queries, keys, 12, 12).expand(2, -1, -1, -1, -1)
    assert_close(music.bias(queries, keys, q, k), torch.einsum("bhtd,bhtsd->bhts", q, vectors) / 2.0)


@each_row
@pytest.mark.parametrize("impl", ["auto", "general"])
def test_music_masked_equals_a_gather_in_the_past_and_is_zero_ahead(queries, keys, impl):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    music = in_double(MusicRelative(3, 4, 12, impl=impl))
    padded = torch.cat((music.table, torch.zeros(3, 12, 4, dtype=torch.float64)), dim=1)
    vectors = spelled(padded, queries, keys, 12, 12).expand(2, -1, -1, -1, -1)
    assert_close(music.bias(queries, keys, q, k), torch.einsum("bhtd,bhtsd->bhts", q, vectors) / 2.0)


@settings(max_examples=40, deadline=None)
@given(
    queries=st.lists(st.integers(-40, 40), min_size=0, max_size=6),
    keys=st.lists(st.integers(-40, 40), min_size=0, max_size=6),
)
def test_shaw_looks_at_distances_alone_and_at_clipped_ones_past_k(queries, keys):
    q, k = heads(len(queries), len(keys))
    queries, keys = torch.tensor(queries, dtype=torch.int64), torch.tensor(keys, dtype=torch.int64)
    shaw = in_double(ShawRelative(4, 5))
    bias = shaw.bias(queries, keys, q, k)
    assert bias.shape == (2, 3, len(queries), len(keys))
    assert torch.equal(bias, shaw.bias(queries + 1000, keys + 1000, q, k))
    for t, i in enumerate(queries.tolist()):
        same = [s for s, j in enumerate(keys.tolist()) if i - j >= 5]
        for s in same[1:]:
            assert torch.equal(bias[..., t, s], bias[..., t, same[0]])


@pytest.mark.parametrize(
    "make",
    [
        lambda impl: ShawRelative(4, 3, impl=impl),
        lambda impl: MusicRelative(3, 4, 200, impl=impl),
        lambda impl: MusicRelative(3, 4, 200, bidirectional=True, impl=impl),
        lambda impl: MusicRelative(3, 4, 200, bidirectional=True, shared_heads=True, impl=impl),
    ],
)
def test_skewing_and_gathering_agree_with_gradients(make):
    """Past one block of queries, so that the seam between blocks is in the gradient too."""
    found = []
    for impl in ("skew", "general"):
        module = in_double(make(impl))
        q, k = (x.requires_grad_() for x in heads(150, 170, batch=1))
        bias = module.bias(torch.arange(20, 170), torch.arange(170), q, k)
        bias.sin().sum().backward()
        found.append((bias, q.grad, *(p.grad for name, p in module.named_parameters() if name != "value_table")))
    assert_close(found[0], found[1], rtol=0, atol=1e-10)


def test_shaw_in_attention_is_equations_3_and_4():
    q, k = heads(6, 6)
    v, steps = torch.randn(2, 3, 6, 4, dtype=torch.float64), torch.arange(6)
    shaw = in_double(ShawRelative(4, 2))
    of_keys, of_values = (spelled(table, steps, steps, 2, 2)[0] for table in (shaw.key_table, shaw.value_table))
    scores = torch.einsum("bhtd,bhtsd->bhts", q, k.unsqueeze(2) + of_keys) / math.sqrt(4)
    weights = scores.softmax(-1)
    expected = torch.einsum("bhts,bhtsd->bhtd", weights, v.unsqueeze(2) + of_values)
    assert_close(attend(q, k, v, query_positions=steps, encoding=shaw), expected)


def test_without_a_table_for_values_there_is_no_value_term_and_every_implementation_will_do():
    q, k = heads(6, 6)
    shaw = in_double(ShawRelative(4, 2, values=False))
    assert shaw.value_term is None
    assert [name for name, _ in shaw.named_parameters()] == ["key_table"]
    slow, fast = (attend(q, k, k, query_positions=torch.arange(6), encoding=shaw, impl=impl) for impl in ("reference", "sdpa"))
    assert_close(slow, fast)
    with pytest.raises(RefusedError, match="forms weights"):
        attend(q, k, k, query_positions=torch.arange(6), encoding=ShawRelative(4, 2).double(), impl="sdpa")


@pytest.mark.parametrize("shared", [1, 3])
def test_heads_that_share_keys_change_nothing_since_keys_are_not_looked_at(shared):
    q, k = heads(5, 5)
    music = in_double(MusicRelative(3, 4, 9))
    grouped = attend(q, k[:, :shared], k[:, :shared], query_positions=torch.arange(5), encoding=music, mask=Causal())
    spread = k[:, :shared].expand(-1, 3, -1, -1)
    assert_close(grouped, attend(q, spread, spread, query_positions=torch.arange(5), encoding=music, mask=Causal()))


def test_padded_and_packed_rows_take_the_general_way_unasked_and_equal_their_parts():
    q, k = heads(8, 8, batch=1)
    music = in_double(MusicRelative(3, 4, 9))
    steps, numbers = indices.from_lengths([5, 3]), indices.documents([5, 3])
    packed = attend(q, k, k, query_positions=steps, encoding=music, mask=Causal() & Documents(numbers))
    last = q[:, :, 5:], k[:, :, 5:], k[:, :, 5:]
    assert_close(packed[:, :, 5:], attend(*last, query_positions=torch.arange(3), encoding=music, mask=Causal()))
    real = torch.arange(8) >= 5
    padded = attend(
        q, k, k, query_positions=indices.from_mask(real), encoding=music, mask=Causal() & Padding(real), empty_rows="zeros"
    )
    assert_close(padded[:, :, 5:], packed[:, :, 5:])


@pytest.mark.parametrize("name", ["left-padded", "packed", "shuffled", "zigzag", "own rows"])
def test_a_named_skew_refuses_positions_it_would_score_wrongly(name):
    queries, keys = ROWS[name]
    q, k = heads(queries.shape[-1], keys.shape[-1])
    for module in (ShawRelative(4, 2, impl="skew"), MusicRelative(3, 4, 12, impl="skew")):
        with pytest.raises(RefusedError, match="rise by one from token to token"):
            module.bias(queries, keys, q.float(), k.float())


@pytest.mark.parametrize(
    ("bidirectional", "queries", "keys", "distance"),
    [(False, [5], [0, 5], 5), (True, [0], [0, 6], 6), (True, [7, 8], [0, 8], 8)],
)
def test_a_distance_without_a_vector_is_an_error_that_names_it(bidirectional, queries, keys, distance):
    q, k = heads(len(queries), len(keys))
    music = MusicRelative(3, 4, 4, bidirectional=bidirectional)
    with pytest.raises(PositionRangeError, match=rf"max_distance \(4\), got a distance of {distance}; build the table longer"):
        music.bias(torch.tensor(queries), torch.tensor(keys), q.float(), k.float())


def test_a_far_key_ahead_is_no_error_where_the_future_is_masked():
    q, k = heads(1, 2)
    assert in_double(MusicRelative(3, 4, 4)).bias(torch.tensor([3]), torch.tensor([0, 900]), q, k)[..., 1].eq(0).all()


@pytest.mark.parametrize("impl", ["auto", "skew"])
def test_no_vector_for_every_pair_is_ever_made(impl):
    """T S D numbers would be one; the scores are T S, and nothing here comes near D times that."""
    q, k = heads(256, 256, num_heads=1, dim=64, batch=1)
    steps = torch.arange(256)
    for module in (ShawRelative(64, 16, impl=impl), MusicRelative(1, 64, 255, bidirectional=True, impl=impl)):
        with Largest() as seen:
            module.double().bias(steps, steps, q, k)
        assert seen.most < 4 * 256 * 256


def test_half_precision_is_worked_in_float32():
    q, k = (x.bfloat16() for x in heads(7, 7))
    music = MusicRelative(3, 4, 9)
    found = music.bias(torch.arange(7), torch.arange(7), q, k)
    assert found.dtype is torch.float32
    assert_close(found, music.double().bias(torch.arange(7), torch.arange(7), q.double(), k.double()).float())


def test_a_compiled_skew_is_one_graph():
    graphs = []

    def counting(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    torch._dynamo.reset()
    shaw = in_double(ShawRelative(4, 3, impl="skew"))
    compiled = torch.compile(shaw.bias, backend=counting, fullgraph=True, dynamic=True)
    for tokens in (8, 9, 64):
        q, k = heads(tokens, tokens)
        assert_close(
            compiled(torch.arange(tokens), torch.arange(tokens), q, k),
            shaw.bias(torch.arange(tokens), torch.arange(tokens), q, k),
        )
    assert len(graphs) == 1


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ShawRelative(0, 3), ArgumentError, "head_dim: expected an integer of at least 1, got 0"),
        (lambda: ShawRelative(4, -1), ArgumentError, "max_distance: expected an integer of at least 0, got -1"),
        (lambda: ShawRelative(4, 2.5), ArgumentTypeError, "max_distance: expected an integer"),
        (lambda: ShawRelative(4, 3, max_future=-2), ArgumentError, "max_future: expected an integer of at least 0"),
        (lambda: ShawRelative(4, 3, impl="fast"), ArgumentError, "'auto', 'skew' or 'general', got fast"),
        (lambda: MusicRelative(True, 4, 3), ArgumentTypeError, "num_heads: expected an integer"),
        (lambda: MusicRelative(3, 4, -3), ArgumentError, "max_distance: expected an integer of at least 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda q, k, i: (i, i, None, k), ArgumentError, "query: expected the tensor itself"),
        (lambda q, k, i: (i, i, q[:, :2], k), ShapeError, "H=3"),
        (lambda q, k, i: (i, i, q[..., :2], k), ShapeError, "D=4"),
        (lambda q, k, i: (i[:2], i, q, k), ShapeError, "one position for each of the 5 tokens"),
        (lambda q, k, i: (i.double(), i, q, k), ArgumentTypeError, "positions as integers"),
        (lambda q, k, i: (i, i.half(), q, k), ArgumentTypeError, "positions as integers"),
        (lambda q, k, i: (i.expand(3, -1), i, q, k), ShapeError, "B=2"),
    ],
)
def test_input_that_does_not_fit_is_refused_in_words(change, error, words):
    q, k = heads(5, 5)
    with pytest.raises(error, match=words):
        MusicRelative(3, 4, 9).bias(*change(q.float(), k.float(), torch.arange(5)))


def test_every_setting_is_in_the_repr_and_in_a_spec():
    for told, settings_ in (
        (
            "ShawRelative(4, 3, max_future=1, values=False, impl='general')",
            {"head_dim": 4, "max_distance": 3, "max_future": 1, "values": False, "impl": "general"},
        ),
        (
            "MusicRelative(2, 4, 9, bidirectional=True, shared_heads=True)",
            {"num_heads": 2, "head_dim": 4, "max_distance": 9, "bidirectional": True, "shared_heads": True},
        ),
    ):
        assert repr(build(PositionSpec("shaw" if "Shaw" in told else "music", settings_))) == told


def test_shaw_gives_the_attention_of_wav2vec2_bert():
    """transformers' `relative_key`: key minus query, clipped at 5 in the past and 3 in the future, no table for values."""
    transformers = pytest.importorskip("transformers")
    from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

    torch.manual_seed(0)
    config = transformers.Wav2Vec2BertConfig(
        hidden_size=32,
        num_attention_heads=4,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=5,
        right_max_position_embeddings=3,
        attn_implementation="eager",
    )
    theirs = Wav2Vec2BertSelfAttention(config).double().eval()
    ours = ShawRelative(8, 5, max_future=3, values=False).double()
    ours.key_table.data.copy_(theirs.distance_embedding.weight)
    hidden = torch.randn(2, 20, 32, dtype=torch.float64)
    q, k, v = (
        project(hidden).unflatten(-1, (4, 8)).transpose(1, 2) for project in (theirs.linear_q, theirs.linear_k, theirs.linear_v)
    )
    out, weights = attend(q, k, v, query_positions=torch.arange(20), encoding=ours, return_weights=True)
    expected, expected_weights = theirs(hidden)
    assert_close(weights, expected_weights)
    assert_close(theirs.linear_out(out.transpose(1, 2).flatten(2)), expected)
