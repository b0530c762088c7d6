"""D20. The article: a trained logic network classifies over a million images a second on one core.

What varies is what is timed: the gates alone, from packed words to the last layer, or everything from bytes to the class, with
packing, counting and comparing; and what runs them: compiled C, or the runtime that needs no compiler. Every way must give the
classes of the netlist evaluated gate by gate. `bench/logic_inference.py` puts torchlogix's compiled C beside it.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from ordinate.articles.d.logic_digits import digits_for, one_thread
from ordinate.articles.d.trained_gates import enlarged, trained_circuit
from ordinate.lab.claim import Claim, Inputs
from ordinate.lab.figures import SERIES, canvas, to_svg
from ordinate.lab.measurement import Check, Figure, Measurement, Role, Table, Verdict
from ordinate.logic import Circuit
from ordinate.logic.circuit.bit_packing import pack
from ordinate.logic.circuit.program import Program, lower
from ordinate.logic.circuit.runtime import BitParallel
from ordinate.logic.export.c import c_source

__all__ = ["CLAIM", "Way", "measure", "speed", "ways"]

CLAIM = Claim(
    id="D20",
    title="A million images a second",
    place="D241-245",
    statement="The paper reports that over 1,000,000 MNIST images a second are processed on a single CPU core.",
    setup="other data",
    setup_detail="a network trained on 8 by 8 digits that are enlarged to MNIST's 28 by 28",
    varies="whether packing, counting and comparing are timed with the gates, and what runs them",
    band="at least a million a second, bytes in and classes out",
    budget_seconds=30,
)

_HEADLINE = 1e6
# a block of a small circuit takes less time than a call from Python
_BLOCKS = """
void net_blocks(const net_word *in, net_word *v, int n);
void net_blocks(const net_word *in, net_word *v, int n)
{
  for (int i = 0; i < n; i++)
    net_block(in, v);
}
"""
_CHECKED = 200

Classes = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Way:
    """One way to run a circuit.

    Args:
        whole: from images in bytes [n, pixels] to classes [n].
        gates: run the gates alone on some words; how many images that is.
    """

    whole: Callable[[Bytes], Classes]
    gates: Callable[[], int]


@one_thread()
def measure(inputs: Inputs) -> Measurement:
    """Claim D20 on a trained network of 2,080 gates, or with --full of 23,000."""
    data = digits_for(replace(inputs, full=False))
    network, right = trained_circuit(23_000 if inputs.full else 2_080, data, inputs.seeds[0])
    circuit = network.simplify(sat=False)
    images = enlarged(data.test.images)
    many = images[np.arange(8_192) % len(images)]
    with tempfile.TemporaryDirectory() as folder:
        return speed(circuit, ways(circuit, Path(folder)), 1.0 if inputs.full else 0.08, many, right)


def ways(circuit: Circuit, folder: Path) -> dict[str, Way]:
    """C where gcc is found, numba where it is installed, numpy always."""
    runs = {}
    if shutil.which("gcc"):
        runs["C"] = _by_c(circuit, _library(circuit, folder, "all"), _library(circuit, folder, "gates"))
    program = lower(circuit, "gates")
    words = pack(np.random.default_rng(0).random((16_384, circuit.num_inputs)) < 0.3)
    implementations: tuple[Literal["numba", "numpy"], ...] = ("numba", "numpy")
    for implementation in implementations:
        if implementation == "numpy" or find_spec("numba") is not None:
            runs[implementation] = _by_words(BitParallel(circuit, implementation), program, words)
    return runs


def _by_words(runtime: BitParallel, program: Program, words: npt.NDArray[np.uint64]) -> Way:
    def gates() -> int:
        runtime.run(program, words)
        return 64 * words.shape[1]

    return Way(runtime.classify, gates)


def speed(circuit: Circuit, runs: Mapping[str, Way], seconds: float, images: Bytes, right: float) -> Measurement:
    """Claim D20 for any ways to run a circuit.

    Args:
        circuit: of thresholds on bytes.
        runs: by name; the first is the one that is judged.
        seconds: of CPU time for each rate.
        images: bytes [n, pixels].
        right: the circuit's accuracy, for the reader and as a control.
    """
    thresholds = circuit.inputs
    assert thresholds is not None
    expected = _plainly(circuit, thresholds.bits(images[:_CHECKED]))
    wrong = {name: int((way.whole(images[:_CHECKED]) != expected).sum()) for name, way in runs.items()}
    whole = {name: _rate(partial(_all, way, images), seconds) for name, way in runs.items()}
    gates = {name: _rate(way.gates, seconds) for name, way in runs.items()}
    first = next(iter(runs))
    size = f"{circuit.num_gates:,} gates"
    checks = [
        Check.at_least(f"images a second by {first}, {size}, from bytes to the class", whole[first], _HEADLINE, unit="/s"),
        Check.at_least(
            f"images a second by {first}, {size} alone", gates[first], _HEADLINE, unit="/s", role=Role.GENERALISATION
        ),
        Check.at_most(f"wrong classes of {_CHECKED} images, all ways together", sum(wrong.values()), 0, role=Role.CONTROL),
        Check.at_least(f"different classes among {_CHECKED} images", len(set(expected.tolist())), 3, role=Role.CONTROL),
        Check.at_least("test accuracy of the network", right, 0.7, role=Role.CONTROL),
        *(
            Check.at_least(f"images a second by {name}, {size} alone", gates[name], _HEADLINE, unit="/s", role=Role.LIMIT)
            for name in list(runs)[1:]
        ),
    ]
    share = 1 - whole[first] / gates[first]
    return Measurement(
        checks=checks,
        key_figure=f"{size}: {whole[first] / 1e6:.1f} million images a second from bytes to the class by {first}, "
        f"{gates[first] / 1e6:.0f} million through the gates alone",
        meaning={
            Verdict.REPRODUCED: f"One core classifies {whole[first] / 1e6:.1f} million images a second, bytes in and classes "
            f"out. The gates themselves would allow {gates[first] / 1e6:.0f} million: {share:.0%} of the time goes into "
            "turning bytes into words of bits, and into counting votes. So a rate that leaves packing out says little about "
            "images; it is the input that has to be made cheaper, not the gates.",
        },
        inputs=f"two layers of gates trained on 8 by 8 digits enlarged to 28 by 28 ({right:.1%} right), {size} after "
        f"simplification; {len(images):,} test images, repeated; CPU time of one thread",
        tables=[
            Table(
                "Images a second, in millions",
                ("way", "from bytes to the class", "gates alone"),
                [(name, whole[name] / 1e6, gates[name] / 1e6) for name in runs],
            )
        ],
        figures=[_picture(whole, gates)],
        untested=[] if "C" in runs else [("compiled C", "gcc is not on this machine")],
    )


def _all(way: Way, images: Bytes) -> int:
    return len(way.whole(images))


def _plainly(circuit: Circuit, bits: npt.NDArray[np.bool_]) -> Classes:
    """Gate after gate on Python's whole numbers, one bit an image: no runtime of the package."""
    images = len(bits)
    full = (1 << images) - 1
    values = [sum(1 << row for row in np.flatnonzero(column).tolist()) for column in bits.T]
    for table, a, b in zip(circuit.tables.tolist(), circuit.inputs_a.tolist(), circuit.inputs_b.tolist(), strict=True):
        x, y = values[a], values[b]
        rows = ((full ^ x) & (full ^ y), (full ^ x) & y, x & (full ^ y), x & y)
        values.append(sum(row for place, row in enumerate(rows) if table >> place & 1))
    totals = np.zeros((images, circuit.num_classes))
    for place, vote in enumerate(circuit.votes):
        for signal, weight in zip(vote.signals.tolist(), vote.weights.tolist(), strict=True):
            totals[:, place] += [weight * (values[signal] >> row & 1) for row in range(images)]
    return (totals + circuit.bias).argmax(-1)


def _library(circuit: Circuit, folder: Path, stage: Literal["all", "gates"]) -> Path:
    (folder / f"{stage}.c").write_text(c_source(circuit, "net", stage=stage) + _BLOCKS, encoding="utf-8")
    target = folder / f"{stage}.so"
    flags = ("-std=c99", "-O1", "-ftree-vectorize", "-march=native", "-shared", "-fPIC")
    subprocess.run(["gcc", *flags, str(folder / f"{stage}.c"), "-o", str(target)], check=True, capture_output=True)
    return target


def _by_c(circuit: Circuit, everything: Path, gates_alone: Path) -> Way:
    library, alone = ctypes.CDLL(str(everything)), ctypes.CDLL(str(gates_alone))
    library.net_predict.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    alone.net_blocks.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    # words of up to 512 bits, aligned as vectors want them
    words = np.zeros((circuit.num_inputs + 8, 8), np.uint64)
    program = lower(circuit, "gates", recompute=True)
    slots = np.zeros((program.num_slots + 8, 8), np.uint64)
    images = 64 * _lanes()

    def whole(x: Bytes) -> Classes:
        classes = np.empty(len(x), np.int32)
        rows = np.ascontiguousarray(x)
        library.net_predict(rows.ctypes.data, len(rows), classes.ctypes.data)
        return classes.astype(np.int64)

    def gates() -> int:
        alone.net_blocks(*(part.ctypes.data + (-part.ctypes.data) % 64 for part in (words, slots)), 1000)
        return 1000 * images

    return Way(whole, gates)


def _lanes() -> int:
    """Words of 64 bits that the emitted C takes at once on this machine, as gcc's macros say."""
    macros = subprocess.run(
        ["gcc", "-march=native", "-dM", "-E", "-"], input="", capture_output=True, text=True, check=True
    ).stdout
    return 8 if "__AVX512F__" in macros else 4 if "__AVX2__" in macros else 2


def _rate(once: Callable[[], int], seconds: float) -> float:
    """Images a second of CPU time, the best of three, for neighbours only ever slow things down."""
    best = 0.0
    once()
    for _ in range(3):
        begin, images = time.process_time(), 0
        while time.process_time() - begin < seconds:
            images += once()
        best = max(best, images / (time.process_time() - begin))
    return best


def _picture(whole: Mapping[str, float], gates: Mapping[str, float]) -> Figure:
    names = list(whole)
    with canvas(height=2.4) as (figure, axes):
        for place, (label, rates) in enumerate((("from bytes to the class", whole), ("gates alone", gates))):
            axes.barh(
                np.arange(len(names)) + 0.36 * (place - 0.5),
                list(rates.values()),
                0.34,
                color=SERIES[place]["color"],
                label=label,
            )
        axes.axvline(_HEADLINE, color="#1b1c1e", linewidth=0.7, linestyle=":")
        axes.set(
            xscale="log", xlabel="images a second on one core; dotted, a million", title="Speed by what runs and what is timed"
        )
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return Figure(
        "speed",
        to_svg(figure),
        caption="Images a second on one core by each way to run the circuit, from bytes to the class and for the gates alone.",
        alt="Horizontal bars on a logarithmic axis, two for each way; the gates alone are far faster than the whole.",
    )
