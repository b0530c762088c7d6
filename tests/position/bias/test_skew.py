import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from ordinate.position.bias import skew

SIZES = {
    "batch": st.integers(1, 2),
    "queries": st.integers(1, 9),
    "keys": st.integers(1, 9),
    "ladders": st.sampled_from([1, 3]),
}


def drawn(batch: int, queries: int, keys: int, ladders: int, dim: int = 4) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Queries, ladder, weights, and the ladder spelled out as a vector for every pair, in float64."""
    generator = torch.Generator().manual_seed(queries * 100 + keys)
    query = torch.randn(batch, 3, queries, dim, dtype=torch.float64, generator=generator)
    ladder = torch.randn(ladders, queries + keys - 1, dim, dtype=torch.float64, generator=generator)
    weights = torch.randn(batch, 3, queries, keys, dtype=torch.float64, generator=generator)
    rung = queries - 1 - torch.arange(queries)[:, None] + torch.arange(keys)
    return query, ladder, weights, ladder.expand(3, -1, -1)[:, rung]


@settings(max_examples=30, deadline=None)
@given(**SIZES)
def test_scores_are_those_of_a_vector_for_every_pair(batch, queries, keys, ladders):
    query, ladder, _, spelled = drawn(batch, queries, keys, ladders)
    assert_close(skew.skewed_scores(query, ladder), torch.einsum("bhtd,htsd->bhts", query, spelled), rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(**SIZES)
def test_values_are_those_of_a_vector_for_every_pair(batch, queries, keys, ladders):
    _, ladder, weights, spelled = drawn(batch, queries, keys, ladders)
    assert_close(skew.skewed_values(weights, ladder), torch.einsum("bhts,htsd->bhtd", weights, spelled), rtol=0, atol=1e-12)


@pytest.mark.parametrize("ladders", [1, 3])
@pytest.mark.parametrize(("queries", "keys"), [(300, 7), (129, 260), (256, 256)])
def test_blocks_of_queries_join_without_a_seam(queries, keys, ladders):
    query, ladder, weights, spelled = drawn(1, queries, keys, ladders)
    assert_close(skew.skewed_scores(query, ladder), torch.einsum("bhtd,htsd->bhts", query, spelled), rtol=0, atol=1e-11)
    assert_close(skew.skewed_values(weights, ladder), torch.einsum("bhts,htsd->bhtd", weights, spelled), rtol=0, atol=1e-11)


@pytest.mark.parametrize("ladders", [1, 3])
def test_first_and_second_derivatives_are_those_of_finite_differences(monkeypatch, ladders):
    monkeypatch.setattr(skew, "_BLOCK", 2)
    query, ladder, weights, _ = (x.requires_grad_() for x in drawn(2, 5, 4, ladders, dim=2))
    for function, inputs in ((skew.skewed_scores, (query, ladder)), (skew.skewed_values, (weights, ladder))):
        assert torch.autograd.gradcheck(function, inputs)
        assert torch.autograd.gradgradcheck(function, inputs, fast_mode=True)


def test_strides_of_the_query_do_not_matter():
    query, ladder, _, spelled = drawn(2, 6, 8, 3)
    across = query.transpose(1, 2).contiguous().transpose(1, 2)
    assert not across.is_contiguous()
    assert_close(skew.skewed_scores(across, ladder), torch.einsum("bhtd,htsd->bhts", query, spelled), rtol=0, atol=1e-12)


def test_the_unmasked_form_needs_a_vector_for_every_distance():
    """Transformer-XL's rel_shift has T vectors: above the diagonal it gives products of other queries (transformer-xl#132)."""
    query, ladder, _, spelled = drawn(1, 6, 6, 3)
    past = ladder[:, :6]  # distances 5 to 0, all that the published trick is given
    shifted = torch.nn.functional.pad(torch.einsum("bhtd,hrd->bhtr", query, past), (1, 0))
    shifted = shifted.reshape(1, 3, 7, 6)[:, :, 1:].reshape(1, 3, 6, 6)
    explicit = torch.einsum("bhtd,htsd->bhts", query, spelled)
    below = torch.ones(6, 6, dtype=torch.bool).tril()
    assert_close(shifted[..., below], explicit[..., below])
    assert (shifted - explicit)[..., ~below].abs().max() > 0.1
    assert_close(skew.skewed_scores(query, ladder), explicit)


def test_one_compiled_graph_gives_the_same_numbers_at_every_length():
    graphs = []

    def counting(graph, example_inputs):
        graphs.append(graph)
        return graph.forward

    def both(query: Tensor, weights: Tensor, ladder: Tensor) -> tuple[Tensor, Tensor]:
        return skew.skewed_scores(query, ladder), skew.skewed_values(weights, ladder)

    torch._dynamo.reset()
    compiled = torch.compile(both, backend=counting, fullgraph=True, dynamic=True)
    for queries, keys in ((8, 10), (9, 9), (5, 64), (140, 130)):
        query, ladder, weights, _ = drawn(2, queries, keys, 3)
        assert_close(compiled(query, weights, ladder), both(query, weights, ladder), rtol=0, atol=1e-11)
    assert len(graphs) == 1


def test_distances_of_the_ladder_fall_from_the_last_query_and_the_first_key():
    assert skew.distance_range(torch.arange(4, 7), torch.arange(2, 6)).tolist() == [4, 3, 2, 1, 0, -1]
    assert skew.distance_range(torch.arange(4, 7).repeat(2, 1), torch.arange(2, 6)).tolist() == [4, 3, 2, 1, 0, -1]


@pytest.mark.parametrize(
    ("queries", "keys", "shared"),
    [
        ([3, 4, 5], [0, 1, 2, 3], True),
        ([[3, 4], [3, 4]], [0, 1], True),
        ([[3, 4], [5, 6]], [[0, 1], [2, 3]], True),
        ([[3, 4], [5, 6]], [0, 1], False),  # another offset in each row
        ([0, 0, 1], [0, 0, 1], False),  # left padding
        ([0, 1, 0, 1], [0, 1, 0, 1], False),  # packed documents
        ([0, 2], [0, 1], False),
        ([1, 0], [0, 1], False),
        ([7], [5, 6, 7], True),
        ([], [0, 1], False),
    ],
)
def test_one_offset_is_told_from_padding_packing_and_other_orders(queries, keys, shared):
    found = skew.share_one_offset(torch.tensor(queries, dtype=torch.int64), torch.tensor(keys, dtype=torch.int64))
    assert found is shared


class Largest(TorchDispatchMode):
    """Remembers the most numbers held by any tensor that is no view and not of a shape to be left out."""

    def __init__(self, *left_out: tuple[int, ...]) -> None:
        super().__init__()
        self.left_out, self.most = left_out, 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor) and tuple(tensor.shape) not in self.left_out:
                self.most = max(self.most, tensor.untyped_storage().nbytes() // tensor.element_size())
        return out


def test_beyond_the_scores_memory_grows_with_the_tokens_not_with_their_square():
    largest = []
    for tokens in (512, 1024, 2048):
        query = torch.randn(1, 1, tokens, 8, requires_grad=True)
        ladder = torch.randn(1, 2 * tokens - 1, 8, requires_grad=True)
        scores = (1, 1, tokens, tokens)
        blocks = [(1, 1, 128, tokens)]  # windows into the scores, and the scores seen through them
        with Largest(scores, *blocks, (tokens, tokens)) as seen:
            out = skew.skewed_scores(query, ladder)
            out.backward(torch.ones_like(out))
        assert query.grad is not None
        assert seen.most < tokens**2
        largest.append(seen.most)
    assert largest[1] / largest[0] < 2.1
    assert largest[2] / largest[1] < 2.1
