"""No subject passes by what it does to the process: a table of hostile ones, in this process where that is safe."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
import torch

from ordinate.errors import ArgumentError, DataError, UnknownNameError
from ordinate.verify import check_rotary
from ordinate.verify.isolation import _construct, check_in_process
from tests.verify import hostile_subjects as hostile

FILE = str(Path(hostile.__file__))
SOME = ["answers-in-kind", "linear", "layout", "frequencies", "input-untouched"]
MORE = [
    *SOME,
    "queries-and-keys-alike",
    "prefill-equals-decode",
    "offsets",
    "earlier-calls",
    "left-padding",
    "batch-neighbour",
    "far-positions",
    "gradients",
]
EVERYDAY = ("ends_the_process", "leaves_a_daemon", "says_that_verdicts_pass", "makes_everything_true")


def check(subject: str, limit: float = 100.0, **settings: object):
    return check_in_process({"subject": subject, "kind": "rotary", "settings": settings}, seconds=limit)


def test_there_are_more_than_forty():
    assert len(hostile.HARMLESS) + len(hostile.DANGEROUS) + len(hostile.AT_IMPORT) > 50


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "subject",  # torch imports much for its first operation on the meta device
    [pytest.param(one, marks=pytest.mark.slow if "meta" in one.__name__ else ()) for one in hostile.HARMLESS],
    ids=lambda one: one.__name__,
)
def test_a_hostile_subject_fails(subject):
    hostile.CALLS[0] = 0
    if subject.__name__ in ("returns_a_meta_tensor", "returns_another_shape"):  # nothing that a rotation could be
        with pytest.raises(ArgumentError, match=r"came back|meta"):
            check_rotary(subject, only=MORE)
        return
    verdict = check_rotary(subject, only=MORE)
    assert not verdict.passed
    assert verdict.failed[0].evidence


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.in_turn(2) if name in EVERYDAY else pytest.mark.slow) for name in hostile.DANGEROUS],
)
def test_a_hostile_subject_fails_in_a_process_of_its_own(name):
    clock = name in ("loops_past_every_exception", "stops_the_clock")
    settings = {"seconds": 1.0} if clock else {}
    settings |= {"skip": ["compile"]} if name.endswith("50th_call") else {"only": SOME}
    verdict = check(f"{FILE}:{name}", limit=25 if clock else 100, **settings)
    assert not verdict.passed
    assert verdict.summary.startswith("failed")
    assert (f"{FILE}" not in _running()) or sys.platform != "linux"


def _running() -> str:
    """Command lines of the processes that carry the mark of a run."""
    time.sleep(0.2)
    lines = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if b"ORDINATE_VERIFY_RUN=" in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                lines.append((entry / "cmdline").read_bytes().decode())
        except OSError:
            continue
    return "\n".join(lines)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "ends the process" else pytest.mark.slow) for n in hostile.AT_IMPORT]
)
def test_a_module_that_does_not_import_is_wrong_use(name, tmp_path):
    (tmp_path / "mine.py").write_text(hostile.AT_IMPORT[name])
    if name.startswith("patches"):
        assert not check(f"{tmp_path}/mine.py:rope", only=SOME).passed
        return
    with pytest.raises(DataError, match="imports"):
        check(f"{tmp_path}/mine.py:rope")


def test_a_right_subject_passes_and_what_it_prints_is_no_answer(tmp_path, capfd, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    source = Path(FILE).read_text().split("# harmless")[0]
    talks = """

def talks(x, positions):
    import sys
    print(f'so far so good, {sys.dont_write_bytecode=}')
    return right(x, positions)
"""
    (tmp_path / "mine.py").write_text(source + talks)
    lines: list[str] = []
    request = {"subject": f"{tmp_path}/mine.py:talks", "kind": "rotary", "settings": {"only": ["layout", "offsets"]}}
    verdict = check_in_process(request, progress=lines.append)
    assert verdict.passed
    assert "offsets (2 of 2)" in lines
    out, err = capfd.readouterr()
    assert out == ""
    assert "so far so good" in err
    assert "sys.dont_write_bytecode=False" in err  # else each check would compile torch's own modules again
    assert not (tmp_path / "__pycache__").exists()


def test_wrong_use_comes_back_as_the_error_that_it_is():
    with pytest.raises(UnknownNameError, match="did you mean"):
        check(f"{FILE}:rigth")


CLASSES = """
from dataclasses import dataclass

class Rope:
    def __init__(self, dim, theta=10000.0):
        self.dim, self.theta = dim, theta
    def __call__(self, x, positions):
        rates = self.theta ** -(torch.arange(0, self.dim, 2) / self.dim)
        theta = positions[..., None] * rates
        theta = theta[:, None] if positions.ndim == 2 else theta
        a, b = x.chunk(2, -1)
        cos, sin = theta.cos(), theta.sin()
        return torch.cat((a * cos - b * sin, a * sin + b * cos), -1).to(x.dtype)

class OfConfig(Rope):
    def __init__(self, config):
        super().__init__(config.hidden_size // config.num_attention_heads, config["rope_theta"])

@dataclass
class Args:
    dim: int = 64
    theta: float = 10000.0

class OfArgs(Rope):
    def __init__(self, args: Args):
        super().__init__(args.dim, args.theta)
"""


@pytest.mark.parametrize(
    ("name", "arguments", "settings"),
    [
        ("OfConfig", {}, {"head_dim": 32, "base": 5e5}),
        (
            "OfConfig",
            {"config": {"hidden_size": 128, "num_attention_heads": 4, "rope_theta": 1e6}},
            {"head_dim": 32, "base": 1e6},
        ),
        ("OfArgs", {}, {}),
        ("OfArgs", {"args": {"dim": 32}}, {"head_dim": 32}),
        ("Rope", {"theta": 5e5}, {"base": 5e5}),
    ],
    ids=str,
)
def test_a_class_is_made_from_a_config_a_dataclass_or_arguments(name, arguments, settings):
    namespace = {"torch": torch}
    exec(CLASSES, namespace)
    made = _construct(namespace[name], settings, arguments)
    assert check_rotary(made, only=["layout", "frequencies", "offsets"], **settings).passed


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("Rope", {"dimm": 64}, 'did you mean "dim"'),
        ("OfConfig", {"config": 3}, "raises AttributeError"),
        ("OfArgs", {"args": {"dims": 3}}, "dims"),
    ],
)
def test_arguments_that_a_class_does_not_take_are_wrong_use(name, arguments, says):
    namespace = {"torch": torch}
    exec(CLASSES, namespace)
    with pytest.raises(ArgumentError, match=says):
        _construct(namespace[name], {}, arguments)
