import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from ordinate.attention import Causal, Documents, Padding, Window, attend
from ordinate.errors import ArgumentError, ArgumentTypeError
from ordinate.position import DAPE, ALiBi, CoPE, Kerple, Rotary, ShawRelative, T5Bias, build, indices
from ordinate.spec import PositionSpec
from tests.position.bias.test_relative import each_row, heads


def cope(**settings: object) -> CoPE:
    module = CoPE(4, **({"num_positions": 3} | settings)).double()
    torch.manual_seed(2)
    nn.init.normal_(module.embedding)
    return module


def explicit(module: CoPE, q: Tensor, k: Tensor, queries: Tensor, keys: Tensor, scale: float, visible: Tensor) -> Tensor:
    """Equations 3 to 5 pair by pair; of two keys at one position the later in the row counts as the nearer."""
    out = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    last = module.num_positions - 1
    for b in range(q.shape[0]):
        row_q, row_k = (x[b if x.ndim == 2 else ...].tolist() for x in (queries, keys))
        for h in range(q.shape[1]):
            for t, i in enumerate(row_q):
                for s, j in enumerate(row_k):
                    count = 0.0
                    for n, m in enumerate(row_k):
                        if (m, n) >= (j, s) and m <= i and visible[b, t, n]:
                            count += 1 / (1 + math.exp(-scale * float(q[b, h, t] @ k[b, h, n])))
                    count = min(count, last)
                    whole = [float(q[b, h, t] @ e) for e in module.embedding.detach()]
                    low = math.floor(count)
                    out[b, h, t, s] = (1 - (count - low)) * whole[low] + (count - low) * whole[min(low + 1, last)]
    return out


@each_row
def test_cope_counts_gates_from_the_query_back_to_the_key_at_any_positions(queries, keys):
    q, k = heads(queries.shape[-1], keys.shape[-1])
    everything = torch.ones(2, q.shape[2], k.shape[2], dtype=torch.bool)
    found = cope().bias(queries, keys, q, k)
    assert_close(found, 0.5 * explicit(cope(), q, k, queries, keys, 0.5, everything))
    unscaled = cope(scaled=False).bias(queries, keys, q, k, scale=2.0)
    assert_close(unscaled, explicit(cope(), q, k, queries, keys, 2.0, everything))


@settings(max_examples=25, deadline=None)
@given(
    keys=st.lists(st.integers(0, 6), min_size=1, max_size=7),
    hidden=st.lists(st.booleans(), min_size=7, max_size=7),
    last=st.integers(1, 6),
)
def test_cope_counts_only_what_the_mask_shows_in_the_order_of_positions(keys, hidden, last):
    q, k = heads(2, len(keys), batch=1)
    queries, positions = torch.tensor([3, 6]), torch.tensor(keys)
    visible = ~torch.tensor(hidden[: len(keys)])
    module = cope(num_positions=last)
    found = module.bias(queries, positions, q, k, visible=visible)
    assert_close(found, 0.5 * explicit(module, q, k, queries, positions, 0.5, visible.expand(1, 2, -1)))


def test_attend_hands_the_mask_over_so_that_padding_documents_and_windows_do_not_count():
    q, k = heads(9, 9, batch=1)
    steps = torch.arange(9)
    real = steps >= 4
    part = attend(q[:, :, 4:], k[:, :, 4:], k[:, :, 4:], query_positions=steps[:5], encoding=cope(), mask=Causal())
    padded = attend(
        q,
        k,
        k,
        query_positions=indices.from_mask(real),
        encoding=cope(),
        mask=Causal() & Padding(real),
        empty_rows="zeros",
    )
    packed = attend(
        q,
        k,
        k,
        query_positions=indices.from_lengths([4, 5]),
        encoding=cope(),
        mask=Causal() & Documents(indices.documents([4, 5])),
    )
    assert_close(padded[:, :, 4:], part)
    assert_close(packed[:, :, 4:], part)
    in_window = attend(q, k, k, query_positions=steps, encoding=cope(num_positions=8), mask=Window(3))
    last = attend(
        q[:, :, 8:],
        k[:, :, 6:],
        k[:, :, 6:],
        query_positions=steps[8:],
        key_positions=steps[6:],
        encoding=cope(num_positions=8),
        mask=Causal(),
    )
    assert_close(in_window[:, :, 8:], last)


def test_a_cache_in_another_order_gives_the_same_counts():
    q, k = heads(1, 8)
    order = torch.tensor([3, 4, 5, 6, 7, 0, 1, 2])  # a ring buffer after it has wrapped
    here, steps = torch.tensor([7]), torch.arange(8)
    assert_close(cope().bias(here, order, q, k[:, :, order]), cope().bias(here, steps, q, k)[..., order])


def test_counts_past_the_last_position_share_its_vector_and_stop_the_gradient():
    q, k = torch.ones(1, 1, 1, 4), torch.full((1, 1, 30, 4), 9.0)  # gates of one
    k.requires_grad_()
    bias = cope().float().bias(torch.tensor([29]), torch.arange(30), q, k)
    assert (bias[..., :28] == bias[..., 0]).all()
    bias[..., 0].sum().backward()
    assert k.grad is not None
    assert k.grad.abs().max() == 0


def test_cope_is_that_of_x_transformers_where_unscaled():
    """The paper's listing, as x-transformers has it: gates of scaled and masked scores, a term without the scale."""
    x_transformers = pytest.importorskip("x_transformers.x_transformers")
    q, k = heads(12, 12)
    theirs = x_transformers.CoPE(4, 3, 5).double()
    ours = cope(num_positions=5, scaled=False)
    theirs.pos_emb.data.copy_(ours.embedding)
    hidden = torch.ones(12, 12, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-1, -2) / 2.0).masked_fill(hidden, -torch.finfo(torch.float64).max)
    expected = theirs(q, scores)
    assert_close(ours.bias(torch.arange(12), torch.arange(12), q, k), expected)


BASES = {
    "alibi": lambda: ALiBi(3),
    "kerple": lambda: Kerple(3),
    "t5": lambda: T5Bias(3, num_buckets=8, max_distance=20, bidirectional=False),
}


@each_row
@pytest.mark.parametrize("base", BASES.values(), ids=BASES.keys())
def test_dape_adds_what_its_network_makes_of_scores_and_bias_pair_by_pair(queries, keys, base):
    if int(queries.max()) > 2**32:
        queries, keys = queries - 2**40 + 50, keys - 2**40 + 50
    q, k = heads(queries.shape[-1], keys.shape[-1])
    torch.manual_seed(1)
    dape = DAPE(base(), hidden_size=5).double()
    network = nn.Sequential(dape.first, nn.LeakyReLU(), dape.second)  # as in the authors' code, scores first
    scores = q @ k.transpose(-1, -2) / 2.0
    bias = dape.base.bias(queries, keys).double().expand(scores.shape)
    expected = bias + network(torch.cat((scores, bias), dim=1).movedim(1, -1)).movedim(-1, 1)
    assert_close(dape.bias(queries, keys, q, k), expected, rtol=1e-6, atol=1e-6)


def test_the_hidden_size_and_the_base_change_the_answer():
    q, k = heads(5, 5)
    steps = torch.arange(5)

    def answer(base: nn.Module, hidden_size: int) -> Tensor:
        torch.manual_seed(1)
        return DAPE(base, hidden_size=hidden_size).double().bias(steps, steps, q, k)

    narrow = answer(ALiBi(3), 4)
    assert (narrow - answer(ALiBi(3), 8)).abs().max() > 1e-3
    assert (narrow - answer(ALiBi(3, symmetric=True), 4)).abs().max() > 1e-3


@pytest.mark.parametrize("make", [lambda: cope(), lambda: DAPE(ALiBi(4)).double()], ids=["cope", "dape"])
def test_heads_in_groups_share_keys(make):
    q, k = heads(5, 5, num_heads=4)
    torch.manual_seed(0)
    module = make()
    steps, spread = torch.arange(5), k[:, :2].repeat_interleave(2, dim=1)
    assert_close(module.bias(steps, steps, q, k[:, :2]), module.bias(steps, steps, q, spread))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: CoPE(0, 4), ArgumentError, "head_dim: expected an integer of at least 1"),
        (lambda: CoPE(4, 0), ArgumentError, "num_positions: expected an integer of at least 1"),
        (lambda: DAPE(Rotary(4, layout="half")), ArgumentTypeError, "base: expected a bias that depends on positions alone"),
        (lambda: DAPE(ShawRelative(4, 2)), ArgumentTypeError, "got ShawRelative; for example DAPE"),
        (lambda: DAPE(ALiBi(4), hidden_size=0), ArgumentError, "hidden_size: expected an integer of at least 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_input_that_does_not_fit_is_refused_in_words():
    q, k = heads(4, 4)
    steps = torch.arange(4)
    with pytest.raises(ArgumentError, match="key: expected the tensor itself"):
        cope().bias(steps, steps, q)
    with pytest.raises(ArgumentError, match="divides the 3 query heads"):
        cope().bias(steps, steps, q, k[:, :2])
    with pytest.raises(ArgumentTypeError, match="positions as integers"):
        cope().bias(steps.double(), steps, q, k)


def test_settings_are_in_the_repr_and_in_a_spec():
    assert repr(build(PositionSpec("cope", {"head_dim": 4, "num_positions": 9, "scaled": False}))) == "CoPE(4, 9, scaled=False)"
    nested = {"base": PositionSpec("alibi", {"num_heads": 4}).to_dict(), "hidden_size": 16}
    assert repr(build(PositionSpec("dape", nested))) == "DAPE(ALiBi(4), hidden_size=16)"
