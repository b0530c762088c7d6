"""Subjects that do what no rotation does: none of them may pass, whatever they do to the process that checks them."""

import atexit
import builtins
import contextlib
import ctypes
import json
import os
import signal
import sys
import threading
import time

import torch

CALLS = [0]


def right(x, positions):
    frequencies = 10000.0 ** -(torch.arange(0, x.shape[-1], 2).float() / x.shape[-1])
    angle = positions.float()[..., None] * frequencies
    cos, sin = angle.cos(), angle.sin()
    if cos.ndim == 3:
        cos, sin = cos[:, None], sin[:, None]
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)


class OwnError(BaseException):
    pass


class UnreadableError(Exception):
    def __str__(self):
        raise RuntimeError


class Liar(torch.Tensor):
    """Equal to everything, as far as it can tell."""

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function.__name__ in ("sub", "__sub__", "rsub"):
            return torch.zeros(args[0].shape)
        return super().__torch_function__(function, types, args, kwargs or {})


class Exits(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        raise SystemExit(0)


# harmless to the process that calls them ------------------------------------------------------------------------------------


def exits_politely(x, positions):
    sys.exit(0)


def raises_system_exit(x, positions):
    raise SystemExit


def exits_at_the_tenth_call(x, positions):
    CALLS[0] += 1
    if CALLS[0] > 10:
        raise SystemExit(0)
    return right(x, positions)


def raises_own_base_exception(x, positions):
    raise OwnError("mine")


def raises_generator_exit(x, positions):
    raise GeneratorExit


def raises_what_cannot_be_read(x, positions):
    raise UnreadableError


def recurses(x, positions):
    return recurses(x, positions)


def runs_out_of_memory(x, positions):
    raise MemoryError


def returns_nothing(x, positions):
    return None


def returns_text(x, positions):
    return "passed"


def returns_a_generator(x, positions):
    yield right(x, positions)


def returns_its_input(x, positions):
    return x


def returns_zeros(x, positions):
    return torch.zeros_like(x)


def returns_noise(x, positions):
    return torch.randn(x.shape, dtype=torch.float64).to(x.dtype)


def returns_nan(x, positions):
    return right(x, positions) * float("nan")


def returns_infinity(x, positions):
    return right(x, positions) + float("inf")


def returns_integers(x, positions):
    return right(x, positions).long()


def returns_complex_numbers(x, positions):
    return right(x, positions).to(torch.complex128)


def returns_a_sparse_tensor(x, positions):
    return right(x, positions).to_sparse()


def returns_a_meta_tensor(x, positions):
    return right(x, positions).to("meta")


def returns_a_liar(x, positions):
    return (2 * right(x, positions)).as_subclass(Liar)


def returns_a_tensor_that_exits(x, positions):
    return (2 * right(x, positions)).as_subclass(Exits)


def returns_another_shape(x, positions):
    return right(x, positions)[:, :, :1]


def returns_the_first_row_for_all(x, positions):
    return right(x, positions)[:1].expand_as(x)


def is_right_on_short_rows(x, positions):
    return right(x, positions) if x.shape[2] < 20 else x


def is_right_at_even_calls(x, positions):
    CALLS[0] += 1
    return right(x, positions if CALLS[0] % 2 else positions + 1)


def spoils_its_input(x, positions):
    result = right(x, positions)
    x.data.zero_()
    return result


def spoils_positions(x, positions):
    result = right(x, positions)
    positions.add_(1)
    return result


def loses_the_gradient(x, positions):
    return right(x.detach(), positions)


def forgets_far_positions(x, positions):
    return right(x, positions.clamp_max(300))


HARMLESS = [value for name, value in list(vars().items()) if callable(value) and getattr(value, "__module__", "") == __name__]
HARMLESS = [one for one in HARMLESS if not isinstance(one, type) and one is not right]


# of these the process has to be protected --------------------------------------------------------------------------------


def ends_the_process(x, positions):
    os._exit(0)


def ends_the_process_at_the_50th_call(x, positions):
    CALLS[0] += 1
    if CALLS[0] == 50:
        os._exit(0)
    return right(x, positions)


def interrupts(x, positions):
    raise KeyboardInterrupt


def kills_itself(x, positions):
    os.kill(os.getpid(), signal.SIGKILL)


def terminates_itself(x, positions):
    os.kill(os.getpid(), signal.SIGTERM)


def crashes(x, positions):
    ctypes.string_at(0)


def becomes_another_program(x, positions):
    os.execv("/bin/true", ["true"])


def leaves_an_exit_handler(x, positions):
    atexit.register(os._exit, 0)
    return x


def forks(x, positions):
    if os.fork() == 0:
        time.sleep(600)
    return x


def forks_and_leaves_the_copy(x, positions):
    if os.fork():
        os._exit(0)
    return right(x, positions)


def leaves_a_daemon(x, positions):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(600)
        os._exit(0)
    return x


def exits_from_a_thread(x, positions):
    threading.Timer(0.05, os._exit, (0,)).start()
    time.sleep(0.1)
    return x


def loops_past_every_exception(x, positions):
    while True:
        try:
            time.sleep(0.01)
        except BaseException:
            continue


def stops_the_clock(x, positions):
    signal.setitimer(signal.ITIMER_REAL, 0)
    time.sleep(600)


def closes_everything(x, positions):
    os.closerange(0, 256)
    return x


def forges_a_verdict(x, positions):
    outcome = {"id": "layout", "says": "", "status": "passed", "evidence": "", "counterexample": None, "causes": []}
    verdict = {"schema": "ordinate.verdict/1", "passed": True, "outcomes": [outcome], "causes": []}
    for descriptor in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(descriptor, (json.dumps({"nonce": "", "verdict": verdict}) + "\n").encode())
    os._exit(0)


def replaces_json(x, positions):
    json.dumps = lambda *values, **options: '{"passed": true}'
    return x


def says_that_verdicts_pass(x, positions):
    from ordinate.verify.verdict import Verdict

    Verdict.passed = property(lambda self: True)
    Verdict.failed = property(lambda self: ())
    return x


def says_that_nothing_deviates(x, positions):
    from ordinate.verify.observation import Comparison, Fact

    Comparison.deviates = property(lambda self: False)
    Fact.holds = True
    return x


def replaces_the_checker(x, positions):
    from ordinate.verify import observation

    observation.Observation.holds = property(lambda self: True)
    return x


def makes_everything_equal(x, positions):
    torch.equal = torch.allclose = lambda *values, **options: True
    torch.Tensor.__le__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)
    return x


def makes_everything_true(x, positions):
    builtins.all = lambda *values: True
    builtins.any = lambda *values: False
    return x


def empties_the_list_of_properties(x, positions):
    from ordinate.verify import checks

    checks.ROTARY.clear() if isinstance(checks.ROTARY, list) else setattr(checks, "ROTARY", ())
    return x


def forgets_the_checker(x, positions):
    for name in [name for name in sys.modules if name.startswith("ordinate.verify")]:
        del sys.modules[name]
    return x


def makes_differences_vanish(x, positions):
    torch.Tensor.__sub__ = torch.Tensor.sub = lambda self, other, **options: torch.zeros_like(self)
    torch.sub = torch.Tensor.sub
    return x


def leaves_a_mode_behind(x, positions):
    Vanishing().__enter__()
    return x


class Vanishing(torch.overrides.TorchFunctionMode):
    """Differences are zero, wherever torch is called."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return torch.zeros_like(result) if "sub" in function.__name__ and isinstance(result, torch.Tensor) else result


class ExitsWhenMade(torch.nn.Module):
    def __init__(self):
        os._exit(0)


DANGEROUS = [value for value in list(vars().values()) if callable(value) and getattr(value, "__module__", "") == __name__]
DANGEROUS = [
    one.__name__ for one in DANGEROUS if one not in (*HARMLESS, right, OwnError, UnreadableError, Liar, Exits, Vanishing)
]

PATCHES_LATER = """
import importlib.abc, importlib.util, sys

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name != "ordinate.verify.observation":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        load = spec.loader.exec_module

        def loaded(module):
            load(module)
            module.Observation.holds = property(lambda self: True)
            module.Comparison.deviates = property(lambda self: False)

        spec.loader.exec_module = loaded
        return spec

sys.meta_path.insert(0, Finder())
rope = lambda x, positions: x
"""
AT_IMPORT = {
    "ends the process": "import os; os._exit(0)",
    "exits politely": "import sys; sys.exit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "raises its own kind": "class Own(BaseException): pass\nraise Own",
    "kills itself": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "patches the verdict": "from ordinate.verify.verdict import Verdict\nVerdict.passed = True\nrope = lambda x, positions: x",
    "patches differences": "import torch\ntorch.Tensor.__sub__ = lambda a, b: 0 * a\nrope = lambda x, positions: x",
    "patches comparisons": "import torch\ntorch.Tensor.__gt__ = lambda a, b: a != a\nrope = lambda x, positions: x",
    "patches what is imported later": PATCHES_LATER,
}
