"""Rotation of queries and keys: time beside the limit (a plain copy), beside other libraries, and memory.

Ours is `rotate_pairs` with tables made once, as the others are given theirs; "with tables" adds making them, once for both
(`Rotary.rotate_both`) or once for each (`Rotary.rotate` twice). Peers: transformers (`apply_rotary_pos_emb`),
rotary-embedding-torch (`apply_rotary_emb`), x-transformers, torchtune's formula, and a bare complex multiplication, which is
float32 only. One process, one thread, interleaved, medians. Where a limit is missed, the profile says where the time goes.
Run: python bench/rotation.py
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable

import torch
from interleaved import median_seconds
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ordinate.lab.machine import machine, versions
from ordinate.position import Rotary, rotate_pairs

LAYOUTS = ("half", "interleaved")
Ways = dict[str, Callable[[], object]]

# what the rotation must reach, as multiples of the median beside it
BARS = {
    torch.float32: {"new memory": ("clone", 1.1), "in place": ("copy", 1.5)},
    torch.bfloat16: {"new memory": ("clone", 4.0), "in place": ("copy", 4.0)},
}
BACKWARD_BAR = 1.5


def torchtune_formula(x: Tensor, table: Tensor) -> Tensor:
    """As torchtune's RotaryPositionalEmbeddings: pairs in float32, table [T, P, 2]."""
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    cos, sin = table[..., 0], table[..., 1]
    turned = (pairs[..., 0] * cos - pairs[..., 1] * sin, pairs[..., 1] * cos + pairs[..., 0] * sin)
    return torch.stack(turned, dim=-1).flatten(3).type_as(x)


def complex_formula(x: Tensor, turn: Tensor) -> Tensor:
    """As Meta's apply_rotary_emb."""
    return torch.view_as_real(torch.view_as_complex(x.float().unflatten(-1, (-1, 2))) * turn).flatten(-2).type_as(x)


def peers(query: Tensor, key: Tensor, cos: Tensor, sin: Tensor) -> Ways:
    """The same rotation by others, each given its tables; a library that is missing is left out."""
    spread = {"half": lambda t: torch.cat((t, t), dim=-1), "interleaved": lambda t: t.repeat_interleave(2, dim=-1)}
    table, turn = torch.stack((cos, sin), dim=-1), torch.complex(cos, sin)
    ways: Ways = {
        "torchtune's formula": lambda: (torchtune_formula(query, table), torchtune_formula(key, table)),
        "complex multiply": lambda: (complex_formula(query, turn), complex_formula(key, turn)),
    }
    try:
        from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

        # transformers hands its tables over in the dtype of the model
        both = [spread["half"](t).to(query.dtype).unsqueeze(0) for t in (cos, sin)]
        ways["transformers"] = lambda: apply_rotary_pos_emb(query, key, *both)
    except ImportError:
        pass
    angles = spread["interleaved"](torch.atan2(sin, cos))
    try:
        from rotary_embedding_torch import apply_rotary_emb

        ways["rotary-embedding-torch"] = lambda: (apply_rotary_emb(angles, query), apply_rotary_emb(angles, key))
    except ImportError:
        pass
    try:
        from x_transformers.x_transformers import apply_rotary_pos_emb as apply_x

        ways["x-transformers"] = lambda: (apply_x(query, angles[None]), apply_x(key, angles[None]))
    except ImportError:
        pass
    return ways


class NewMemory(TorchDispatchMode):
    """Bytes of the storages that operations make."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[int, Tensor] = {}

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        given = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        result = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and tensor.untyped_storage()._cdata not in given:
                self.held.setdefault(tensor.untyped_storage()._cdata, tensor)  # held: no address is given twice
        return result

    @property
    def nbytes(self) -> int:
        return sum(tensor.untyped_storage().nbytes() for tensor in self.held.values())


def profile(way: Callable[[], object], rows: int = 6) -> list[tuple[str, float]]:
    """The operations that take longest, each with its share of the time."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as seen:
        for _ in range(10):
            way()
    events = sorted(seen.key_averages(), key=lambda event: -event.self_cpu_time_total)
    total = sum(event.self_cpu_time_total for event in events)
    return [(event.key, event.self_cpu_time_total / total) for event in events[:rows]]


def run(
    dtype: torch.dtype, shape: tuple[int, ...], rounds: int, clock: str
) -> tuple[dict[str, object], list[dict[str, object]]]:
    """Time everything in one dtype, print the table, and return it with the verdicts."""
    tokens, channels = shape[2:]
    query, key = torch.randn(2, *shape).to(dtype).unbind()
    query_out, key_out = torch.empty_like(query), torch.empty_like(key)
    steps = torch.arange(tokens)
    modules = {layout: Rotary(channels, layout=layout) for layout in LAYOUTS}
    cos, sin = modules["half"].tables(steps)

    def refill() -> None:
        query_out.copy_(query)
        key_out.copy_(key)

    def apply(layout: str, out: bool = False) -> Callable[[], object]:
        def call() -> object:
            if out:
                return [rotate_pairs(x, cos, sin, layout=layout, out=x) for x in (query_out, key_out)]
            return [rotate_pairs(x, cos, sin, layout=layout) for x in (query, key)]

        return call

    def with_out(layout: str) -> Callable[[], object]:
        return lambda: [rotate_pairs(x, cos, sin, layout=layout, out=y) for x, y in ((query, query_out), (key, key_out))]

    ways: Ways = {"copy": lambda: (query_out.copy_(query), key_out.copy_(key)), "clone": lambda: (query.clone(), key.clone())}
    for layout in LAYOUTS:
        module = modules[layout]
        ways[f"{layout}: new memory"] = apply(layout)
        ways[f"{layout}: other memory"] = with_out(layout)
        ways[f"{layout}: in place"] = apply(layout, out=True)
        ways[f"{layout}: both, with tables"] = lambda module=module: module.rotate_both(query, key, steps)
        ways[f"{layout}: each, with tables"] = lambda module=module: [module.rotate(x, steps) for x in (query, key)]
    with torch.no_grad():
        taken = median_seconds(ways | peers(query, key, cos, sin), rounds, before=refill, clock=clock)

    limits: list[dict[str, object]] = []
    for layout in LAYOUTS:
        for form, (beside, bar) in BARS[dtype].items():
            ratio = taken[f"{layout}: {form}"] / taken[beside]
            limits.append({"dtype": str(dtype), "what": f"{layout}: {form}", "beside": beside, "ratio": ratio, "bar": bar})

    inputs = [x.clone().requires_grad_() for x in (query, key)]
    weights = [torch.randn_like(x) for x in inputs]
    for layout in LAYOUTS:
        turned = [rotate_pairs(x, cos, sin, layout=layout) for x in inputs]
        pair: Ways = {
            "forward": lambda layout=layout: [rotate_pairs(x, cos, sin, layout=layout) for x in inputs],
            "backward": lambda turned=turned: torch.autograd.grad(turned, inputs, weights, retain_graph=True),
        }
        times = median_seconds(pair, rounds, clock=clock)
        taken |= {f"{layout}: {name} of training": seconds for name, seconds in times.items()}
        ratio = times["backward"] / times["forward"]
        what = f"{layout}: backward of training"
        limits.append({"dtype": str(dtype), "what": what, "beside": "its forward", "ratio": ratio, "bar": BACKWARD_BAR})

    print(f"\n{str(dtype).removeprefix('torch.')}: milliseconds, and multiples of copy and of clone")
    for name, seconds in taken.items():
        print(f"  {name:<36}{1e3 * seconds:9.2f} {seconds / taken['copy']:8.2f}x {seconds / taken['clone']:8.2f}x")

    output = sum(x.numel() * x.element_size() for x in (query, key))
    memory = {}
    with torch.no_grad():
        for layout in LAYOUTS:
            for form, way in (("new memory", apply(layout)), ("in place", apply(layout, out=True))):
                with NewMemory() as made:
                    way()
                memory[f"{layout}: {form}"] = made.nbytes / output
    print("  new memory as multiples of the outputs: " + ", ".join(f"{name} {share:.3f}" for name, share in memory.items()))

    for limit in limits:
        if limit["ratio"] > limit["bar"] and "backward" not in str(limit["what"]):
            with torch.no_grad():
                shares = profile(ways[str(limit["what"])])
            limit["profile"] = {name: round(share, 3) for name, share in shares}
    milliseconds = {name: round(1e3 * seconds, 3) for name, seconds in taken.items()}
    return {"milliseconds": milliseconds, "new_memory_over_outputs": memory}, limits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15, help="timed turns of each way")
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where others use the machine too")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape = (1, 32, given.tokens, 128)
    print(f"rotation of queries and keys {shape}, one thread\n  {machine()}\n  {versions()}")
    result: dict[str, object] = {"bench": "rotation", "shape": shape, "rounds": given.rounds, "clock": given.clock}
    limits = []
    for dtype in (torch.float32, torch.bfloat16):
        result[str(dtype).removeprefix("torch.")], found = run(dtype, shape, given.rounds, given.clock)
        limits += found

    print("\nlimits")
    for limit in limits:
        reached = "reached" if limit["ratio"] <= limit["bar"] else "MISSED "
        name = f"{limit['dtype'].removeprefix('torch.')} {limit['what']}"
        print(f"  {reached} {name:<40} {limit['ratio']:5.2f}x {limit['beside']}, at most {limit['bar']}x")
        for operation, share in limit.get("profile", {}).items():
            print(f"            {share:6.1%} {operation}")
    for limit in limits:
        limit["ratio"] = round(float(limit["ratio"]), 3)
    print()
    print(json.dumps(result | {"limits": limits, "machine": machine(), "versions": versions()}))


if __name__ == "__main__":
    main()
