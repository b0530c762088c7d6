"""Which transforms of torch each implementation of `attend` carries: the table of docs/attention.md is checked here."""

import itertools
import re
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.testing import assert_close

from ordinate.attention import Causal, attend, choose
from ordinate.errors import RefusedError
from ordinate.position import ALiBi, Rotary, indices

DOCS = Path(__file__).resolve().parents[2] / "docs" / "attention.md"
ENCODINGS = [Rotary(8, layout="half"), ALiBi(4)]
QUERY, KEY, VALUE = torch.randn(3, 2, 4, 6, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore:There is a performance drop")


def run(impl, encoding, query=QUERY, key=KEY, value=VALUE):
    steps = indices.consecutive(6, device=query.device)
    return attend(query, key, value, query_positions=steps, encoding=encoding, mask=Causal(), impl=impl)


def by_reference(encoding, *inputs):
    return run("reference", encoding, *inputs)


def slope(f, x):
    """The derivative of f at x along ones, by finite differences."""
    step = 1e-6 * torch.ones_like(x)
    return (f(x + step) - f(x - step)) / 2e-6


def vmap(impl, encoding):
    rows = (x.unsqueeze(1) for x in (QUERY, KEY, VALUE))
    assert_close(torch.vmap(lambda *row: run(impl, encoding, *row))(*rows).squeeze(1), by_reference(encoding))


def jvp(impl, encoding):
    def f(x):
        return run(impl, encoding, x)

    _, tangent = torch.func.jvp(f, (QUERY,), (torch.ones_like(QUERY),))
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(f(forward_ad.make_dual(QUERY, torch.ones_like(QUERY))))
    want = slope(lambda x: by_reference(encoding, x), QUERY)
    assert_close(tangent, want, rtol=1e-5, atol=1e-6)
    assert_close(dual.tangent, want, rtol=1e-5, atol=1e-6)


def vjp(impl, encoding):
    pull = torch.func.vjp(lambda x: run(impl, encoding, x), QUERY)[1]
    along = pull(torch.ones_like(VALUE))[0].sum()
    assert_close(along, slope(lambda x: by_reference(encoding, x), QUERY).sum(), rtol=1e-5, atol=1e-6)


def double_backward(impl, encoding):
    inputs = [x[:1, :, :3].clone().requires_grad_() for x in (QUERY, KEY, VALUE)]

    def f(*some):
        steps = indices.consecutive(3)
        return attend(*some, query_positions=steps, encoding=encoding, mask=Causal(), impl=impl)

    (grad,) = torch.autograd.grad(f(*inputs).square().sum(), inputs[0], create_graph=True)
    assert grad.requires_grad
    assert torch.autograd.gradgradcheck(f, inputs)


def compiled(impl, encoding):
    torch._dynamo.reset()
    quick = torch.compile(lambda *inputs: run(impl, encoding, *inputs), backend="eager")
    assert_close(quick(QUERY, KEY, VALUE), by_reference(encoding))


def export(impl, encoding):
    class Module(nn.Module):
        def forward(self, query, key, value):
            return run(impl, encoding, query, key, value)

    program = torch.export.export(Module(), (QUERY, KEY, VALUE))
    assert_close(program.module()(QUERY, KEY, VALUE), by_reference(encoding))


def autocast(impl, encoding):
    inputs = [x.float() for x in (QUERY, KEY, VALUE)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = run(impl, encoding, *inputs)
    within = 1e-5 if output.dtype is torch.float32 else 2e-2
    assert_close(output.double(), by_reference(encoding), rtol=within, atol=within)
    return "in its dtype" if output.dtype is torch.bfloat16 else "yes"


def meta(impl, encoding):
    output = run(impl, encoding, *(x.to("meta") for x in (QUERY, KEY, VALUE)))
    assert (output.device.type, output.shape, output.dtype) == ("meta", VALUE.shape, VALUE.dtype)


def inference_mode(impl, encoding):
    with torch.inference_mode():
        output = run(impl, encoding)
    assert_close(output, by_reference(encoding))


TRANSFORMS = [vmap, jvp, vjp, double_backward, compiled, export, autocast, meta, inference_mode]
IMPLEMENTATIONS = ["auto", "reference", "sdpa", "blocked"]


def outcome(transform, impl, encoding):
    try:
        return transform(impl, encoding) or "yes"
    except RefusedError as error:
        return "refused" if error.argument == "impl" else f"refused: {error}"


def documented():
    """The table of docs/attention.md: {(implementation, transform): text}."""
    text = DOCS.read_text()
    lines = re.search(r"<!-- transforms -->\n(.*?)\n<!-- end -->", text, re.DOTALL).group(1).splitlines()
    rows = [[cell.strip().strip('`"') for cell in line.strip("|").split("|")] for line in lines]
    return {(row[0], name): cell for row in rows[2:] for name, cell in zip(rows[0][1:], row[1:], strict=True)}


CASES = [
    pytest.param(
        transform, impl, id=f"{transform.__name__} {impl}", marks=[pytest.mark.slow] * (transform in (compiled, export))
    )
    for transform, impl in itertools.product(TRANSFORMS, IMPLEMENTATIONS)
]


@pytest.mark.parametrize(("transform", "impl"), CASES)
def test_the_table_in_the_docs_is_what_happens(transform, impl):
    outcomes = {outcome(transform, impl, encoding) for encoding in ENCODINGS}
    assert outcomes == {documented()[impl, transform.__name__.replace("_", " ")]}


def test_auto_says_which_transform_it_steps_aside_for():
    reasons = []

    def f(x):
        reasons.append(choose().reason)
        return run("auto", None, x)

    torch.vmap(f)(QUERY.unsqueeze(1).expand(-1, 2, -1, -1, -1))
    assert reasons == ["the kernel does not carry vmap"]
    assert choose().impl == "sdpa"


@pytest.mark.parametrize("transform", [vmap, jvp, vjp])
def test_flex_is_refused_under_transforms_by_name(transform):
    with pytest.raises(RefusedError, match="impl: expected neither a transform"):
        transform("flex", None)
