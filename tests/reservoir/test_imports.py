"""The package stays light, and the spellings that the documentation named still work."""

from __future__ import annotations

import subprocess
import sys


def test_importing_and_running_by_scipy_brings_in_neither_numba_nor_torch_nor_plots():
    heavy = {"numba", "torch", "sklearn", "matplotlib", "pyarrow", "networkx", "cect"}
    program = (
        "import sys; from ordinate.reservoir import Connectome, Reservoir; "
        "Reservoir(Connectome.synthetic(), inputs=['sensory'], impl='scipy').run([[1.0]]); "
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "[]"


def test_an_old_spelling_works_and_warns_once():
    program = (
        "import warnings; warnings.simplefilter('error'); import ordinate.logic, ordinate.reservoir; "
        "from ordinate.moved import MOVED; import importlib; count = 0\n"
        "for name in MOVED:\n"
        "    for attempt in range(2):\n"
        "        with warnings.catch_warnings(record=True) as caught:\n"
        "            warnings.simplefilter('always'); importlib.import_module(name)\n"
        "        count += len(caught)\n"
        "from ordinate.reservoir.gain import normalise, tune_gain, leading_mode, spectral_radius, echo_state\n"
        "from ordinate.reservoir.readout_online import RecursiveLeastSquares, force\n"
        "from ordinate.reservoir.tasks_chart import save_chart\n"
        "from ordinate.reservoir.tasks.datasets import narma10\n"
        "from ordinate.logic.convolution_blocks import ConvolutionBlock\n"
        "assert ConvolutionBlock is ordinate.logic.ConvolutionBlock\n"
        "assert normalise is ordinate.reservoir.normalise and force is ordinate.reservoir.force\n"
        "print(count == len(MOVED))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "True"


def test_every_exported_name_is_there():
    import ordinate.reservoir

    assert all(hasattr(ordinate.reservoir, name) for name in ordinate.reservoir.__all__)
