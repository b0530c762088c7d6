"""FlexAttention as a second witness for every bias, and this package's use of it.

Compiling one kernel takes many seconds, so most of what is said here is tested on the parts: a score_mod is a function of index
tensors and can be called on all pairs at once, and torch's own `create_block_mask` is the witness for blocks.
"""

import subprocess
import sys

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.testing import assert_close

import ordinate.attention.flex
from ordinate.attention import Causal, Documents, Mask, Padding, Window, attend
from ordinate.attention.flex import _block_mask, _filled, _mask_mod
from ordinate.errors import ArgumentError, RefusedError
from ordinate.position import FIRE, ALiBi, CoPE, Kerple, Rotary, Sandwich, SelfExtend, T5Bias, WindowBias2D, indices
from tests.position.members import HEAD_DIM, HEADS, MEMBERS, Member

BIASES = [member for member in MEMBERS if hasattr(member.make(), "score_mod")]


def all_pairs(rows, tokens, keys):
    """Index tensors of batch, head, query and key that broadcast to every pair."""
    return (
        torch.arange(rows)[:, None, None, None],
        torch.arange(HEADS)[:, None, None],
        torch.arange(tokens)[:, None],
        torch.arange(keys),
    )


def test_every_distance_bias_has_a_score_mod():
    assert {type(member.make()).__name__ for member in BIASES} >= {
        "ALiBi",
        "T5Bias",
        "Kerple",
        "Sandwich",
        "FIRE",
        "WindowBias2D",
        "ContinuousWindowBias2D",
    }


@pytest.mark.parametrize("member", BIASES, ids=[member.name for member in BIASES])
def test_a_score_mod_adds_the_bias_of_its_pair(member: Member):
    torch.manual_seed(0)
    encoding = member.make()
    queries, keys = indices.consecutive(5, start=torch.tensor([40, 7])), indices.consecutive(60)
    for at, by in (
        (member.positions(queries[0]), member.positions(keys)),
        (member.positions(queries), member.positions(keys)),
        (member.positions(queries), member.positions(torch.stack((keys, keys + 3)))),
    ):
        bias = encoding.bias(at, by)
        scores = torch.randn(2, HEADS, 5, 60)
        modified = encoding.score_mod(at, by)(scores, *all_pairs(2, 5, 60))
        assert_close(modified, scores + bias, rtol=1e-5, atol=1e-5)


def test_a_class_token_has_its_own_score_mod_rows():
    bias = WindowBias2D(HEADS, (3, 3), class_token=True)
    positions = torch.cat((indices.grid(3, 3), torch.tensor([[-1, -1]])))
    modified = bias.score_mod(positions, positions)(torch.zeros(()), *all_pairs(1, 10, 10))
    assert_close(modified, bias.bias(positions, positions))


DOCUMENTS = [200, 130, 70]
PADDED = torch.arange(400) >= torch.tensor([[0], [150]])
MASKS = {
    "none": lambda: None,
    "causal": Causal,
    "window": lambda: Window(150),
    "both sides or start": lambda: Window(40, both_sides=True) | Window(300),
    "documents": lambda: Causal() & Documents(indices.documents(DOCUMENTS)),
    "padding": lambda: Causal() & Padding(PADDED),
    "not": lambda: ~Window(130) & Causal(),
}


@pytest.mark.parametrize("name", MASKS)
def test_blocks_are_those_of_torch_s_create_block_mask(name):
    """400 queries and keys, filled up to 512: torch asks every pair, we ask strips of 128 queries."""
    mask, positions = MASKS[name](), (indices.consecutive(400), indices.consecutive(400))
    ours, seen = _block_mask(mask, positions, (400, 400), (512, 512), torch.device("cpu"))
    rows = 2 if name == "padding" else 1

    def visible(batch, head, query, key):
        real = (query < 400) & (key < 400)
        if mask is None:
            return real
        whole = torch.nn.functional.pad(mask.visible(*positions).expand(rows, 1, 400, 400), (0, 112, 0, 112))
        return real & whole[batch, 0, query, key]

    theirs = create_block_mask(visible, rows, None, 512, 512, device="cpu")

    def listed(counts, numbers):
        return [
            [sorted(row[:count].tolist()) for count, row in zip(*pair, strict=True)]
            for pair in zip(counts, numbers, strict=True)
        ]

    def visited(block_mask, strips):
        """Blocks of keys that each strip of queries visits, whole or in part."""
        found = []
        for row in range(rows):
            some = listed(block_mask.kv_num_blocks[row], block_mask.kv_indices[row])[0]
            whole = listed(block_mask.full_kv_num_blocks[row], block_mask.full_kv_indices[row])[0]
            found.append([sorted(a + b) for a, b in zip(some, whole, strict=True)][:strips])
        return found

    assert visited(ours, 4) == visited(theirs, 4)
    for row in range(rows):  # strips of real queries only: theirs asks pair by pair where queries are filled up
        assert (
            listed(ours.full_kv_num_blocks[row], ours.full_kv_indices[row])[0][:3]
            == (listed(theirs.full_kv_num_blocks[row], theirs.full_kv_indices[row])[0][:3])
        )
    expected_seen = torch.ones(400, dtype=torch.bool) if mask is None else mask.visible(*positions).any(-1)
    assert torch.equal(seen.expand(rows, 1, 400), expected_seen.expand(rows, 1, 400))


@pytest.mark.parametrize("name", [name for name in MASKS if name != "none"])
def test_a_mask_s_rule_for_one_pair_is_its_rule(name):
    mask = MASKS[name]()
    for positions in (
        (indices.consecutive(400), indices.consecutive(400)),
        (indices.from_lengths(DOCUMENTS), indices.from_lengths(DOCUMENTS)),
        (indices.consecutive(400, start=torch.tensor([0, 3])), indices.consecutive(400, start=torch.tensor([3, 0]))),
    ):
        pairs = _mask_mod(mask, positions, (512, 512))(*all_pairs(2, 400, 400))
        expected = mask.visible(*positions)
        assert torch.equal(pairs.expand(2, HEADS, 400, 400), expected.expand(2, HEADS, 400, 400))


def test_few_lengths_are_compiled_for():
    lengths = {_filled(length) for length in range(1, 8193)}
    assert len(lengths) <= 8 + 3 * 4
    assert all(length <= _filled(length) <= max(length * 1.25, length + 127) for length in range(1, 8193))
    assert all(_filled(length) % 128 == 0 for length in range(1, 8193))


def heads(tokens, batch=2, shared=2, seed=0):
    torch.manual_seed(seed)
    return (torch.randn(batch, h, tokens, HEAD_DIM) for h in (HEADS, shared, shared))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoding": ALiBi(HEADS, learned=True)}, "no backward pass on a CPU"),
        ({"encoding": CoPE(16, HEAD_DIM)}, "impl: expected an encoding with a score_mod.*, got 'flex' with CoPE"),
        ({"return_weights": True}, "impl: expected an implementation that forms weights, got flex"),
    ],
)
def test_what_flex_cannot_do_is_refused_and_no_fallback(change, message):
    q, k, v = heads(8)
    with pytest.raises(RefusedError, match=message):
        attend(q, k, v, **{"query_positions": indices.consecutive(8), "impl": "flex", **change})


def test_gradients_and_float64_on_a_cpu_are_refused():
    q, k, v = heads(8)
    with pytest.raises(RefusedError, match=r"no gradients: FlexAttention has no backward pass on a CPU.*take impl='blocked'"):
        attend(q.requires_grad_(), k, v, impl="flex")
    with pytest.raises(RefusedError, match="expected float32 or narrower on a CPU, got 'flex' with float64"):
        attend(q.detach().double(), k.double(), v.double(), impl="flex")


def test_scores_of_another_making_and_masks_of_another_kind_are_refused():
    class EveryOther(Mask):
        def visible(self, query_positions, key_positions):
            return ((query_positions[:, None] - key_positions[None]) % 2 == 0)[None, None]

        def part(self, queries, keys):
            return self

    q, k, v = heads(8)
    row = {"query_positions": indices.consecutive(8), "impl": "flex"}
    with pytest.raises(RefusedError, match=r"mask: expected rules of ordinate.attention.masks.*, got EveryOther"):
        attend(q, k, v, mask=EveryOther(), **row)
    regrouped = next(member for member in MEMBERS if isinstance(member.make(), SelfExtend)).make()
    with pytest.raises(RefusedError, match="got 'flex' with SelfExtend"):
        attend(q, k, v, encoding=regrouped, **row)


def test_importing_attention_leaves_torch_s_compiler_alone():
    """It takes seconds to import, and only who names impl="flex" needs it."""
    program = "import sys, ordinate.attention; print([name for name in sys.modules if name.startswith('torch._dynamo')])"
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("tokens", [0, 1])
def test_no_tokens_need_no_kernel(tokens):
    q, k, v = heads(tokens, batch=tokens)
    out = attend(q[:, :, :0], k, v, query_positions=torch.arange(0), key_positions=torch.arange(tokens), impl="flex")
    assert out.shape == (tokens, HEADS, 0, HEAD_DIM)


@pytest.mark.in_turn(3)
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("name", MASKS)
def test_without_a_kernel_the_same_call_gives_the_formula(name, monkeypatch):
    """torch's FlexAttention uncompiled forms all scores; what is passed to it is what the kernel gets."""
    monkeypatch.setattr(ordinate.attention.flex, "_compiled", lambda: flex_attention)
    encodings = [Rotary(HEAD_DIM, layout="half"), T5Bias(HEADS), ALiBi(HEADS, symmetric=True)]
    witness(400, None if name == "none" else encodings, MASKS[name](), empty_rows="zeros")


def witness(tokens, encoding, mask, shared=2, **settings):
    """`attend` by FlexAttention against the formula; true if no kernel was compiled for it."""
    q, k, v = heads(tokens, shared=shared)
    steps = indices.consecutive(tokens)
    row = {"query_positions": steps, "encoding": encoding, "mask": mask, **settings}
    before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    with torch.no_grad():
        assert_close(attend(q, k, v, impl="flex", **row), attend(q, k, v, impl="reference", **row), rtol=1e-4, atol=1e-5)
    return torch._dynamo.utils.counters["stats"]["unique_graphs"] == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_one_kernel_serves_neighbouring_lengths_and_other_numbers():
    """ALiBi with grouped heads; the second module has slopes of its own, and the length is another."""
    assert not witness(100, ALiBi(HEADS), Causal())
    assert witness(77, ALiBi(HEADS, slopes=[0.1, 0.2, 0.3, 0.4]), Causal())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: T5Bias(HEADS),
        lambda: Kerple(HEADS),
        lambda: Kerple(HEADS, kernel="power"),
        lambda: Sandwich(HEADS),
        lambda: FIRE(HEADS, initial_threshold=50.0),
        lambda: [Rotary(HEAD_DIM, layout="half"), ALiBi(HEADS, symmetric=True), T5Bias(HEADS)],
    ],
)
def test_compiled_flex_attention_is_a_witness_for_every_bias(make):
    witness(150, make(), Causal(), shared=HEADS)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("name", ["none", "both sides or start", "documents", "padding"])
def test_compiled_flex_attention_is_a_witness_for_every_mask(name):
    witness(400, None, MASKS[name](), empty_rows="zeros")


@pytest.mark.slow
def test_a_score_mod_serves_torch_s_own_call_too():
    """Uncompiled, on the plain function, with nothing of this package around it."""
    q, k, v = heads(64, shared=HEADS)
    steps, bias = indices.consecutive(64), T5Bias(HEADS)
    with torch.no_grad():
        with pytest.warns(UserWarning, match="flex_attention called without torch.compile"):
            theirs = flex_attention(q, k, v, score_mod=bias.score_mod(steps, steps))
        assert_close(theirs, attend(q, k, v, query_positions=steps, encoding=bias, impl="reference"), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("culprit", ["query", "key", "value"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_compiled_flex_attention_refuses_what_is_no_number(bad, culprit):
    torch.manual_seed(0)
    inputs = {name: torch.randn(1, 2, 140, 16) for name in ("query", "key", "value")}
    inputs[culprit][0, 0, 3, 0] = bad
    rotary = Rotary(16, layout="half")
    if culprit == "value" and bad == float("inf"):  # an infinite value makes an infinite mean, in every impl
        assert attend(**inputs, query_positions=indices.consecutive(140), encoding=rotary, impl="flex").isinf().any()
        return
    with pytest.raises(ArgumentError, match=f"{culprit}: expected numbers, got (NaN|infinity) in 1 of"):
        attend(**inputs, query_positions=indices.consecutive(140), encoding=rotary, impl="flex")
