"""Which of torch's transforms each encoding carries: tried here, and the table in docs/position.md is what came of it.

`torch.compile` and `torch.export` have tests of their own in `test_contracts.py`, which every encoding passes.
"""

import copy
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from ordinate.errors import OrdinateError
from ordinate.position import indices
from tests.position.members import HEAD_DIM, HEADS, MEMBERS, Member
from tests.position.test_contracts import Called

DOCS = Path(__file__).resolve().parents[2] / "docs" / "position.md"
TOKENS = 6
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own, where jvp is first used


def case(member: Member):
    torch.manual_seed(0)
    module = Called(member).double()
    steps = indices.consecutive(TOKENS)
    q, k = torch.randn(2, 2, HEADS, TOKENS, HEAD_DIM, dtype=torch.float64)
    return module, member.positions(steps), q, k


def vmap_over_content(member: Member) -> None:
    module, positions, q, k = case(member)
    queries, keys = torch.stack((q, q + 1)), torch.stack((k, k - 1))
    found = torch.vmap(lambda q, k: module.call(q, k, positions))(queries, keys)
    assert_close(found, torch.stack([module.call(*both, positions) for both in zip(queries, keys, strict=True)]))


def vmap_over_positions(member: Member) -> None:
    module, positions, q, k = case(member)
    several = torch.stack((positions, positions.flip(0)))
    found = torch.vmap(lambda positions: module.call(q, k, positions))(several)
    assert_close(found, torch.stack([module.call(q, k, one) for one in several]))


def jvp(member: Member) -> None:
    """The directional derivative, against a central difference."""
    module, positions, q, k = case(member)
    direction = torch.randn_like(q)

    def of(q: Tensor) -> Tensor:
        return module.call(q, k, positions)

    _, found = torch.func.jvp(of, (q,), (direction,))
    step = 1e-6
    assert_close(found, (of(q + step * direction) - of(q - step * direction)) / (2 * step), rtol=1e-5, atol=1e-6)


def vjp(member: Member) -> None:
    """The same as the gradient of a weighted sum in eager mode."""
    module, positions, q, k = case(member)
    output, pull = torch.func.vjp(lambda q: module.call(q, k, positions), q)
    weight = torch.randn_like(output)
    x = q.clone().requires_grad_()
    eager = module.call(x, k, positions)
    if eager.requires_grad:
        (expected,) = torch.autograd.grad((eager * weight).sum(), x, allow_unused=True)
        assert_close(pull(weight)[0], torch.zeros_like(q) if expected is None else expected)


def double_backward(member: Member) -> None:
    module, positions, q, k = case(member)
    tensors = [q.clone().requires_grad_(), *(p for p in module.parameters() if p.requires_grad)]

    def slope(x: Tensor) -> Tensor | None:
        grads = torch.autograd.grad(module.call(x, k, positions).square().sum(), tensors, create_graph=True, allow_unused=True)
        return sum(grad.square().sum() for grad in grads if grad is not None)

    if not module.call(tensors[0], k, positions).requires_grad:
        return
    total = slope(tensors[0])
    if isinstance(total, Tensor) and total.requires_grad:
        total.backward()
        assert all(tensor.grad is None or tensor.grad.isfinite().all() for tensor in tensors)


def autocast(member: Member) -> None:
    """No worse than inputs in float32 without it, since angles, biases and scores are formed in float32 or wider."""
    module, positions, q, k = case(member)
    module.float()
    expected = module.call(q.float(), k.float(), positions)
    with torch.autocast("cpu", torch.bfloat16):
        found = module.call(q.float(), k.float(), positions)
    assert found.dtype is expected.dtype
    assert_close(found, expected, rtol=1e-5, atol=1e-5)


def meta(member: Member) -> None:
    module, positions, q, k = case(member)
    empty = copy.deepcopy(module).to("meta")
    found = empty.call(q.to("meta"), k.to("meta"), positions.to("meta"))
    assert found.is_meta
    assert found.shape == module.call(q, k, positions).shape


def inference_mode(member: Member) -> None:
    """First under inference mode, then with a gradient, to positions too where they may be real numbers."""
    module, positions, q, k = case(member)
    with torch.inference_mode():
        expected = module.call(q, k, positions)
    x = q.clone().requires_grad_()
    if member.interface == "rotates":
        positions = positions.double().requires_grad_()
    found = module.call(x, k, positions)
    assert_close(found, expected.clone(), rtol=1e-12, atol=1e-12)
    if found.requires_grad:
        found.square().sum().backward()


TRANSFORMS = {
    "vmap": vmap_over_content,
    "vmap of positions": vmap_over_positions,
    "jvp": jvp,
    "vjp": vjp,
    "double backward": double_backward,
    "autocast": autocast,
    "meta": meta,
    "inference mode": inference_mode,
}
# what is refused, by the row's name and the transform: the argument that the error names
REFUSED = {
    (name, transform): "length"
    for name in ("rotary-dynamic", "rotary-stepped", "rotary-longrope")
    for transform in ("vmap of positions", "meta")
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("member", MEMBERS, ids=lambda member: member.name)
def test_a_transform_is_carried_or_refused_by_name(member, transform):
    argument = REFUSED.get((member.name, transform))
    if argument is None:
        TRANSFORMS[transform](member)
    else:
        with pytest.raises(OrdinateError, match=f"^{argument}: expected"):
            TRANSFORMS[transform](member)


def table() -> str:
    """The table of the docs: a row for each class, and for a scaling that is treated apart."""
    head = ["encoding", *TRANSFORMS, "compile", "export"]
    rows: dict[str, list[str]] = {}
    for member in MEMBERS:
        refused = {transform for name, transform in REFUSED if name == member.name}
        name = type(member.make()).__name__ + (" with a scaling by length" if refused else "")
        cells = ["needs `length`" if transform in refused else "yes" for transform in TRANSFORMS]
        rows.setdefault(f"`{name}`" if not refused else f"`{name.split()[0]}` {name.partition(' ')[2]}", [*cells, "yes", "yes"])
    lines = [
        head,
        ["---"] * len(head),
        *([name, *cells] for name, cells in sorted(rows.items(), key=lambda row: row[0].lower())),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def test_the_table_in_the_docs_is_what_was_tried():
    assert table() in DOCS.read_text(encoding="utf-8"), f"docs/position.md wants this table:\n{table()}"
