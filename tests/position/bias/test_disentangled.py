import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from ordinate.attention import Causal, attend
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position import DisentangledRelative, build
from ordinate.spec import PositionSpec
from tests.position.bias.test_relative import each_row, heads

V3 = {"max_distance": 9, "num_buckets": 4, "norm": True}


def weighty(**settings: object) -> DisentangledRelative:
    module = DisentangledRelative(3, 4, **({"max_distance": 4} | settings)).double()
    torch.manual_seed(5)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


def bucket(distance: int, num_buckets: int | None, max_distance: int) -> int:
    """The signed bucket by whole numbers, the formula rearranged so that no logarithm is taken."""
    if num_buckets is None or abs(distance) <= num_buckets // 2:
        return distance
    m, steps = num_buckets // 2, 0
    # ceil(ln(|d| / m) / ln((max - 1) / m) (m - 1)) is the least b with (|d| / m)^(m - 1) <= ((max - 1) / m)^b
    while abs(distance) ** (m - 1) * m**steps > (max_distance - 1) ** steps * m ** (m - 1):
        steps += 1
    return (steps + m) * (1 if distance > 0 else -1)


def explicit(module: DisentangledRelative, q: Tensor, k: Tensor, queries: Tensor, keys: Tensor) -> Tensor:
    """Both terms pair by pair, with the rows that the authors' code takes, without the scale."""
    span = module.max_distance if module.num_buckets is None else module.num_buckets
    table = module.table if module.norm is None else module.norm(module.table)
    position_keys = None if module.key_projection is None else module.key_projection(table).unflatten(-1, (3, 4))
    position_queries = None if module.query_projection is None else module.query_projection(table).unflatten(-1, (3, 4))
    out = torch.zeros(*q.shape[:3], k.shape[2], dtype=torch.float64)
    for b in range(q.shape[0]):
        for t, i in enumerate(queries[b if queries.ndim == 2 else ...].tolist()):
            for s, j in enumerate(keys[b if keys.ndim == 2 else ...].tolist()):
                row = max(0, min(2 * span - 1, bucket(i - j, module.num_buckets, module.max_distance) + span))
                for h in range(3):
                    if position_keys is not None:
                        out[b, h, t, s] += q[b, h, t] @ position_keys[row, h]
                    if position_queries is not None:
                        out[b, h, t, s] += k[b, h, s] @ position_queries[row, h]
    return out.detach()


@each_row
@pytest.mark.parametrize("impl", ["auto", "general"])
@pytest.mark.parametrize(
    "settings", [{}, {"terms": ["c2p"], "key_bias": False}, {"terms": ["p2c"]}, V3], ids=["v1", "c2p", "p2c", "v3"]
)
def test_any_positions_give_both_terms(queries, keys, impl, settings):
    if int(queries.max()) > 2**32 and "num_buckets" in settings:
        queries, keys = queries - 2**40, keys - 2**40  # the whole-number oracle counts steps
    q, k = heads(queries.shape[-1], keys.shape[-1])
    module = weighty(impl=impl, **settings)
    expected = explicit(module, q, k, queries, keys)
    assert_close(module.bias(queries, keys, q, k, scale=1.0), expected, rtol=0, atol=1e-11)
    terms = 1 + len(module.terms)
    assert_close(module.bias(queries, keys, q, k), expected / math.sqrt(4 * terms), rtol=0, atol=1e-11)


@pytest.mark.parametrize("settings", [{}, V3], ids=["v1", "v3"])
def test_skewing_and_gathering_agree_with_gradients(settings):
    found = []
    for impl in ("skew", "general"):
        module = weighty(impl=impl, **settings)
        q, k = (x.requires_grad_() for x in heads(150, 170, batch=1))
        bias = module.bias(torch.arange(20, 170), torch.arange(170), q, k)
        bias.sin().sum().backward()
        found.append((bias, q.grad, k.grad, *(p.grad for p in module.parameters())))
    assert_close(found[0], found[1], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("num_buckets", "max_distance"), [(4, 9), (8, 32), (32, 128), (256, 512)])
def test_buckets_are_those_of_whole_number_arithmetic(num_buckets, max_distance):
    module = DisentangledRelative(1, 2, max_distance=max_distance, num_buckets=num_buckets)
    distance = torch.arange(-max_distance - 3, max_distance + 4)
    assert module.buckets(distance).tolist() == [bucket(d, num_buckets, max_distance) for d in distance.tolist()]


def test_heads_in_groups_share_keys():
    q, k = heads(5, 5)
    spread = k[:, :1].expand(-1, 3, -1, -1)
    for positions in (torch.arange(5), torch.tensor([0, 0, 1, 2, 3])):
        assert_close(weighty().bias(positions, positions, q, k[:, :1]), weighty().bias(positions, positions, q, spread))


def test_attend_takes_the_scale_that_counts_the_terms_unless_one_is_given():
    q, k = heads(5, 5)
    steps, module = torch.arange(5), weighty()
    scores = q @ k.transpose(-1, -2) + explicit(module, q, k, steps, steps)
    _, own = attend(q, k, k, query_positions=steps, encoding=module, return_weights=True)
    assert_close(own, (scores / math.sqrt(3 * 4)).softmax(-1))
    _, given = attend(q, k, k, query_positions=steps, encoding=module, scale=0.2, return_weights=True)
    assert_close(given, (0.2 * scores).softmax(-1))


def test_shared_projections_stay_the_attentions_own():
    module = weighty(shared_projections=True)
    q, k = heads(5, 5)
    steps = torch.arange(5)
    with pytest.raises(RefusedError, match=r"call share\(query_projection, key_projection\) once"):
        module.bias(steps, steps, q, k)
    to_query, to_key = nn.Linear(12, 12).double(), nn.Linear(12, 12).double()
    module.share(to_query, to_key)
    assert list(module.state_dict()) == ["table"]
    apart = weighty()
    apart.table, apart.query_projection, apart.key_projection = module.table, to_query, to_key
    assert_close(module.bias(steps, steps, q, k), apart.bias(steps, steps, q, k))
    with pytest.raises(ArgumentError, match="build it with shared_projections=True"):
        apart.share(to_query, to_key)


def test_a_module_in_half_precision_is_worked_in_float32():
    """The same parameters, exact in bfloat16: what is left is the rounding of float32."""
    module = weighty(**V3).bfloat16()
    q, k = (x.bfloat16() for x in heads(7, 7))
    steps = torch.arange(7)
    found = module.bias(steps, steps, q, k)
    assert found.dtype is torch.float32
    assert_close(found.double(), module.double().bias(steps, steps, q.double(), k.double()), rtol=0, atol=1e-5)


def test_a_shared_projection_of_another_kind_is_called_as_it_is():
    module, apart = weighty(shared_projections=True), weighty()
    to_query, to_key = nn.Linear(12, 12).double(), nn.Linear(12, 12).double()
    doubled = nn.Sequential(to_key, nn.Identity())
    module.share(to_query, doubled)
    apart.table, apart.query_projection, apart.key_projection = module.table, to_query, to_key
    q, k = heads(5, 5)
    assert_close(module.bias(torch.arange(5), torch.arange(5), q, k), apart.bias(torch.arange(5), torch.arange(5), q, k))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_distance": 0}, "max_distance: expected an integer of at least 1"),
        ({"num_buckets": 5, "max_distance": 20}, "num_buckets: expected an even number, got 5"),
        ({"num_buckets": 8, "max_distance": 5}, "max_distance: expected more than 5, past the half of num_buckets"),
        ({"terms": ["p2p"]}, "terms: expected 'c2p', 'p2c' or both"),
        ({"terms": []}, "terms: expected 'c2p', 'p2c' or both"),
        ({"terms": ["c2p", "c2p"]}, "terms: expected 'c2p', 'p2c' or both"),
        ({"impl": "flash"}, "impl: expected 'auto'"),
    ],
)
def test_settings_that_make_no_sense_are_refused_in_words(settings, words):
    with pytest.raises(ArgumentError, match=words):
        weighty(**settings)


def test_every_setting_is_in_the_repr_and_in_a_spec():
    spec = {"num_heads": 2, "head_dim": 4, "max_distance": 64, "num_buckets": 16, "terms": ["p2c"], "hidden_size": 6}
    flags = {"shared_projections": True, "key_bias": False, "norm": True, "impl": "general"}
    told = (
        "DisentangledRelative(2, 4, max_distance=64, num_buckets=16, terms=('p2c',), hidden_size=6, "
        "shared_projections=True, key_bias=False, norm=True, impl='general')"
    )
    assert repr(build(PositionSpec("disentangled", spec | flags))) == told


def queries_and_keys(attention: nn.Module, hidden: Tensor) -> tuple[Tensor, Tensor]:
    project = (attention.query_proj, attention.key_proj)
    return tuple(one(hidden).unflatten(-1, (2, -1)).transpose(1, 2) for one in project)


def run_theirs(model: nn.Module, layers: nn.ModuleList, tokens: Tensor) -> tuple[list[Tensor], tuple[Tensor, ...]]:
    """What went into each layer, and the attention that came out."""
    with torch.no_grad():
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
        out = model(tokens, output_attentions=True, output_hidden_states=True)
    assert len(out.attentions) == len(layers)
    return list(out.hidden_states), out.attentions


@pytest.mark.parametrize("shared", [True, False])
def test_deberta_v3_gives_the_same_attention_in_every_layer(shared):
    """Settings of the released v3 checkpoints, small: log buckets, shared projections, a norm on the table."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.DebertaV2Config(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        relative_attention=True,
        pos_att_type="p2c|c2p",
        position_buckets=8,
        max_position_embeddings=40,
        norm_rel_ebd="layer_norm",
        share_att_key=shared,
        position_biased_input=False,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = transformers.DebertaV2Model(config).double().eval()
    hidden, expected = run_theirs(model, model.encoder.layer, torch.randint(1, 40, (2, 50)))
    for layer, x, weights in zip(model.encoder.layer, hidden, expected, strict=False):
        attention = layer.attention.self
        ours = DisentangledRelative(2, 8, max_distance=40, num_buckets=8, norm=True, shared_projections=shared).double()
        ours.table.data.copy_(model.encoder.rel_embeddings.weight)
        ours.norm = model.encoder.LayerNorm
        if shared:
            ours.share(attention.query_proj, attention.key_proj)
        else:
            ours.key_projection, ours.query_projection = attention.pos_key_proj, attention.pos_query_proj
        q, k = queries_and_keys(attention, x)
        _, found = attend(q, k, k, query_positions=torch.arange(50), encoding=ours, return_weights=True)
        assert_close(found, weights, rtol=0, atol=1e-6)  # their scale is a float32 square root


def test_deberta_v1_gives_the_same_attention_in_every_layer():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.DebertaConfig(
        vocab_size=40,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=8,
        relative_attention=True,
        pos_att_type="c2p|p2c",
        max_relative_positions=12,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    model = transformers.DebertaModel(config).double().eval()
    for length in (7, 20):  # within the clipping distance and past it
        hidden, expected = run_theirs(model, model.encoder.layer, torch.randint(1, 40, (2, length)))
        for layer, x, weights in zip(model.encoder.layer, hidden, expected, strict=False):
            attention = layer.attention.self
            ours = DisentangledRelative(2, 8, max_distance=12, key_bias=False).double()
            ours.table.data.copy_(model.encoder.rel_embeddings.weight)
            ours.key_projection, ours.query_projection = attention.pos_proj, attention.pos_q_proj
            q, k, _ = attention.in_proj(x).unflatten(-1, (2, 24)).transpose(1, 2).chunk(3, dim=-1)
            q = q + attention.q_bias.unflatten(0, (2, 8)).unsqueeze(1)
            _, found = attend(q, k, k, query_positions=torch.arange(length), encoding=ours, return_weights=True)
            assert_close(found, weights, rtol=0, atol=1e-6)


def test_fewer_queries_than_keys_are_rows_of_the_whole_where_transformers_swaps_its_settings():
    """transformers 5.24 hands max_relative_positions and position_buckets over in the wrong order when lengths differ.

    Ours is right: the last rows of the whole must be what a query over a cache gives.
    """
    pytest.importorskip("transformers")
    from transformers.models.deberta_v2.modeling_deberta_v2 import build_relative_position, build_rpos

    module = weighty(max_distance=40, num_buckets=8)
    q, k = heads(30, 30)
    whole = module.bias(torch.arange(30), torch.arange(30), q, k)
    assert_close(module.bias(torch.arange(27, 30), torch.arange(30), q[:, :, 27:], k), whole[:, :, 27:])
    right = build_relative_position(k, k, bucket_size=8, max_position=40)
    assert_close(right[0], module.buckets(torch.arange(30)[:, None] - torch.arange(30)))
    # the model's own call: its max_relative_positions where position_buckets are expected, and the other way round
    theirs = build_rpos(q[:, :, 27:], k, right, 40, 8)
    assert (theirs != right).any()


def test_a_causal_decoder_can_use_it_too():
    q, k = heads(9, 9)
    module, steps = weighty(**V3), torch.arange(9)
    whole = attend(q, k, k, query_positions=steps, encoding=module, mask=Causal())
    last = attend(q[:, :, 8:], k, k, query_positions=steps[8:], key_positions=steps, encoding=module, mask=Causal())
    assert_close(last, whole[:, :, 8:])
